"""Floor division and remainder: ``a // b`` and ``a % b``.

Devices have no primitive that rounds down, so both are computed on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.operands import narrowed, pair, same_device, shape_error
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.declare import Primitive, op

__all__ = ["floor_divide", "remainder"]


class FloorDivide(Primitive, reads="", broadcasts=True):
    """y = floor(a / b)     da = 0,  db = 0"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        zero = leaf(y.device, y.device.full(y.shape, 0, y.dtype))
        return zero, zero


class Remainder(Primitive, reads="x", broadcasts=True):
    """y = a - q * b, q = floor(a / b)      da = dy,  db = -dy * q"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor | None]:
        return dy, -dy * floor_divide(a, b) if b.requires_grad else None


def _on_host(op: str, a: Tensor, b: Tensor, function: Any) -> Any:
    device = same_device(op, a, b)
    x, y = narrowed(device.to_numpy(a.array), device.to_numpy(b.array))
    if a.dtype.kind == b.dtype.kind == "b":
        raise TypeError(f"{op}: operands have dtype bool\n  expected numbers; use x.astype('float32')")
    if "f" not in (a.dtype.kind, b.dtype.kind) and y.size and not y.all():
        raise ValueError(f"{op}: integers are divided by 0\n  expected a divisor without zeros; floats give inf or NaN")
    try:
        with np.errstate(all="ignore"):  # a division by 0 gives inf or NaN, as in torch
            return device.asarray(function(x, y))
    except (ValueError, TypeError) as error:
        raise shape_error(op, a, b, error) from None


@op(FloorDivide, "to_numpy", "asarray", operator="//")
def floor_divide(a: Any, b: Any) -> Tensor:
    """``a // b``: the quotient rounded down, broadcasting. It is piecewise constant, so the gradient is 0.

    Raises ValueError if integers are divided by 0, the shapes do not broadcast, or the devices differ, and TypeError
    for two bools.
    """
    a, b = pair(a, b)
    return record(FloorDivide(), a.device, _on_host("floor_divide", a, b, np.floor_divide), (a, b))


@op(Remainder, "to_numpy", "asarray", operator="%")
def remainder(a: Any, b: Any) -> Tensor:
    """``a % b``: the remainder ``a - a // b * b``, with the sign of `b`, broadcasting.

    The gradient with respect to `a` is 1, with respect to `b` it is ``-(a // b)``. The errors are those of
    `floor_divide`.
    """
    a, b = pair(a, b)
    return record(Remainder(), a.device, _on_host("remainder", a, b, np.remainder), (a, b))
