"""clip, whose bounds are numbers, and torch's clamp, whose bounds may be Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.cells.expr import Expr, apply
from minirnn.engine.operands import float_tensor, is_number, numeric, python_number
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.declare import Primitive, op
from minirnn.ops.primitives.elementwise import choose, where

__all__ = ["clip", "clamp", "clamp_min", "clamp_max"]


class Clip(Primitive, uses="clip"):
    """y = min(max(x, low), high)       dx = dy where low <= x <= high, else 0

    With `straight_through`, dx = dy everywhere, as in the cell clip of TensorFlow's LSTM ops.
    """

    def __init__(self, low: float | None, high: float | None, straight_through: bool = False) -> None:
        self.low = low
        self.high = high
        self.straight_through = straight_through
        self.reads_inputs = not straight_through

    def forward(self, device: Any, x: Any) -> Any:
        return device.clip(x, self.low, self.high)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        if self.straight_through:
            return (dy,)
        if self.low is not None:
            dy = choose(x >= self.low, dy, 0.0)
        if self.high is not None:
            dy = choose(x <= self.high, dy, 0.0)
        return (dy,)


@op(Clip, torch={"min": "low", "max": "high"})
def clip(x: Any, low: float | None = None, high: float | None = None, *, straight_through: bool = False) -> Tensor:
    """``min(max(x, low), high)``, NaN stays NaN. Bounds are Python numbers; None leaves that side open.

    Gradients pass where ``low <= x <= high``; with `straight_through` they pass everywhere.
    """
    if x.__class__ is Expr:
        return apply("clip", x, low, high, straight_through=straight_through)
    x = float_tensor("clip", x)
    for bound in (low, high):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, float, np.number))):
            raise TypeError(f"clip: a bound is {shown(bound)}\n  expected a number or None")
        if bound is not None and bound != bound:
            raise ValueError("clip: a bound is NaN\n  expected a number or None")
        if isinstance(bound, int) and bound.bit_length() > 1023:
            raise ValueError(f"clip: a bound is {shown(bound)}\n  expected a number that a float can hold")
    if low is not None and high is not None and low > high:
        raise ValueError(f"clip: low {low} is above high {high}\n  expected low <= high\n  likely exchanged")
    if low is None and high is None:
        return x
    low, high = (None if k is None else float(k) for k in (low, high))
    return Clip(low, high, straight_through)(x)


@op(Clip, where, "maximum", "minimum")
def clamp(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """`x` where it is between `min` and `max`, else the bound that it exceeds; NaN stays NaN.

    A bound is a number, a Tensor that broadcasts against `x`, or None for an open side. If `min` is above `max`, the
    result is `max`. Gradients pass where ``min <= x <= max``. Elsewhere they go to the bound, if it is a Tensor.
    """
    x = numeric("clamp", x)
    low, high = _bound(x, "min", min), _bound(x, "max", max)
    if low is None and high is None:
        raise ValueError("clamp: got no bound\n  expected min, max or both")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        if low is not None and high is not None:  # max wins where the bounds are exchanged, and takes the gradient
            exchanged = as_tensor(low, device=x.device) > high
            return where((x > high) | exchanged | (high != high), high, where((x < low) | (low != low), low, x))
        return where((x < low) | (low != low), low, x) if high is None else where((x > high) | (high != high), high, x)
    if x.dtype.kind != "f" and (isinstance(low, float) or isinstance(high, float)):
        x = x.astype(np.float32)
    device = x.device
    if x.dtype.kind != "f":
        y = x.array if low is None else device.maximum(x.array, low)
        y = y if high is None else device.minimum(y, high)
    else:
        low, high = (None if k is None else float(k) for k in (low, high))
        y = x.array if low is None else device.clip(x.array, low, None)
        y = y if high is None else device.clip(y, None, high)
    return record(Clip(low, high), device, y, (x,))


@op(clamp)
def clamp_min(x: Any, min: Any) -> Tensor:
    """``clamp(x, min=min)``."""
    return clamp(x, min=min)


@op(clamp)
def clamp_max(x: Any, max: Any) -> Tensor:
    """``clamp(x, max=max)``."""
    return clamp(x, max=max)


def _bound(x: Tensor, name: str, bound: Any) -> Any:
    if isinstance(bound, (np.ndarray, Tensor)):
        return bound if isinstance(bound, Tensor) else as_tensor(bound)
    bound = python_number(bound)
    if bound is not None and (not is_number(bound) or isinstance(bound, bool)):
        raise TypeError(f"clamp: {name} is {shown(bound)}\n  expected a number, a Tensor or None")
    if bound is not None and bound != bound:  # everything becomes NaN
        return as_tensor(np.array(bound, x.dtype if x.dtype.kind == "f" else np.float32), device=x.device)
    if isinstance(bound, int) and bound.bit_length() > 63:
        raise ValueError(f"clamp: {name} is {shown(bound)}\n  expected a number of at most 63 bits")
    return bound
