"""Tests of elements (isnan, isinf, isfinite, any, all), and count_nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import op

__all__ = ["isnan", "isinf", "isfinite", "count_nonzero", "any", "all"]

Axes = int | tuple[int, ...] | None


@op("not_equal")
def isnan(x: Any) -> Tensor:
    """Where `x` is NaN, bool."""
    x = as_tensor(x)
    return leaf(x.device, x.device.not_equal(x.array, x.array))


@op("equal", "absolute")
def isinf(x: Any) -> Tensor:
    """Where `x` is infinite, of either sign, bool."""
    x = as_tensor(x)
    if x.dtype.kind != "f":
        return leaf(x.device, x.device.full(x.shape, False, np.bool_))
    return leaf(x.device, x.device.equal(x.device.absolute(x.array), np.inf))


@op("less", "absolute")
def isfinite(x: Any) -> Tensor:
    """Where `x` is neither NaN nor infinite, bool."""
    x = as_tensor(x)
    if x.dtype.kind != "f":
        return leaf(x.device, x.device.full(x.shape, True, np.bool_))
    return leaf(x.device, x.device.less(x.device.absolute(x.array), np.inf))


def _count(x: Tensor, axes: tuple[int, ...] | None, keepdims: bool, zeros: bool) -> Any:
    """The number of elements that are 0, or that are not, as an int64 array of the device."""
    device = x.device
    zero = False if x.dtype.kind == "b" else 0
    return device.sum((device.equal if zeros else device.not_equal)(x.array, zero), axes, keepdims)


@op("sum", "not_equal")
def count_nonzero(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """The number of elements along `axis` that are not 0 (NaN is not 0), int64."""
    x = as_tensor(x)
    axes = check.axes("count_nonzero", axis, x.ndim, dim, scalar=True)
    return leaf(x.device, _count(x, axes, check.kept("count_nonzero", keepdims, keepdim), False))


def _truth(x: Tensor, found: Any) -> Tensor:
    """The result of `any` and `all`: bool, but uint8 for uint8, as in torch."""
    return leaf(x.device, x.device.cast(found, x.dtype) if x.dtype == np.uint8 else found)


@op("sum", "not_equal", "greater")
def any(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Whether any element along `axis` is not 0, as a bool (uint8 for uint8); False if there are none."""
    x = as_tensor(x)
    axes = check.axes("any", check.axis_or_dim("any", axis, dim), x.ndim, scalar=True)  # () means none, as in torch
    count = _count(x, axes, check.kept("any", keepdims, keepdim), False)
    return _truth(x, x.device.greater(count, 0))


@op("sum", "equal")
def all(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Whether all elements along `axis` are not 0, as a bool (uint8 for uint8); True if there are none."""
    x = as_tensor(x)
    axes = check.axes("all", check.axis_or_dim("all", axis, dim), x.ndim, scalar=True)  # () means none, as in torch
    count = _count(x, axes, check.kept("all", keepdims, keepdim), True)
    return _truth(x, x.device.equal(count, 0))
