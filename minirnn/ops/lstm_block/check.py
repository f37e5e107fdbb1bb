"""Argument checks of the LSTM block ops, and the meaning of their attributes, which is the same on all devices."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.engine import operands
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import zeros

SHAPE = attrgetter("array.shape")
_ROWS = "rows are [x rows; h_prev rows], columns are the gates "
GATES = {"icfo": "i, ci, f, o", "ifco": "i, f, ci, o"}


class LSTMBlockInputs(NamedTuple):
    """The inputs of `lstm_block_cell` and `block_lstm`; the columns of w and b are the gates i, ci, f, o."""

    x: Any  # (B, I), of a sequence (T, B, I)
    cs_prev: Any  # (B, H)
    h_prev: Any  # (B, H)
    w: Any  # (I+H, 4H)
    wci: Any  # (H,)
    wcf: Any  # (H,)
    wco: Any  # (H,)
    b: Any  # (4H,)


@operands.remembered
def attributes(op: str, forget_bias: Any, cell_clip: Any, use_peephole: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    """The attributes for the kernels, as numbers of the dtype of the arrays, as in TensorFlow.

    A `cell_clip` that is not above 0 becomes infinite, so it clips nothing. The test comes before rounding, so a limit
    that rounds to 0 in float16 clips to 0.
    """
    number = check.number(op, "cell_clip", cell_clip, finite=False)
    with np.errstate(over="ignore"):
        return {
            "forget_bias": float(dtype.type(check.number(op, "forget_bias", forget_bias))),
            "cell_clip": float(dtype.type(number)) if number > 0 else np.inf,
            "use_peephole": check.flag(op, "use_peephole", use_peephole),
        }


def check_cell(op: str, use_peephole: Any, inputs: LSTMBlockInputs, **saved: Any) -> list[Tensor]:
    """The arguments of a cell op as Tensors of matching shapes."""
    ts = operands.tensors(op, **_with_peepholes(op, use_peephole, inputs, saved), **saved)
    _cell_shapes(op, tuple(saved), *map(SHAPE, ts))
    return ts


def check_sequence(
    op: str, gate_order: str, use_peephole: Any, seq_len_max: Any, inputs: LSTMBlockInputs, **saved: Any
) -> tuple[int, list[Tensor]]:
    """`seq_len_max` as a number, and the arguments of a sequence op as Tensors of matching shapes."""
    ts = operands.tensors(op, **_with_peepholes(op, use_peephole, inputs, saved), **saved)
    shapes = [t.array.shape for t in ts]
    _sequence_shapes(op, gate_order, tuple(saved), *shapes)
    return check.integer(op, "seq_len_max", seq_len_max, 0, shapes[0][0], f" (T, from x {shapes[0]})"), ts


def _with_peepholes(op: str, use_peephole: Any, inputs: LSTMBlockInputs, saved: dict[str, Any]) -> dict[str, Any]:
    """The inputs by name, with zeros for peephole weights that are None, which are not read without peepholes."""
    _, _, _, _, wci, wcf, wco, _ = inputs
    if (wci is not None and wcf is not None and wco is not None) or use_peephole:  # which is checked later
        return inputs._asdict()
    missing = [name for name in ("wci", "wcf", "wco") if getattr(inputs, name) is None]
    place = operands.device_of(*inputs, *saved.values())
    x, cs_prev, h_prev = operands.tensors(op, place, x=inputs.x, cs_prev=inputs.cs_prev, h_prev=inputs.h_prev)
    blank = dict.fromkeys(missing, zeros(h_prev.shape[1:], h_prev)) if h_prev.ndim == 2 else {}
    return inputs._asdict() | {"x": x, "cs_prev": cs_prev, "h_prev": h_prev} | blank


Shape = tuple[int, ...]


@operands.remembered
def _cell_shapes(op: str, saved: tuple[str, ...], *shapes: Shape) -> None:
    inputs = LSTMBlockInputs(*shapes[:8])
    B, I = check.rank(op, "x", inputs.x, "B I")
    H = _weight_shapes(op, "icfo", inputs, B, I)
    for name, shape in zip(saved, shapes[8:], strict=True):
        check.shape(op, name, shape, "B, H", (B, H), f"cs_prev {inputs.cs_prev}")


@operands.remembered
def _sequence_shapes(op: str, gate_order: str, saved: tuple[str, ...], *shapes: Shape) -> None:
    inputs = LSTMBlockInputs(*shapes[:8])
    T, B, I = check.rank(op, "x", inputs.x, "T B I")
    H = _weight_shapes(op, gate_order, inputs, B, I)
    for name, shape in zip(saved, shapes[8:], strict=True):
        check.shape(op, name, shape, "T, B, H", (T, B, H), f"x {inputs.x} and cs_prev {inputs.cs_prev}")


def _weight_shapes(op: str, gate_order: str, inputs: LSTMBlockInputs, B: int, I: int) -> int:
    """H. Raises ValueError if the states and weights do not fit x."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    _, H = check.rank(op, "cs_prev", cs_prev, "B H")
    check.positive(op, "H", H, f"cs_prev {cs_prev}")
    batch_first = len(x) == 3 and x[0] == cs_prev[0] != B
    note = "likely x is batch-first; expected time-major (T, B, I)" if batch_first else ""
    check.shape(op, "cs_prev", cs_prev, "B, H", (B, H), f"x {x}", note)
    source = f"x {x} and cs_prev {cs_prev}"
    check.shape(op, "h_prev", h_prev, "B, H", (B, H), source)
    check.shape(op, "w", w, "I+H, 4H", (I + H, 4 * H), source, _ROWS + GATES[gate_order])
    for name, p in (("wci", wci), ("wcf", wcf), ("wco", wco)):
        check.shape(op, name, p, "H", (H,), source)
    note = f"entries are the gates {GATES[gate_order]}"
    if b == (8 * H,):
        note += "; likely the two biases of torch or cuDNN: here is one, their sum"
    check.shape(op, "b", b, "4H", (4 * H,), source, note)
    return H
