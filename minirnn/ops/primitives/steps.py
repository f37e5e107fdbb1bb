"""Functions that are flat almost everywhere: floor, ceil, round, trunc. Their gradient is 0, as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.operands import no_bools
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.messages import shown


class Flat(Op):
    """y = f(x), and f is made of steps     dx = 0"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (leaf(x.device, x.device.full(x.shape, 0, x.dtype)),)


FLAT = Flat()


def _numbers(op: str, x: Any) -> Tensor:
    x = x if isinstance(x, Tensor) else as_tensor(x)
    no_bools(op, x)
    return x


def floor(x: Any) -> Tensor:
    """The largest whole number that is not above `x`, in the dtype of `x`; the gradient is 0."""
    x = _numbers("floor", x)
    return record(FLAT, x.device, x.device.floor(x.array), (x,))


def ceil(x: Any) -> Tensor:
    """The smallest whole number that is not below `x`, in the dtype of `x`; the gradient is 0."""
    x = _numbers("ceil", x)
    return record(FLAT, x.device, x.device.ceil(x.array), (x,))


def trunc(x: Any) -> Tensor:
    """`x` without what stands behind the point: `floor` above 0, `ceil` below; the gradient is 0."""
    x = _numbers("trunc", x)
    device = x.device
    y = device.where(device.less(x.array, 0), device.ceil(x.array), device.floor(x.array))
    return record(FLAT, device, y, (x,))


def round(x: Any, decimals: int = 0, *, ndigits: int | None = None) -> Tensor:
    """The nearest number with `decimals` digits behind the point; of two the one that ends on an even digit.

    The gradient is 0. Negative `decimals` round to tens, hundreds, ...

    Raises
    ------
    TypeError
        If `decimals` is no integer, or `x` is of dtype bool.
    """
    x = _numbers("round", x)
    decimals = decimals if ndigits is None else ndigits
    if isinstance(decimals, bool) or not isinstance(decimals, (int, np.integer)):
        raise TypeError(f"round: decimals is {shown(decimals)}\n  expected an integer")
    device = x.device
    if decimals == 0 or (decimals > 0 and x.dtype.kind != "f"):
        return record(FLAT, device, device.round(x.array), (x,))
    ten = 10.0 ** (decimals if decimals > 0 else -decimals)
    wide = x.array if x.dtype.kind == "f" and x.dtype != np.float16 else device.cast(x.array, np.float64)
    if decimals > 0:
        y = device.divide(device.round(device.multiply(wide, ten)), ten)
    else:
        y = device.multiply(device.round(device.divide(wide, ten)), ten)
    return record(FLAT, device, device.cast(y, x.dtype), (x,))
