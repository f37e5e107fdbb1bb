"""Piecewise constant functions: sign, floor, ceil, round, trunc. Their gradient is 0, as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.operands import numeric
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.declare import Primitive, op, unary

__all__ = ["sign", "floor", "ceil", "trunc", "round"]


class Flat(Primitive, reads=""):
    """y = f(x), and f is flat between its jumps        dx = 0"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (leaf(x.device, x.device.full(x.shape, 0, x.dtype)),)


class Sign(Flat, uses="sign"):
    """y = -1, 0 or 1       dx = 0"""


class Floor(Flat, uses="floor"):
    """y = the largest whole number that is not above x     dx = 0"""


class Ceil(Flat, uses="ceil"):
    """y = the smallest whole number that is not below x        dx = 0"""


class Trunc(Flat, uses="where less ceil floor"):
    """y = floor(x) above 0, ceil(x) below      dx = 0"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.where(device.less(x, 0), device.ceil(x), device.floor(x))


sign = unary(Sign, "-1, 0 or 1; the gradient is 0.", takes=numeric)
floor = unary(Floor, "The largest whole number not above `x`, in the dtype of `x`; the gradient is 0.", takes=numeric)
ceil = unary(Ceil, "The smallest whole number not below `x`, in the dtype of `x`; the gradient is 0.", takes=numeric)
trunc = unary(Trunc, "`x` without its digits behind the point; the gradient is 0.", takes=numeric)


class Round(Flat, uses="round multiply divide cast"):
    """y = the nearest number with so many decimals, of two the even one        dx = 0"""

    def __init__(self, decimals: int) -> None:
        self.decimals = decimals

    def forward(self, device: Any, x: Any) -> Any:
        decimals, dtype = self.decimals, x.dtype
        if decimals == 0 or (decimals > 0 and dtype.kind != "f"):
            return device.round(x)
        ten = 10.0 ** abs(decimals)
        wide = x if dtype.kind == "f" and dtype != np.float16 else device.cast(x, np.float64)
        before, after = (device.multiply, device.divide) if decimals > 0 else (device.divide, device.multiply)
        return device.cast(after(device.round(before(wide, ten)), ten), dtype)


@op(Round)
def round(x: Any, decimals: int = 0, *, ndigits: int | None = None) -> Tensor:
    """The nearest number with `decimals` digits after the point. Ties go to the even digit.

    The gradient is 0. Negative `decimals` round to tens, hundreds, ...
    """
    x = numeric("round", x)
    return Round(check.integer("round", "decimals", decimals if ndigits is None else ndigits))(x)
