"""Argument checks of the LSTM block ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.ops import check
from minirnn.ops.fused import zeros

_ROWS = {
    "icfo": "rows are [x rows; h_prev rows], columns are the gates i, ci, f, o",
    "ifco": "rows are [x rows; h_prev rows], columns are the gates i, f, ci, o",
}


def _check_weights(
    op: str, gate_order: str, x: Tensor, cs_prev: Tensor, h_prev: Tensor, weights: Sequence[Tensor], B: int, I: int
) -> int:
    _, H = check.rank(op, "cs_prev", cs_prev, "B H")
    check.positive(op, "H", H, f"cs_prev {cs_prev.shape}")
    batch_first = x.ndim == 3 and x.shape[0] == cs_prev.shape[0] != B
    check.shape(
        op,
        "cs_prev",
        cs_prev,
        "B, H",
        (B, H),
        f"x {x.shape}",
        "likely x is batch-first; expected time-major (T, B, I)" if batch_first else "",
    )
    check.shape(op, "h_prev", h_prev, "B, H", (B, H), f"x {x.shape} and cs_prev {cs_prev.shape}")
    w, wci, wcf, wco, b = weights
    source = f"x {x.shape} and cs_prev {cs_prev.shape}"
    check.shape(op, "w", w, "I+H, 4H", (I + H, 4 * H), source, _ROWS[gate_order])
    for name, p in (("wci", wci), ("wcf", wcf), ("wco", wco)):
        check.shape(op, name, p, "H", (H,), source)
    note = f"entries are the gates {', '.join(_names(gate_order))}"
    if b.shape == (8 * H,):
        note += "; likely the two biases of torch or cuDNN: here is one, their sum"
    check.shape(op, "b", b, "4H", (4 * H,), source, note)
    return H


def _names(gate_order: str) -> tuple[str, ...]:
    return ("i", "ci", "f", "o") if gate_order == "icfo" else ("i", "f", "ci", "o")


def _peepholes(use_peephole: bool, h_prev: Any, wci: Any, wcf: Any, wco: Any) -> tuple[Any, Any, Any]:
    """Without peepholes their weights are not read, so they may be None."""
    if use_peephole or not isinstance(h_prev, Tensor) or h_prev.ndim != 2:
        return wci, wcf, wco
    blank = zeros(h_prev.shape[1:], h_prev)
    return tuple(blank if p is None else p for p in (wci, wcf, wco))  # type: ignore[return-value]


def check_cell(
    op: str,
    use_peephole: bool,
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
    place = check.device_of(x, cs_prev, h_prev, w, wci, wcf, wco, b, *saved.values())
    ts = check.tensors(op, place, x=x, cs_prev=cs_prev, h_prev=h_prev)
    wci, wcf, wco = _peepholes(use_peephole, ts[2], wci, wcf, wco)
    ts = check.tensors(op, x=ts[0], cs_prev=ts[1], h_prev=ts[2], w=w, wci=wci, wcf=wcf, wco=wco, b=b, **saved)
    x, cs_prev, h_prev, *weights = ts[:8]
    B, I = check.rank(op, "x", x, "B I")
    check.positive(op, "B", B, f"x {x.shape}")
    H = _check_weights(op, "icfo", x, cs_prev, h_prev, weights, B, I)
    for name, t in zip(saved, ts[8:], strict=True):
        check.shape(op, name, t, "B, H", (B, H), f"cs_prev {cs_prev.shape}")
    return ts


def check_sequence(
    op: str,
    gate_order: str,
    use_peephole: bool,
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
    place = check.device_of(x, cs_prev, h_prev, w, wci, wcf, wco, b, *saved.values())
    ts = check.tensors(op, place, x=x, cs_prev=cs_prev, h_prev=h_prev)
    wci, wcf, wco = _peepholes(use_peephole, ts[2], wci, wcf, wco)
    ts = check.tensors(op, x=ts[0], cs_prev=ts[1], h_prev=ts[2], w=w, wci=wci, wcf=wcf, wco=wco, b=b, **saved)
    x, cs_prev, h_prev, *weights = ts[:8]
    T, B, I = check.rank(op, "x", x, "T B I")
    H = _check_weights(op, gate_order, x, cs_prev, h_prev, weights, B, I)
    L = check.integer(op, "seq_len_max", seq_len_max, 0, T, f" (T, from x {x.shape})")
    for name, t in zip(saved, ts[8:], strict=True):
        check.shape(op, name, t, "T, B, H", (T, B, H), f"x {x.shape} and cs_prev {cs_prev.shape}")
    return L, ts
