"""Sums and means along axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.declare import Primitive, op
from minirnn.ops.primitives.shapes import BroadcastTo, Reshape

__all__ = ["sum", "mean"]

Axes = int | tuple[int, ...] | None


class Reduction(Primitive):
    """A node with `with_ones`, the shape of the result with 1 for summed axes, which broadcasts against the input."""

    def __init__(self, axes: tuple[int, ...] | None, shape: tuple[int, ...], keepdims: bool = False) -> None:
        self.axes = axes
        self.keepdims = keepdims
        sizes = [1] * len(shape) if axes is None else [1 if k in axes else n for k, n in enumerate(shape)]
        self.with_ones = tuple(sizes)

    def forward(self, device: Any, x: Any) -> Any:
        return getattr(device, self.uses[0])(x, self.axes, self.keepdims)

    def with_axes(self, t: Tensor) -> Tensor:
        """The result, or its gradient, in a shape that broadcasts: with the summed axes as 1, or ()."""
        return t if t.shape in (self.with_ones, ()) else Reshape(self.with_ones)(t)


class Sum(Reduction, uses="sum", reads=""):
    """y = sum of x along axes      dx = dy, repeated along them"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.sum(x, self.axes, self.keepdims)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (BroadcastTo(x.shape)(self.with_axes(dy)),)


def summed(x: Tensor, *axes: int) -> Tensor:
    """`sum` for derivatives, over non-negative axes, which stay with size 1."""
    return Sum(axes, x.shape, True)(x)


def summand(x: Any, dtype: Any) -> tuple[Tensor, np.dtype[Any]]:
    """`x` as a sum or a product adds it up, and the dtype of the result: `dtype`, or int64 for integers and bools.

    Integers of any width are added in int64, because NumPy would choose uint64 for unsigned ones.
    """
    x = as_tensor(x) if dtype is None else as_tensor(x).astype(dtype)
    if x.dtype.kind == "f":
        return x, x.dtype
    return x.astype(np.int64), x.dtype if dtype is not None else np.dtype(np.int64)


@op(Sum)
def sum(
    x: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """Sum over `axis` (an int, a tuple, or None for all). With `keepdims` the axes stay, with size 1.

    `dim` and `keepdim` are torch's names for `axis` and `keepdims`, and as in torch ``dim=()`` means all axes. The sum
    is computed in `dtype`, if one is given. Bools and small integers become int64.
    """
    if axis is dim is keepdims is keepdim is dtype is None and x.__class__ is Tensor and x.dtype.kind == "f":
        return Sum(None, x.shape, False)(x)  # the usual call needs no checks
    x, result = summand(x, dtype)
    axes = check.axes("sum", axis, x.ndim, dim, scalar=True)
    return Sum(axes, x.shape, check.kept("sum", keepdims, keepdim))(x).astype(result)


@op(sum, "divide")
def mean(
    x: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """Mean over `axis` (an int, a tuple, or None for all). Integers and bools become float32.

    The other arguments are those of `sum`. float16 is summed and divided in float32.

    The mean of no elements is NaN.
    """
    x = as_tensor(x) if dtype is None else as_tensor(x).astype(dtype)
    if x.dtype.kind != "f":
        x = x.astype(np.float32)
    axes, kept = check.axes("mean", axis, x.ndim, dim, scalar=True), check.kept("mean", keepdims, keepdim)
    n = prod(x.shape if axes is None else (x.shape[k] for k in axes))
    if n == 0:
        return Sum(axes, x.shape, kept)(x) * float("nan")
    if x.dtype == np.float16:  # the sum could overflow, and n may not be a float16
        return (Sum(axes, x.shape, kept)(x.astype(np.float32)) / n).astype(np.float16)
    return Sum(axes, x.shape, kept)(x) / n
