"""The LSTM of LSTMBlockCell and BlockLSTM in NumPy: one step, a whole sequence, and their gradients.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/cell.py`. The cell kernels
are the arithmetic as written there; `block_lstm_reference` and `block_lstm_grad_reference` are the loops over them
which define a sequence; `block_lstm` and `block_lstm_grad` return the same from the faster code of `columns.py`.

Gate order of the columns of w and b: "icfo" is i, ci, f, o (the cell, BlockLSTM), "ifco" is i, f, ci, o (BlockLSTMV2).
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu.arithmetic import narrow, sigmoid, widen
from minirnn.devices.cpu.lstm_block import columns as lstm_block_sequence
from minirnn.devices.rounding import rounded

Arrays = tuple[np.ndarray, ...]


def lstm_block_cell(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Arrays:
    """One step: x (B, I), cs_prev and h_prev (B, H), w (I+H, 4H), wci wcf wco (H,), b (4H,).

    Returns i, cs, f, o, ci, co, h, each (B, H).
    """
    dtype = x.dtype
    x, cs_prev, h_prev, w, wci, wcf, wco, b = widen(x, cs_prev, h_prev, w, wci, wcf, wco, b)

    xh = np.concatenate([x, h_prev], axis=1)  # (B, I+H)
    zi, zc, zf, zo = np.split(xh @ w + b, 4, axis=1)  # (B, H) each
    zf = zf + rounded(forget_bias, dtype)
    if use_peephole:
        zi = zi + wci * cs_prev
        zf = zf + wcf * cs_prev
    i = sigmoid(zi)
    ci = np.tanh(zc)
    f = sigmoid(zf)
    cs = i * ci + f * cs_prev
    if cell_clip > 0:  # asked before rounding: a limit that rounds to 0 in float16 clips to 0
        limit = rounded(cell_clip, dtype)
        cs = np.clip(cs, -limit, limit)  # NaN stays NaN
    if use_peephole:
        zo = zo + wco * cs  # the new cs, already clipped
    o = sigmoid(zo)
    co = np.tanh(cs)
    h = o * co
    return narrow(dtype, i, cs, f, o, ci, co, h)


def lstm_block_cell_grad(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    i: np.ndarray,
    cs: np.ndarray,
    f: np.ndarray,
    o: np.ndarray,
    ci: np.ndarray,
    co: np.ndarray,
    cs_grad: np.ndarray,
    h_grad: np.ndarray,
    *,
    use_peephole: bool,
) -> Arrays:
    """Gradient of one step; the saved i, cs, f, o, ci, co and the gradients cs_grad, h_grad are (B, H).

    Returns cs_prev_grad (B, H), dicfo (B, 4H), wci_grad, wcf_grad, wco_grad (H,). x, h_prev, w and b are not read;
    their gradients follow from dicfo, the gradient of the pre-activations zi, zc, zf, zo.
    """
    dtype = x.dtype
    cs_prev, wci, wcf, wco = widen(cs_prev, wci, wcf, wco)
    i, cs, f, o, ci, co, cs_grad, h_grad = widen(i, cs, f, o, ci, co, cs_grad, h_grad)

    dzo = h_grad * co * o * (1 - o)
    dcs = cs_grad + h_grad * o * (1 - co * co)  # straight through the clip, as in TensorFlow
    if use_peephole:
        dcs = dcs + dzo * wco
    dzc = dcs * i * (1 - ci * ci)
    dzi = dcs * ci * i * (1 - i)
    dzf = dcs * cs_prev * f * (1 - f)
    dicfo = np.concatenate([dzi, dzc, dzf, dzo], axis=1)  # (B, 4H)
    cs_prev_grad = dcs * f
    if use_peephole:
        cs_prev_grad = cs_prev_grad + dzi * wci + dzf * wcf
        wci_grad = (dzi * cs_prev).sum(axis=0)
        wcf_grad = (dzf * cs_prev).sum(axis=0)
        wco_grad = (dzo * cs).sum(axis=0)
    else:
        wci_grad, wcf_grad, wco_grad = (np.zeros_like(wci) for _ in range(3))
    return narrow(dtype, cs_prev_grad, dicfo, wci_grad, wcf_grad, wco_grad)


def block_lstm(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    *,
    seq_len_max: int,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """All steps: x is (T, B, I), the rest as in `lstm_block_cell`.

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read. They may be
    transposed views of arrays laid out (T, H, B), which `block_lstm_grad` then reads without a copy.
    """
    outputs = lstm_block_sequence.forward(
        *widen(x, cs_prev, h_prev, w, wci, wcf, wco, b),
        seq_len_max=int(seq_len_max),
        forget_bias=rounded(forget_bias, x.dtype),
        limit=rounded(cell_clip, x.dtype) if cell_clip > 0 else None,
        use_peephole=use_peephole,
        gate_order=gate_order,
    )
    return narrow(x.dtype, *outputs)


def block_lstm_grad(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    i: np.ndarray,
    cs: np.ndarray,
    f: np.ndarray,
    o: np.ndarray,
    ci: np.ndarray,
    co: np.ndarray,
    h: np.ndarray,
    cs_grad: np.ndarray,
    h_grad: np.ndarray,
    *,
    seq_len_max: int,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """Gradient of all steps; the saved i, ..., h and the gradients cs_grad, h_grad are (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    gradients = lstm_block_sequence.backward(
        *widen(x, cs_prev, h_prev, w, wci, wcf, wco),
        *widen(i, cs, f, o, ci, co, h, cs_grad, h_grad),
        seq_len_max=int(seq_len_max),
        use_peephole=use_peephole,
        gate_order=gate_order,
    )
    return narrow(x.dtype, *gradients)


def block_lstm_reference(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    *,
    seq_len_max: int,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """`block_lstm` as a loop over `lstm_block_cell`: the definition."""
    if gate_order == "ifco":
        w, b = exchange_f_and_ci(w), exchange_f_and_ci(b)
    T, B, H = *x.shape[:2], cs_prev.shape[1]
    i, cs, f, o, ci, co, h = outputs = tuple(np.zeros((T, B, H), x.dtype) for _ in range(7))
    for t in range(seq_len_max):
        step = lstm_block_cell(
            x[t], cs_prev, h_prev, w, wci, wcf, wco, b,
            forget_bias=forget_bias, cell_clip=cell_clip, use_peephole=use_peephole,
        )  # fmt: skip
        i[t], cs[t], f[t], o[t], ci[t], co[t], h[t] = step
        cs_prev, h_prev = cs[t], h[t]
    return outputs


def block_lstm_grad_reference(
    x: np.ndarray,
    cs_prev: np.ndarray,
    h_prev: np.ndarray,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    i: np.ndarray,
    cs: np.ndarray,
    f: np.ndarray,
    o: np.ndarray,
    ci: np.ndarray,
    co: np.ndarray,
    h: np.ndarray,
    cs_grad: np.ndarray,
    h_grad: np.ndarray,
    *,
    seq_len_max: int,
    use_peephole: bool,
    gate_order: str,
) -> Arrays:
    """`block_lstm_grad` as a loop over `lstm_block_cell_grad`: the definition."""
    dtype = x.dtype
    x, cs_prev, h_prev, w, wci, wcf, wco, b = widen(x, cs_prev, h_prev, w, wci, wcf, wco, b)
    i, cs, f, o, ci, co, h, cs_grad, h_grad = widen(i, cs, f, o, ci, co, h, cs_grad, h_grad)
    if gate_order == "ifco":
        w, b = exchange_f_and_ci(w), exchange_f_and_ci(b)
    I = x.shape[2]
    x_grad, w_grad, b_grad = np.zeros_like(x), np.zeros_like(w), np.zeros_like(b)
    wci_grad, wcf_grad, wco_grad = np.zeros_like(wci), np.zeros_like(wcf), np.zeros_like(wco)
    dc, dh = np.zeros_like(cs_prev), np.zeros_like(h_prev)  # from step t+1
    for t in reversed(range(seq_len_max)):
        cp, hp = (cs[t - 1], h[t - 1]) if t > 0 else (cs_prev, h_prev)
        dc, dicfo, dwci, dwcf, dwco = lstm_block_cell_grad(
            x[t], cp, hp, w, wci, wcf, wco, b, i[t], cs[t], f[t], o[t], ci[t], co[t], cs_grad[t] + dc, h_grad[t] + dh,
            use_peephole=use_peephole,
        )  # fmt: skip
        xh = np.concatenate([x[t], hp], axis=1)  # (B, I+H)
        xh_grad = dicfo @ w.T  # (B, I+H)
        x_grad[t], dh = xh_grad[:, :I], xh_grad[:, I:]
        w_grad += xh.T @ dicfo
        b_grad += dicfo.sum(axis=0)
        wci_grad += dwci
        wcf_grad += dwcf
        wco_grad += dwco
    if gate_order == "ifco":
        w_grad, b_grad = exchange_f_and_ci(w_grad), exchange_f_and_ci(b_grad)
    return narrow(dtype, x_grad, dc, dh, w_grad, wci_grad, wcf_grad, wco_grad, b_grad)


def exchange_f_and_ci(a: np.ndarray) -> np.ndarray:
    """Turn the last axis of w or b from ICFO to IFCO or back."""
    first, second, third, fourth = np.split(a, 4, axis=-1)
    return np.concatenate([first, third, second, fourth], axis=-1)
