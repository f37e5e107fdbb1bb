"""clamp: torch's words for holding numbers between two bounds, which may be Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.operands import is_number, no_bools, python_number
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.messages import shown
from minirnn.ops.primitives.elementwise import Clip, where


def clamp(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """`x` where it lies between `min` and `max`, else the bound that it passes; NaN stays NaN.

    A bound is a number, a Tensor that broadcasts against `x`, or None for an open side. If `min` is above `max` the
    result is `max`. Gradients pass where ``min <= x <= max``; elsewhere they go to the bound, if that is a Tensor.

    Raises
    ------
    TypeError
        If a bound is neither a number nor a Tensor.
    ValueError
        If there is no bound at all, or one is the number NaN.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    no_bools("clamp", x)
    low, high = _bound("min", min), _bound("max", max)
    if low is None and high is None:
        raise ValueError("clamp: got no bound\n  expected min, max or both")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        if high is not None and low is not None:  # max wins where the bounds are exchanged
            low = where(as_tensor(low, device=x.device) > high, high, low)
        if low is not None:
            x = where(x < low, low, x)
        return x if high is None else where(x > high, high, x)
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
    return record(Clip(low, high, False), device, y, (x,))


def clamp_min(x: Any, min: Any) -> Tensor:
    """``clamp(x, min=min)``."""
    return clamp(x, min=min)


def clamp_max(x: Any, max: Any) -> Tensor:
    """``clamp(x, max=max)``."""
    return clamp(x, max=max)


def _bound(name: str, bound: Any) -> Any:
    if isinstance(bound, (np.ndarray, Tensor)):
        return bound if isinstance(bound, Tensor) else as_tensor(bound)
    bound = python_number(bound)
    if bound is not None and (not is_number(bound) or isinstance(bound, bool)):
        raise TypeError(f"clamp: {name} is {shown(bound)}\n  expected a number, a Tensor or None")
    if bound is not None and bound != bound:
        raise ValueError(f"clamp: {name} is NaN\n  expected a number, a Tensor or None")
    if isinstance(bound, int) and bound.bit_length() > 63:
        raise ValueError(f"clamp: {name} is {shown(bound)}\n  expected a number of at most 63 bits")
    return bound
