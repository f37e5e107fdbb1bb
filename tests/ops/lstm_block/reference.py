"""BlockLSTM in plain NumPy by the formulas of the ops' docstrings: one step, and loops over it.

Nothing of the package computes here, so these are the values that the tests expect.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


def cell_reference(*inputs: np.ndarray, forget_bias: float, cell_clip: float, use_peephole: bool) -> Arrays:
    """One step from the arrays of `LSTMBlockInputs`. Returns i, cs, f, o, ci, co, h, each (B, H)."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    H = cs_prev.shape[1]

    z = np.concatenate((x, h_prev), axis=1) @ w + b  # (B, 4H)
    zi, zc, zf, zo = z[:, :H], z[:, H : 2 * H], z[:, 2 * H : 3 * H], z[:, 3 * H :]  # (B, H) each
    zf = zf + forget_bias
    if use_peephole:
        zi = zi + wci * cs_prev
        zf = zf + wcf * cs_prev
    i = sigmoid(zi)
    ci = np.tanh(zc)
    f = sigmoid(zf)
    cs = i * ci + f * cs_prev
    if cell_clip < np.inf:
        cs = np.minimum(np.maximum(cs, -cell_clip), cell_clip)  # NaN stays NaN
    if use_peephole:
        zo = zo + wco * cs  # the new cs, already clipped
    o = sigmoid(zo)
    co = np.tanh(cs)
    h = o * co
    return i, cs, f, o, ci, co, h


def cell_grad_reference(*arrays: np.ndarray, use_peephole: bool) -> Arrays:
    """The gradient of one step, from its inputs, its saved values, and the gradients cs_grad and h_grad (B, H).

    Returns cs_prev_grad (B, H), dicfo (B, 4H), wci_grad, wcf_grad, wco_grad (H,). x, h_prev, w and b are not read;
    their gradients follow from dicfo, the gradient of the pre-activations zi, zc, zf, zo.
    """
    _, cs_prev, _, _, wci, wcf, wco, _, i, cs, f, o, ci, co, cs_grad, h_grad = arrays

    dzo = h_grad * co * o * (1 - o)
    dcs = cs_grad + h_grad * o * (1 - co * co)  # straight through the clip, as in TensorFlow
    if use_peephole:
        dcs = dcs + dzo * wco
    dzc = dcs * i * (1 - ci * ci)
    dzi = dcs * ci * i * (1 - i)
    dzf = dcs * cs_prev * f * (1 - f)
    dicfo = np.concatenate((dzi, dzc, dzf, dzo), axis=1)  # (B, 4H)
    cs_prev_grad = dcs * f
    if use_peephole:
        cs_prev_grad = cs_prev_grad + dzi * wci + dzf * wcf
        wci_grad = (dzi * cs_prev).sum(axis=0)
        wcf_grad = (dzf * cs_prev).sum(axis=0)
        wco_grad = (dzo * cs).sum(axis=0)
    else:
        wci_grad, wcf_grad, wco_grad = np.zeros_like(wci), np.zeros_like(wcf), np.zeros_like(wco)
    return cs_prev_grad, dicfo, wci_grad, wcf_grad, wco_grad


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 * np.tanh(0.5 * z) + 0.5


def block_lstm_reference(*inputs: np.ndarray, seq_len_max: int, **attributes: Any) -> Arrays:
    """`block_lstm` as a loop over `cell_reference`."""
    x, cs_prev, h_prev, *weights = inputs
    T, B, H = *x.shape[:2], cs_prev.shape[1]
    i, cs, f, o, ci, co, h = outputs = tuple(np.zeros((T, B, H), x.dtype) for _ in range(7))
    for t in range(seq_len_max):
        i[t], cs[t], f[t], o[t], ci[t], co[t], h[t] = cell_reference(x[t], cs_prev, h_prev, *weights, **attributes)
        cs_prev, h_prev = cs[t], h[t]
    return outputs


def block_lstm_grad_reference(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """`block_lstm_grad` as a loop over `cell_grad_reference`."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad = arrays
    I = x.shape[2]
    x_grad, w_grad, b_grad = np.zeros_like(x), np.zeros_like(w), np.zeros_like(b)
    wci_grad, wcf_grad, wco_grad = np.zeros_like(wci), np.zeros_like(wcf), np.zeros_like(wco)
    dcs_carried, dh_carried = np.zeros_like(cs_prev), np.zeros_like(h_prev)  # from step t+1
    for t in reversed(range(seq_len_max)):
        cp, hp = (cs[t - 1], h[t - 1]) if t > 0 else (cs_prev, h_prev)
        inputs, saved = (x, cp, hp, w, wci, wcf, wco, b), (i[t], cs[t], f[t], o[t], ci[t], co[t])
        dcs_carried, dicfo, dwci, dwcf, dwco = cell_grad_reference(
            *inputs, *saved, cs_grad[t] + dcs_carried, h_grad[t] + dh_carried, use_peephole=use_peephole
        )
        xh_grad = dicfo @ w.T  # (B, I+H)
        x_grad[t], dh_carried = xh_grad[:, :I], xh_grad[:, I:]
        w_grad += np.concatenate([x[t], hp], axis=1).T @ dicfo
        b_grad += dicfo.sum(axis=0)
        wci_grad += dwci
        wcf_grad += dwcf
        wco_grad += dwco
    return x_grad, dcs_carried, dh_carried, w_grad, wci_grad, wcf_grad, wco_grad, b_grad
