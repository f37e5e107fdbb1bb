"""Questions about elements, answered by bools, and how many of them are true."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.tensor import Tensor, as_tensor, leaf

Axes = int | tuple[int, ...] | None


def isnan(x: Any) -> Tensor:
    """Where `x` is NaN, bool."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    return leaf(x.device, x.device.not_equal(x.array, x.array))


def isinf(x: Any) -> Tensor:
    """Where `x` is infinite, of either sign, bool."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if x.dtype.kind != "f":
        return leaf(x.device, x.device.full(x.shape, False, np.bool_))
    return leaf(x.device, x.device.equal(x.device.absolute(x.array), np.inf))


def isfinite(x: Any) -> Tensor:
    """Where `x` is neither NaN nor infinite, bool."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if x.dtype.kind != "f":
        return leaf(x.device, x.device.full(x.shape, True, np.bool_))
    return leaf(x.device, x.device.less(x.device.absolute(x.array), np.inf))


def _count(x: Tensor, axes: tuple[int, ...] | None, keepdims: bool, zeros: bool) -> Any:
    """How many elements are 0, or are not: an int64 array of the device."""
    device = x.device
    zero = False if x.dtype.kind == "b" else 0
    return device.sum((device.equal if zeros else device.not_equal)(x.array, zero), axes, keepdims)


def count_nonzero(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """How many elements along `axis` are not 0 (NaN is not 0), int64."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = check.axes("count_nonzero", check.axis_or_dim("count_nonzero", axis, dim), x.ndim)
    return leaf(x.device, _count(x, axes, check.kept("count_nonzero", keepdims, keepdim), False))


def any(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Whether an element along `axis` is not 0, bool; False where there is none."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = check.axes("any", check.axis_or_dim("any", axis, dim), x.ndim)
    count = _count(x, axes, check.kept("any", keepdims, keepdim), False)
    return leaf(x.device, x.device.greater(count, 0))


def all(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Whether no element along `axis` is 0, bool; True where there is none."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = check.axes("all", check.axis_or_dim("all", axis, dim), x.ndim)
    count = _count(x, axes, check.kept("all", keepdims, keepdim), True)
    return leaf(x.device, x.device.equal(count, 0))
