"""Argument checks of the LSTM block ops, and what their attributes mean: settled here, once, for all devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.ops import check
from minirnn.ops.fused import zeros

_ROWS = "rows are [x rows; h_prev rows], columns are the gates "
GATES = {"icfo": "i, ci, f, o", "ifco": "i, f, ci, o"}


@check.remembered
def attributes(op: str, forget_bias: Any, cell_clip: Any, use_peephole: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    """The attributes for the kernels: numbers of the dtype of the arrays, as TensorFlow uses them.

    A `cell_clip` that is not above 0 clips nothing: it becomes infinite. This is asked before it is rounded, so a limit
    that is 0 in float16 clips to 0.
    """
    number = check.number(op, "cell_clip", cell_clip, finite=False)
    with np.errstate(over="ignore"):
        return {
            "forget_bias": float(dtype.type(check.number(op, "forget_bias", forget_bias))),
            "cell_clip": float(dtype.type(number)) if number > 0 else np.inf,
            "use_peephole": check.flag(op, "use_peephole", use_peephole),
        }


def check_cell(
    op: str,
    use_peephole: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    **saved: Any,
) -> list[Tensor]:
    """The arguments of a cell op as Tensors that fit each other."""
    if wci is None or wcf is None or wco is None:
        x, cs_prev, h_prev, wci, wcf, wco = _blank_peepholes(
            op, use_peephole, saved, x, cs_prev, h_prev, w, wci, wcf, wco, b
        )
    ts = check.tensors(op, x=x, cs_prev=cs_prev, h_prev=h_prev, w=w, wci=wci, wcf=wcf, wco=wco, b=b, **saved)
    _cell_shapes(op, tuple(saved), *[t.array.shape for t in ts])
    return ts


def check_sequence(
    op: str,
    gate_order: str,
    use_peephole: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    **saved: Any,
) -> tuple[int, list[Tensor]]:
    """`seq_len_max` as a number and the arguments of a sequence op as Tensors that fit each other."""
    if wci is None or wcf is None or wco is None:
        x, cs_prev, h_prev, wci, wcf, wco = _blank_peepholes(
            op, use_peephole, saved, x, cs_prev, h_prev, w, wci, wcf, wco, b
        )
    ts = check.tensors(op, x=x, cs_prev=cs_prev, h_prev=h_prev, w=w, wci=wci, wcf=wcf, wco=wco, b=b, **saved)
    shapes = [t.array.shape for t in ts]
    _sequence_shapes(op, gate_order, tuple(saved), *shapes)
    return check.integer(op, "seq_len_max", seq_len_max, 0, shapes[0][0], f" (T, from x {shapes[0]})"), ts


def _blank_peepholes(op: str, use_peephole: Any, saved: dict[str, Any], *inputs: Any) -> tuple[Any, ...]:
    """x, cs_prev, h_prev, wci, wcf, wco with zeros for None: without peepholes their weights are not read."""
    x, cs_prev, h_prev, w, *peepholes, b = inputs
    place = check.device_of(*inputs, *saved.values())
    x, cs_prev, h_prev = check.tensors(op, place, x=x, cs_prev=cs_prev, h_prev=h_prev)
    if not use_peephole and h_prev.ndim == 2:
        blank = zeros(h_prev.shape[1:], h_prev)
        peepholes = [blank if p is None else p for p in peepholes]
    return x, cs_prev, h_prev, *peepholes


Shape = tuple[int, ...]


@check.remembered
def _cell_shapes(op: str, saved: tuple[str, ...], x: Shape, cs_prev: Shape, *shapes: Shape) -> None:
    B, I = check.rank(op, "x", x, "B I")
    check.positive(op, "B", B, f"x {x}")
    H = _weight_shapes(op, "icfo", x, cs_prev, *shapes[:6], B=B, I=I)
    for name, shape in zip(saved, shapes[6:], strict=True):
        check.shape(op, name, shape, "B, H", (B, H), f"cs_prev {cs_prev}")


@check.remembered
def _sequence_shapes(
    op: str, gate_order: str, saved: tuple[str, ...], x: Shape, cs_prev: Shape, *shapes: Shape
) -> None:
    T, B, I = check.rank(op, "x", x, "T B I")
    H = _weight_shapes(op, gate_order, x, cs_prev, *shapes[:6], B=B, I=I)
    for name, shape in zip(saved, shapes[6:], strict=True):
        check.shape(op, name, shape, "T, B, H", (T, B, H), f"x {x} and cs_prev {cs_prev}")


def _weight_shapes(
    op: str,
    gate_order: str,
    x: Shape,
    cs_prev: Shape,
    h_prev: Shape,
    w: Shape,
    wci: Shape,
    wcf: Shape,
    wco: Shape,
    b: Shape,
    *,
    B: int,
    I: int,
) -> int:
    """H, if the states and weights fit x."""
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
