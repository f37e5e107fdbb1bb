"""One step of the LSTM of LSTMBlockCell in NumPy, and its gradient: the arithmetic of the op's docstring.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/cell.py`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu.arithmetic import sigmoid

Arrays = tuple[np.ndarray, ...]


def lstm_block_cell(*inputs: np.ndarray, forget_bias: float, cell_clip: float, use_peephole: bool) -> Arrays:
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


def lstm_block_cell_grad(*arrays: np.ndarray, use_peephole: bool) -> Arrays:
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
