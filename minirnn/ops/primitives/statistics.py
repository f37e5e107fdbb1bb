"""How far numbers are spread: var, std and var_mean, with torch's correction of 1; and logsumexp."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.operands import is_number
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor
from minirnn.messages import shown
from minirnn.ops.primitives.elementwise import exp, float_tensor, sqrt, where
from minirnn.ops.primitives.functions import as_float
from minirnn.ops.primitives.reductions import Reduction

Axes = int | tuple[int, ...] | None


def _axes(op: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that vanish. An empty tuple stands for all of them, as in torch's functions of this file."""
    if ndim == 0 and axis.__class__ is int and axis in (0, -1):
        return ()
    axes = check.axes(op, axis, ndim)
    return axes or tuple(range(ndim))


def _moments(
    op: str, x: Any, axis: Any, unbiased: bool | None, correction: Any, keepdims: bool
) -> tuple[Tensor, Tensor]:
    """Variance and mean along the axes; float16 is computed in float32."""
    if isinstance(axis, bool):  # torch takes var(x, False), too: unbiased by position
        axis, unbiased = None, axis
    if unbiased is not None and correction is not None:
        raise TypeError(f"{op}: got unbiased={unbiased} and correction={correction}\n  expected one of the two")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    if not is_number(correction):
        raise TypeError(f"{op}: correction is {shown(correction)}\n  expected a number")
    x = float_tensor(op, x)
    axes = _axes(op, axis, x.ndim)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    n = prod(x.shape[k] for k in axes)
    mean = wide.sum(axis=axes, keepdims=True) * _share(n)
    away = wide - mean
    var = (away * away).sum(axis=axes, keepdims=True) * _share(max(n - correction, 0))
    if not keepdims:
        shape = tuple(m for k, m in enumerate(x.shape) if k not in axes)
        var, mean = var.reshape(shape), mean.reshape(shape)
    return var.astype(x.dtype), mean.astype(x.dtype)


def _share(n: float) -> float:
    """``1 / n``, infinite for 0: times a sum of 0 that is NaN."""
    return 1 / n if n else float("inf")


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

    As in torch `correction` is 1, or 0 with ``unbiased=False``. NumPy's ``ddof`` is `correction`, and 0 there. Without
    enough elements the result is NaN. `dim` and `keepdim` are torch's names of `axis` and `keepdims`.

    Raises
    ------
    TypeError
        If `x` is of no float dtype, or `unbiased` and `correction` are given.
    """
    kept = check.kept("var", keepdims, keepdim)
    return _moments("var", x, check.axis_or_dim("var", axis, dim), unbiased, correction, kept)[0]


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
    kept = check.kept("std", keepdims, keepdim)
    x = float_tensor("std", x)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    spread = _moments("std", wide, check.axis_or_dim("std", axis, dim), unbiased, correction, kept)[0]
    return sqrt_or_zero(spread).astype(x.dtype)


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
    kept = check.kept("var_mean", keepdims, keepdim)
    return _moments("var_mean", x, check.axis_or_dim("var_mean", axis, dim), unbiased, correction, kept)


def sqrt_or_zero(x: Tensor) -> Tensor:
    """Square root; at 0 the gradients of all orders are 0 instead of infinite."""
    zero = x == 0
    return where(zero, 0.0, sqrt(where(zero, 1.0, x)))


class LogSumExp(Reduction):
    """y = log(sum exp(x))      dx = dy * exp(x - y), and 0 where y is -inf: there all x are"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        dy, y = dy.reshape(self.kept), y.reshape(self.kept)
        return (dy * exp(x - where(y == -np.inf, 0.0, y)),)


def logsumexp(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` over `axis` (an int, a tuple, or None for all), without overflow or underflow.

    Elements that are -inf count as nothing; if all are, so is the result, and the gradient is 0 (torch: NaN).
    `dim` and `keepdim` are torch's names of `axis` and `keepdims`.
    """
    x = as_float(x)
    axes = _axes("logsumexp", check.axis_or_dim("logsumexp", axis, dim), x.ndim)
    kept = check.kept("logsumexp", keepdims, keepdim)
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    y = record(LogSumExp(axes, x.shape), x.device, _logsumexp(x, axes, shape), (x,))
    return y if kept else y.reshape(tuple(n for k, n in enumerate(x.shape) if k not in axes))


def _logsumexp(x: Tensor, axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """On arrays of the device: ``m + log(sum(exp(x - m)))``, m the maximum where that is finite."""
    device = x.device
    if 0 in x.shape and 0 not in shape:  # sums over nothing
        return device.full(shape, -np.inf, x.dtype)
    if 0 in shape:
        return device.full(shape, 0, x.dtype)
    a = device.cast(x.array, np.float32) if x.dtype == np.float16 else x.array
    m = device.max(a, axes, True)
    finite = device.less(device.absolute(m), np.inf)
    shift = device.where(finite, m, device.full((), 0, a.dtype))
    sums = device.sum(
        device.exp(device.subtract(device.where(finite, a, device.full((), 0, a.dtype)), shift)), axes, True
    )
    y = device.where(finite, device.add(shift, device.log(sums)), m)  # an infinite or NaN maximum is the result
    return device.cast(y, x.dtype)
