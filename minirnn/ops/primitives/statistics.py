"""Variance and standard deviation: var, std and var_mean, with torch's correction of 1; and logsumexp."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.operands import float_tensor, is_number, made_float
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.arithmetic import multiply, subtract
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import choose, exp, sqrt
from minirnn.ops.primitives.reductions import Reduction
from minirnn.ops.primitives.reductions import sum as total
from minirnn.ops.primitives.shapes import Reshape

__all__ = ["var", "std", "var_mean", "logsumexp"]

Axes = int | tuple[int, ...] | None


def _axes(op: str, axis: Any, ndim: int, dim: Any = None) -> tuple[int, ...]:
    """The axes to reduce. An empty tuple means all of them, and a scalar has one axis, as in torch."""
    return check.axes(op, axis, ndim, dim, scalar=True) or tuple(range(ndim))


def _moments(
    op: str,
    x: Any,
    axis: Any,
    unbiased: Any,
    keepdims: Any,
    correction: Any,
    dim: Any,
    keepdim: Any,
    rounds: bool = True,
) -> tuple[Tensor, Tensor]:
    """Variance and mean along the axes, computed in the dtype of `squarable` and rounded to that of `x`."""
    kept, axis = check.kept(op, keepdims, keepdim), check.axis_or_dim(op, axis, dim)
    if isinstance(axis, bool):  # torch also takes var(x, False): unbiased by position
        axis, unbiased = None, axis
    if unbiased is not None and correction is not None:
        raise TypeError(f"{op}: got unbiased={unbiased} and correction={correction}\n  expected one of the two")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    if not is_number(correction):
        raise TypeError(f"{op}: correction is {shown(correction)}\n  expected a number")
    x = float_tensor(op, x)
    axes = _axes(op, axis, x.ndim)
    wide = squarable(x, axes)
    n = prod(x.shape[k] for k in axes)
    mean = wide.sum(axis=axes, keepdims=True) * _share(n)
    away = wide - mean
    var = (away * away).sum(axis=axes, keepdims=True) * _share(max(n - correction, 0))
    if not kept:
        shape = tuple(m for k, m in enumerate(x.shape) if k not in axes)
        var, mean = var.reshape(shape), mean.reshape(shape)
    return (var.astype(x.dtype), mean.astype(x.dtype)) if rounds else (var, mean)


def _share(n: float) -> float:
    """``1 / n``, or infinity for 0, so that its product with a sum of 0 is NaN."""
    return 1 / n if n else float("inf")


SQUARABLE = 1e-11, 1e14
"""Sums of squares of float32 between these, and of their differences, neither underflow nor overflow."""


def squarable(x: Tensor, axes: tuple[int, ...] | None = None) -> Tensor:
    """`x` in a dtype for sums of its squares along `axes`: float32 for float16, float64 for float32 that is very large
    or small, else its own. On a device whose values are not on the host, float32 becomes float64 in any case.
    """
    if x.dtype == np.float16:
        return x.astype(np.float32)
    if x.dtype == np.float64:
        return x
    a = x.array
    if isinstance(a, (np.ndarray, np.generic)):
        low, high = SQUARABLE
        largest = np.abs(a).max(axis=axes, initial=0)
        if np.all((largest == 0) | ((largest > low) & (largest < high))):
            return x
    return x.astype(np.float64)


@op(total, multiply, subtract)
def var(
    x: Any,
    axis: Axes = None,
    unbiased: bool | None = None,
    keepdims: bool | None = None,
    *,
    correction: float | None = None,
    dim: Axes = None,
    keepdim: bool | None = None,
) -> Tensor:
    """``sum((x - mean) ** 2) / (n - correction)`` over `axis` (an int, a tuple, or None for all).

    As in torch, `correction` is 1, or 0 with ``unbiased=False``. NumPy calls it ``ddof``, with a default of 0. If there
    are too few elements, the result is NaN. `dim` and `keepdim` are torch's names for `axis` and `keepdims`. Raises
    TypeError if `x` does not have a float dtype, or both `unbiased` and `correction` are given.
    """
    return _moments("var", x, axis, unbiased, keepdims, correction, dim, keepdim)[0]


@op(var, sqrt, "equal", "where")
def std(
    x: Any,
    axis: Axes = None,
    unbiased: bool | None = None,
    keepdims: bool | None = None,
    *,
    correction: float | None = None,
    dim: Axes = None,
    keepdim: bool | None = None,
) -> Tensor:
    """``sqrt(var(x))``, the standard deviation; the arguments are those of `var`. Where it is 0 the gradient is 0."""
    x = float_tensor("std", x)
    spread = _moments("std", x, axis, unbiased, keepdims, correction, dim, keepdim, rounds=False)[0]
    zero = spread == 0
    return choose(zero, 0.0, sqrt(choose(zero, 1.0, spread))).astype(x.dtype)


@op(total, multiply, subtract)
def var_mean(
    x: Any,
    axis: Axes = None,
    unbiased: bool | None = None,
    keepdims: bool | None = None,
    *,
    correction: float | None = None,
    dim: Axes = None,
    keepdim: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """``(var(x), mean(x))`` over the same axes; the arguments are those of `var`."""
    return _moments("var_mean", x, axis, unbiased, keepdims, correction, dim, keepdim)


class LogSumExp(Reduction, uses="exp log sum max where less absolute subtract add", reads="xy"):
    """y = log(sum exp(x))      dx = dy * exp(x - y), and 0 where y is -inf, because there all x are -inf

    Computed as ``m + log(sum(exp(x - m)))``, m the maximum where that is finite.
    """

    def forward(self, device: Any, x: Any) -> Any:
        shape, axes = self.with_ones, self.axes
        if 0 in x.shape:
            return device.full(shape, 0 if 0 in shape else -np.inf, x.dtype)  # sums of no elements
        a = device.cast(x, np.float32) if x.dtype == np.float16 else x
        m = device.max(a, axes, True)
        finite, zero = device.less(device.absolute(m), np.inf), device.full((), 0, a.dtype)
        shift = device.where(finite, m, zero)
        sums = device.sum(device.exp(device.subtract(device.where(finite, a, zero), shift)), axes, True)
        y = device.where(finite, device.add(shift, device.log(sums)), m)  # an infinite or NaN maximum is the result
        return device.cast(y, x.dtype)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        dy, y = self.with_axes(dy), self.with_axes(y)
        return (dy * exp(x - choose(y == -np.inf, 0.0, y)),)


@op(LogSumExp)
def logsumexp(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` over `axis` (an int, a tuple, or None for all), without overflow or underflow.

    Elements that are -inf do not contribute. If all elements are -inf, so is the result, and the gradient is 0 (torch:
    NaN). `dim` and `keepdim` are torch's names for `axis` and `keepdims`.
    """
    x = made_float("logsumexp", x)
    axes = _axes("logsumexp", axis, x.ndim, dim)
    y = LogSumExp(axes, x.shape)(x)
    if check.kept("logsumexp", keepdims, keepdim):
        return y
    return Reshape(tuple(n for k, n in enumerate(x.shape) if k not in axes))(y)
