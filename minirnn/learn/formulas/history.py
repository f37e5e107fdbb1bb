"""How much of the past a backward pass keeps, how far back it goes, and the backward pass of a backward pass."""

import numpy as np


def truncated_backward(x, h0, W, R, h, dh, k):
    dx = np.zeros_like(x)
    dW = np.zeros_like(W)
    dR = np.zeros_like(R)
    db = np.zeros(R.shape[0])
    dh_next = np.zeros_like(h0)
    for t in reversed(range(len(x))):
        h_prev = h[t - 1] if t > 0 else h0
        da = (dh[t] + dh_next) * (1 - h[t] * h[t])
        dx[t] = da @ W.T
        # At the first step of a window the incoming state is detached from its past. Its value still counts in dR.
        inside = float(t % k > 0)
        dh_next = inside * da @ R.T
        dW += x[t].T @ da
        dR += h_prev.T @ da
        db += da.sum(0)
    return dx, dW, dR, db


def rnn_cell_double_backward(x, h_prev, W, R, h, dh, v):
    first = dh * (1 - h * h)
    # Here the first backward pass is a forward pass: `first` from dh and h, then dx = first @ W.T. Go back through it:
    d_da = v @ W
    d_dh = d_da * (1 - h * h)
    # h was made by the first forward pass, so go on through it. The slope of 1 - h * h is -2 * h.
    d_a = -2.0 * d_da * dh * h * (1 - h * h)
    d_x = d_a @ W.T
    d_h_prev = d_a @ R.T
    d_W = v.T @ first + x.T @ d_a
    d_R = h_prev.T @ d_a
    d_b = d_a.sum(0)
    return d_dh, d_x, d_h_prev, d_W, d_R, d_b
