"""LSTMBlockCell, BlockLSTM and their gradients in C++.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/`. The step is that of
`devices/cells/lstm_block.h`; a cell is a sequence of one step. The values of a step lie side by side, so the results
are views of one array (T, B, 6, H), which the gradient reads without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.lstm_block.sequence import LIMITS
from minirnn.devices.native.arguments import (
    MOST_VALUES,
    NOTHING,
    Gradients,
    Layer,
    address,
    call,
    matrix,
    regular,
    rows,
)

Arrays = tuple[np.ndarray, ...]
LSTM_BLOCK = 4  # the mode
GATES = 4


def lstm_block_cell(
    device: Any, *inputs: np.ndarray, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """One step from the arrays of `LSTMBlockInputs`. Returns i, cs, f, o, ci, co, h, each (B, H)."""
    x, *others = inputs
    attributes: dict[str, Any] = {"forget_bias": forget_bias, "cell_clip": cell_clip, "use_peephole": use_peephole}
    return tuple(a[0] for a in block_lstm(device, x[None], *others, seq_len_max=1, **attributes))


def lstm_block_cell_grad(device: Any, *arrays: np.ndarray, use_peephole: bool) -> Arrays:
    """The gradient of one step, from its inputs, its saved values, and the gradients cs_grad and h_grad (B, H).

    Returns cs_prev_grad (B, H), dicfo (B, 4H), wci_grad, wcf_grad, wco_grad (H,).
    """
    x, cs_prev, _, _, wci, wcf, wco, _, *saved = arrays
    i, cs, f, o, ci, co, cs_grad, h_grad = (regular(a) for a in saved)
    cs_prev = regular(cs_prev)
    (B, H), dtype = cs.shape, cs.dtype
    cs_prev_grad, dicfo, peephole_grads = np.empty((B, H), dtype), np.empty((B, 4 * H), dtype), np.zeros((3, H), dtype)
    peepholes = np.concatenate([wci, wcf, wco])
    values = [part for a in (i, f, o, ci, co, cs) for part in rows(a)] + [*NOTHING * (MOST_VALUES - 6)]
    nowhere = (0, 0, 0)
    d = Layer(
        1, B, 0, H, 0, 0, 0, *nowhere, *nowhere, *nowhere, 0, 0,
        address(peepholes) if use_peephole else 0, 0, np.inf, *NOTHING, *NOTHING, *rows(cs_prev), *values,
    )  # fmt: skip
    g = Gradients(
        *rows(h_grad), *NOTHING, *NOTHING, *rows(cs_grad), *rows(dicfo), *NOTHING, *rows(cs_prev_grad), *NOTHING, 0, 0,
        0, 0, 0, 0, 0, address(peephole_grads),
    )  # fmt: skip
    call(device.function("lstm_cell_grad", dtype), d, g, work=B * H)
    return cs_prev_grad, dicfo, *peephole_grads


def block_lstm(
    device: Any, *inputs: np.ndarray, seq_len_max: int, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """All steps from the arrays of `LSTMBlockInputs`, where x is (T, B, I).

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    saved, h = workspace.empty((T, B, 6, H), dtype), workspace.empty((T, B, H), dtype)
    saved[L:], h[L:] = 0, 0
    if L and B:
        b = b.copy()
        b[2 * H : 3 * H] += dtype.type(forget_bias)
        np.clip(b, *LIMITS[dtype], out=b)
        d, keep = sequence(x[:L], h_prev, cs_prev, w, (wci, wcf, wco) if use_peephole else None, b)
        values = [part for k in (0, 2, 3, 4, 5, 1) for part in rows(saved[:L, :, k])]
        h_n, cs_n = np.empty((B, H), dtype), np.empty((B, H), dtype)
        clip = float(cell_clip)
        call(
            device.function("layer_forward", dtype),
            LSTM_BLOCK,
            Layer(*d, 0, clip, *keep.states, *values, *NOTHING * (MOST_VALUES - 6), *rows(h), *rows(h_n), *rows(cs_n)),
            work=L * B * 4 * H * (I + H),
        )
    i, cs, f, o, ci, co = saved.transpose(2, 0, 1, 3)  # (T, B, H) each
    return i, cs, f, o, ci, co, h


def block_lstm_grad(device: Any, *arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """The gradient of all steps, from the inputs, the saved i, ..., h and the gradients cs_grad, h_grad (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b, *saved = arrays
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    if not L or not B:
        return tuple(np.zeros(a.shape, arrays[0].dtype) for a in arrays[:8])
    i, cs, f, o, ci, co, h, cs_grad, h_grad = (regular(a[:L]) for a in saved)
    x_grad, w_grad = workspace.empty((T, B, I), dtype), workspace.empty((I + H, 4 * H), dtype)
    x_grad[L:] = 0
    b_grad, peephole_grads = np.empty(4 * H, dtype), np.zeros((3, H), dtype)
    cs_prev_grad, h_prev_grad = np.empty((B, H), dtype), np.empty((B, H), dtype)
    nothing = np.zeros((B, H), dtype)
    da = workspace.empty((L, B, 4 * H), dtype)

    d, keep = sequence(x[:L], h_prev, cs_prev, w, (wci, wcf, wco) if use_peephole else None, b)
    values = [part for a in (i, f, o, ci, co, cs) for part in rows(a)]
    g = Gradients(
        *rows(h_grad), *rows(cs_grad), *rows(nothing), *rows(nothing), *rows(da), *rows(h_prev_grad),
        *rows(cs_prev_grad), *rows(x_grad), 0, 1, address(w_grad), address(w_grad[I:]), 0,
        address(b_grad), 0, address(peephole_grads),
    )  # fmt: skip
    call(
        device.function("layer_backward", dtype),
        LSTM_BLOCK,
        Layer(*d, 0, np.inf, *keep.states, *values, *NOTHING * (MOST_VALUES - 6), *rows(h)),
        g,
        work=2 * L * B * 4 * H * (I + H),
    )
    return x_grad, cs_prev_grad, h_prev_grad, w_grad, *peephole_grads, b_grad


class Kept:
    """Arrays that must live as long as the addresses in a `Layer`."""

    def __init__(self, *arrays: np.ndarray) -> None:
        self.arrays = arrays
        x, h_prev, cs_prev = arrays[:3]
        self.states = *rows(x), *rows(h_prev), *rows(cs_prev)


def sequence(
    x: np.ndarray,
    h_prev: np.ndarray,
    cs_prev: np.ndarray,
    w: np.ndarray,
    peepholes: Arrays | None,
    b: np.ndarray,
) -> tuple[tuple[Any, ...], Kept]:
    """The fields of a `Layer` up to its peepholes, and the arrays behind the addresses."""
    (T, B, I), H = x.shape, len(b) // GATES
    x, h_prev, cs_prev = regular(x), regular(h_prev), regular(cs_prev)
    b = np.ascontiguousarray(b)
    seeing = None if peepholes is None else np.concatenate(peepholes)
    kept = Kept(x, h_prev, cs_prev, w, b, *([] if seeing is None else [seeing]))
    numbers = (
        T, B, I, H, H, 0, 0, *matrix(w[:I].T), *matrix(w[I:].T), 0, 0, 0, address(b), 0, address(seeing),
    )  # fmt: skip
    return numbers, kept
