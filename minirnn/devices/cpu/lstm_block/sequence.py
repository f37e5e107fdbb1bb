"""The LSTM sequence of BlockLSTM in NumPy, and its gradient, by the loops of `own_cell` with the plan of its cell.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/sequence.py`. The loops
over the cell that define a sequence, and check the fast ones, are in `reference`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cells.lstm_block import plan_of
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence.backward import Backward, Gradients, Inputs
from minirnn.devices.cpu.sequence.forward import Forward, Kept, Sizes, Weights
from minirnn.devices.cpu.sequence.layer import IDLE, forward_passes
from minirnn.devices.cpu.sequence.visit import Visit
from minirnn.devices.cpu.sequence.write_forward import loop_of

Arrays = tuple[np.ndarray, ...]
LIMITS = {dtype: (np.finfo(dtype).min, np.finfo(dtype).max) for dtype in map(np.dtype, ("f4", "f8"))}


@cache
def slot_of(plan: Plan, name: str) -> int:
    """The slot of a value of the step."""
    (value,) = [e for e, n in plan.derivation.names.items() if n == name]
    return loop_of(plan).slots.of[value]


def block_lstm(
    *inputs: np.ndarray, seq_len_max: int, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """All steps from the arrays of `LSTMBlockInputs`, where x is (T, B, I).

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read. All but h may be
    transposed views of arrays laid out (T, H, B), which `block_lstm_grad` then reads without a copy.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    clips = cell_clip < float("inf")
    plan = plan_of(use_peephole, clips)
    sizes = Sizes(L, B, I, H, H, dtype, False)
    h = workspace.empty((T, B, H), dtype)
    h[L:] = 0
    if L == T and L and B:
        _, (one,), memory = forward_passes(plan, sizes, 1, T, None, True)
        saved, (cs,), _ = Kept.within(plan, memory, T, H, B)
    else:
        saved = workspace.empty((T, loop_of(plan).slots.count, H, B), dtype)
        cs = workspace.empty((T + 1, H, B), dtype)
        saved[L:], cs[L + 1 :] = 0, 0
        one = Forward(plan, sizes, Visit(L), Kept(saved[:L], [cs[: L + 1]], None)) if L and B else None
    if one is not None:
        b = b.copy()
        b[2 * H : 3 * H] += dtype.type(forget_bias)
        # the bias is part of a product, in which an infinite one would be multiplied by zeros
        np.clip(b, *LIMITS[dtype], out=b)
        weights = Weights(w[:I].T, w[I:].T, None, b, None, (), (wci, wcf, wco) if use_peephole else ())
        ends = np.empty_like(h_prev), np.empty((1, B, H), dtype)
        one.run(x[:L], h_prev, cs_prev[None], weights, (), h[:L], *ends, (cell_clip,) * clips)
    i, f, o, ci, co = (saved[:, slot_of(plan, name)].transpose(0, 2, 1) for name in ("i", "f", "o", "ci", "co"))
    return i, cs[1:].transpose(0, 2, 1), f, o, ci, co, h


def block_lstm_grad(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """The gradient of all steps, from the inputs, the saved i, ..., h and the gradients cs_grad, h_grad (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    x, cs_prev, h_prev, w, wci, wcf, wco, b, *values, h, cs_grad, h_grad = arrays
    (T, B, I), H, dtype, L = x.shape, len(wci), x.dtype, int(seq_len_max)
    if not L or not B:
        return tuple(np.zeros(a.shape, arrays[0].dtype) for a in arrays[:8])
    plan = plan_of(use_peephole, False)  # the gradient goes straight through a clip
    named = dict(zip(("i", "cs", "f", "o", "ci", "co"), (column_layout(a[:L]) for a in values), strict=True))
    cs = workspace.empty((L + 1, H, B), dtype)
    cs[0], cs[1:] = cs_prev.T, named.pop("cs")
    by_slot = {slot_of(plan, name): a for name, a in named.items()}
    saved = [by_slot[k] for k in range(len(by_slot))]
    x_grad, w_grad = workspace.empty((T, B, I), dtype), workspace.empty((I + H, 4 * H), dtype)
    x_grad[L:] = 0
    b_grad, peephole_grads = np.empty_like(b), np.zeros((3, H), dtype)
    weights = Weights(w[:I].T, w[I:].T, None, b, None, (), (wci, wcf, wco) if use_peephole else ())
    own = tuple(peephole_grads) if use_peephole else ()
    gradients = Weights(w_grad[:I].T, w_grad[I:].T, None, b_grad, None, (), own)
    nothing = np.zeros((B, H), dtype)
    each = cs_grad[:L] if cs_grad[:L].any() else None  # usually the loss depends only on h
    h_prev_grad, cs_prev_grad = np.empty_like(h_prev), np.empty((1, B, H), dtype)
    key = plan, Sizes(L, B, I, H, H, dtype, False), each is not None
    one = IDLE.take(key) or Backward(*key[:2], Visit(L), each is not None)
    one.run(
        Inputs(x[:L], h_prev, weights, (), np.ascontiguousarray(h[:L]), Kept(saved, [cs], None)),
        Gradients(h_grad[:L], nothing, nothing[None], h_prev_grad, cs_prev_grad, gradients, x_grad[:L], False, each),
    )
    if L * B * H * dtype.itemsize * 5 < workspace.MIN_BLOCK:
        IDLE.give(key, one)
    return x_grad, cs_prev_grad[0], h_prev_grad, w_grad, *peephole_grads, b_grad


def column_layout(a: np.ndarray) -> np.ndarray:
    """Return a (T, B, H) as (T, H, B) with each step contiguous; a view of what `block_lstm` made."""
    a = a.transpose(0, 2, 1)
    return a if a[0].flags.c_contiguous else np.ascontiguousarray(a)
