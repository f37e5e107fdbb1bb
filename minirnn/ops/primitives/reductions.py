"""Sums, means and maxima along axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.operands import axes_of, axis_of

Axes = int | tuple[int, ...] | None


class _Reduction(Op):
    """Keeps `kept`, the shape of the result with the summed axes as 1, which broadcasts against the input."""

    def __init__(self, axes: tuple[int, ...] | None, shape: tuple[int, ...]) -> None:
        self.axes = axes
        kept = [1] * len(shape) if axes is None else [1 if k in axes else n for k, n in enumerate(shape)]
        self.kept = tuple(kept)


class Sum(_Reduction):
    """y = sum of x along axes      dx = dy, repeated along them"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy.reshape(self.kept).broadcast_to(x.shape),)


class Max(_Reduction):
    """y = max of x along axes      dx = dy at the maximum, in equal shares if there are several"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        hit = (x == y.reshape(self.kept)).astype(x.dtype)
        return (dy.reshape(self.kept) * hit / hit.sum(axis=self.axes, keepdims=True),)


def sum(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Sum over `axis` (an int, a tuple, or None for all)."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = axes_of("sum", axis, x.ndim)
    return record(Sum(axes, x.shape), x.device, x.device.sum(x.array, axes, keepdims), (x,))


def mean(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Mean over `axis` (an int, a tuple, or None for all). Integers and bools become float32.

    float16 is summed and divided in float32.

    Raises
    ------
    ValueError
        If there is nothing to average.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float32)
    axes = axes_of("mean", axis, x.ndim)
    n = prod(x.shape if axes is None else (x.shape[k] for k in axes))
    if n == 0:
        raise ValueError(
            f"mean: nothing to average over axis {axis} of shape {x.shape}\n  expected at least one element"
        )
    if x.dtype == np.float16:  # the sum could overflow, and n have no float16 of its own
        return (sum(x.astype(np.float32), axis, keepdims) / n).astype(np.float16)
    return sum(x, axis, keepdims) / n


def max(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Largest element along `axis` (an int, a tuple, or None for all). Equal maxima share the gradient equally.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = axes_of("max", axis, x.ndim)
    if 0 in (x.shape if axes is None else [x.shape[k] for k in axes]):
        raise ValueError(f"max: no element along axis {axis} of shape {x.shape}\n  expected at least one")
    return record(Max(axes, x.shape), x.device, x.device.max(x.array, axes, keepdims), (x,))


def argmax(x: Any, axis: int = -1) -> Tensor:
    """Index of the (first) largest element along `axis`, int64; no gradient."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axis = axis_of("argmax", axis, x.ndim)
    if x.shape[axis] == 0:
        raise ValueError(f"argmax: no element along axis {axis} of shape {x.shape}\n  expected at least one")
    return leaf(x.device, x.device.argmax(x.array, axis))
