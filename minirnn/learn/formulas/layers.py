"""What surrounds a recurrent cell: dropout, normalization, attention, projection, a second layer."""

import numpy as np


def variational_dropout(x, u, rate, training, dy):
    if not training:
        return x, dy
    # One mask for all steps. What is kept is scaled up, so that the mean stays the same.
    mask = (u >= rate) / (1 - rate)
    y = x * mask
    dx = dy * mask
    return y, dx


def layer_norm_backward(x, g, eps, dy):
    mean = x.mean(axis=-1, keepdims=True)
    s = 1 / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + eps)
    n = (x - mean) * s
    dg = (dy * n).sum(0)
    db = dy.sum(0)
    dn = dy * g
    # The mean and the scale depend on every x of the row, which gives two more paths.
    mean_dn = dn.mean(axis=-1, keepdims=True)
    mean_dnn = (dn * n).mean(axis=-1, keepdims=True)
    dx = s * dn - s * mean_dn - s * n * mean_dnn
    return dx, dg, db


def attention_backward(q, k, v, p, dc):
    scale = 1 / np.sqrt(q.shape[1])
    dv = p[:, :, None] * dc[:, None, :]
    dp = np.einsum("bti,bi->bt", v, dc)
    # Softmax: a score that grows makes all the other weights smaller.
    total = (p * dp).sum(axis=1, keepdims=True)
    ds = p * dp - p * total
    dq = scale * np.einsum("bt,bth->bh", ds, k)
    dk = scale * np.einsum("bt,bh->bth", ds, q)
    return dq, dk, dv


def lstmp_cell_backward(x, cs_prev, h_prev, w, wp, i, cs, f, o, ci, co, dcs, dh):
    I = x.shape[1]
    # The projection comes last in the forward pass, so it is first here. From dm on this is the LSTM cell.
    dwp = (o * co).T @ dh
    dm = dh @ wp.T
    dzo = dm * co * o * (1 - o)
    dcs_total = dcs + dm * o * (1 - co * co)
    dzc = dcs_total * i * (1 - ci * ci)
    dzi = dcs_total * ci * i * (1 - i)
    dzf = dcs_total * cs_prev * f * (1 - f)
    dcs_prev = dcs_total * f
    dz = np.concatenate([dzi, dzc, dzf, dzo], axis=1)
    dxh = dz @ w.T
    dx, dh_prev = dxh[:, :I], dxh[:, I:]
    dw = np.concatenate([x, h_prev], axis=1).T @ dz
    db = dz.sum(0)
    return dx, dcs_prev, dh_prev, dw, dwp, db


def two_layers_backward(x, W, R, h, dy, dh_n, rnn_backward):
    h0 = np.zeros_like(h[0, 0])
    # The last state of a layer is used twice: as its last output, and as the state that is returned.
    dh = dy.copy()
    dh[-1] += dh_n[1]
    upper = rnn_backward(h[0], h0, W[1], R[1], h[1], dh)
    # The upper layer read the states of the lower one.
    dh = upper[0].copy()
    dh[-1] += dh_n[0]
    lower = rnn_backward(x, h0, W[0], R[0], h[0], dh)
    dx, dW0, dW1 = lower[0], lower[2], upper[2]
    dR = np.stack([lower[3], upper[3]])
    db = np.stack([lower[4], upper[4]])
    return dx, dW0, dW1, dR, db
