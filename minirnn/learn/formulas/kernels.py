"""What the later CUDA kernels compute. The arguments are the CUDA kernel's, outputs included."""

import numpy as np


def bias_gradient(N, H, dz, db):
    return dz.sum(0)


def softmax_rows(H, x, y):
    p = np.exp(x - x.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def lstm_gates_gradient(B, H, cs_prev, i, f, o, ci, co, dcs, dh, dz, dcs_prev):
    dzo = dh * co * o * (1 - o)
    dcs_total = dcs + dh * o * (1 - co * co)
    dzc = dcs_total * i * (1 - ci * ci)
    dzi = dcs_total * ci * i * (1 - i)
    dzf = dcs_total * cs_prev * f * (1 - f)
    return np.concatenate([dzi, dzc, dzf, dzo], axis=1), dcs_total * f


def rnn_sequence(T, H, a, R, h0, arrived, h):
    states, state = [], h0
    for t in range(T):
        state = np.tanh(a[t] + state @ R)
        states.append(state)
    return np.stack(states)
