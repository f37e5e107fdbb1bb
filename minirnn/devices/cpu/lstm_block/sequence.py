"""The LSTM sequence of BlockLSTM in NumPy, and its gradient.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/sequence.py`. The fast
loops over the steps, which CudnnRNN shares, are in `columns/lstm.py`; the loops over the cell that define a sequence,
and check the fast ones, are in `reference`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns import lstm
from minirnn.devices.cpu.columns.direction import Direction, Gradients, Weights
from minirnn.devices.cpu.columns.visit import Visit

Arrays = tuple[np.ndarray, ...]
GATES = "info"  # BlockLSTM's i, ci, f, o in the words of `columns`, where ci is n

LIMITS = {dtype: (np.finfo(dtype).min, np.finfo(dtype).max) for dtype in map(np.dtype, ("f4", "f8"))}


def block_lstm(
    *inputs: np.ndarray, seq_len_max: int, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """All steps from the arrays of `LSTMBlockInputs`, where x is (T, B, I).

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read. All but h may be
    transposed views of arrays laid out (T, H, B), which `block_lstm_grad` then reads without a copy.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    saved = workspace.empty((T + 1, 6, H, B), dtype)  # o, i, f, ci, the cs before the step, co
    h = workspace.empty((T, B, H), dtype)
    saved[L:, :4], saved[L + 1 :, 4], saved[L:, 5], h[L:] = 0, 0, 0, 0
    if L and B:
        b = b.copy()
        b[2 * H : 3 * H] += dtype.type(forget_bias)
        # the bias is part of a product, in which an infinite one would be multiplied by zeros
        np.clip(b, *LIMITS[dtype], out=b)
        weights = Weights(w[:I].T, w[I:].T, None, b, np.zeros_like(b))
        direction = Direction(x[:L], h_prev, cs_prev, weights, saved[: L + 1], Visit(L), h[:L])
        lstm.forward(direction, GATES, (wci, wcf, wco) if use_peephole else None, cell_clip)
    o, i, f, ci, _, co = saved[:T].transpose(1, 0, 3, 2)  # (T, B, H) each
    cs = saved[1:, 4].transpose(0, 2, 1)
    return i, cs, f, o, ci, co, h


def block_lstm_grad(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """The gradient of all steps, from the inputs, the saved i, ..., h and the gradients cs_grad, h_grad (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b, *saved, h, cs_grad, h_grad = arrays
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    if not L or not B:
        return tuple(np.zeros(a.shape, arrays[0].dtype) for a in arrays[:8])
    i, cs, f, o, ci, co = (column_layout(a[:L]) for a in saved)  # (L, H, B)
    c_prev = workspace.empty((L, H, B), dtype)
    c_prev[0], c_prev[1:] = cs_prev.T, cs[:-1]
    cs_grad = cs_grad[:L].transpose(0, 2, 1)
    x_grad, w_grad = workspace.empty((T, B, I), dtype), workspace.empty((I + H, 4 * H), dtype)
    x_grad[L:] = 0
    b_grad, peephole_grads = np.empty_like(b), np.zeros((3, H), dtype)

    weights = Weights(w[:I].T, w[I:].T, None, b, b)
    gradients = Weights(w_grad[:I].T, w_grad[I:].T, None, b_grad, np.empty_like(b))
    nothing = np.zeros((B, H), dtype)
    h_prev_grad, cs_prev_grad = lstm.backward(
        Direction(x[:L], h_prev, cs_prev, weights, None, Visit(L), np.ascontiguousarray(h[:L])),
        Gradients(h_grad[:L], nothing, nothing, gradients, x_grad[:L], False),
        lstm.Values(i, f, o, ci, c_prev, cs, co),
        GATES,
        cs_grad if cs_grad.any() else None,  # usually the loss depends only on h
        (wci, wcf, wco) if use_peephole else None,
        peephole_grads if use_peephole else None,
    )
    return x_grad, cs_prev_grad, h_prev_grad, w_grad, *peephole_grads, b_grad


def column_layout(a: np.ndarray) -> np.ndarray:
    """Return a (T, B, H) as (T, H, B) with each step contiguous; a view of what `block_lstm` made."""
    a = a.transpose(0, 2, 1)
    return a if a[0].flags.c_contiguous else np.ascontiguousarray(a)
