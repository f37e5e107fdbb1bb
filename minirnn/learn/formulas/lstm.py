"""The LSTM: one step, with peepholes, many steps. Names and gate order are those of `ops/lstm_block/cell.py`."""

import numpy as np


def lstm_cell_backward(x, cs_prev, h_prev, w, i, cs, f, o, ci, co, dcs, dh):
    I = x.shape[1]
    dzo = dh * co * o * (1 - o)
    # cs reaches the loss by two paths: through h of this step, and directly to step t+1.
    dcs_total = dcs + dh * o * (1 - co * co)
    dzc = dcs_total * i * (1 - ci * ci)
    dzi = dcs_total * ci * i * (1 - i)
    dzf = dcs_total * cs_prev * f * (1 - f)
    dcs_prev = dcs_total * f
    dz = np.concatenate([dzi, dzc, dzf, dzo], axis=1)
    dxh = dz @ w.T
    dx, dh_prev = dxh[:, :I], dxh[:, I:]
    dw = np.concatenate([x, h_prev], axis=1).T @ dz
    db = dz.sum(0)
    return dx, dcs_prev, dh_prev, dw, db


def peephole_cell_backward(x, cs_prev, h_prev, w, wci, wcf, wco, i, cs, f, o, ci, co, dcs, dh):
    I = x.shape[1]
    dzo = dh * co * o * (1 - o)
    # The output gate looks at the new cs, which is a third path from cs to the loss.
    dcs_total = dcs + dh * o * (1 - co * co) + dzo * wco
    dzc = dcs_total * i * (1 - ci * ci)
    dzi = dcs_total * ci * i * (1 - i)
    dzf = dcs_total * cs_prev * f * (1 - f)
    # The other two gates look at the old one.
    dcs_prev = dcs_total * f + dzi * wci + dzf * wcf
    dwci = (dzi * cs_prev).sum(0)
    dwcf = (dzf * cs_prev).sum(0)
    dwco = (dzo * cs).sum(0)
    dz = np.concatenate([dzi, dzc, dzf, dzo], axis=1)
    dxh = dz @ w.T
    dx, dh_prev = dxh[:, :I], dxh[:, I:]
    dw = np.concatenate([x, h_prev], axis=1).T @ dz
    db = dz.sum(0)
    return dx, dcs_prev, dh_prev, dw, dwci, dwcf, dwco, db


def lstm_backward(x, cs0, h0, w, i, cs, f, o, ci, co, h, dh):
    I = x.shape[2]
    dx = np.zeros_like(x)
    dw = np.zeros_like(w)
    db = np.zeros(w.shape[1])
    dcs_next = np.zeros_like(cs0)
    dh_next = np.zeros_like(h0)
    for t in reversed(range(len(x))):
        cs_prev = cs[t - 1] if t > 0 else cs0
        h_prev = h[t - 1] if t > 0 else h0
        dh_t = dh[t] + dh_next
        dzo = dh_t * co[t] * o[t] * (1 - o[t])
        dcs = dcs_next + dh_t * o[t] * (1 - co[t] * co[t])
        dzc = dcs * i[t] * (1 - ci[t] * ci[t])
        dzi = dcs * ci[t] * i[t] * (1 - i[t])
        dzf = dcs * cs_prev * f[t] * (1 - f[t])
        dcs_next = dcs * f[t]
        dz = np.concatenate([dzi, dzc, dzf, dzo], axis=1)
        dxh = dz @ w.T
        dx[t], dh_next = dxh[:, :I], dxh[:, I:]
        dw += np.concatenate([x[t], h_prev], axis=1).T @ dz
        db += dz.sum(0)
    dcs0 = dcs_next
    dh0 = dh_next
    return dx, dcs0, dh0, dw, db
