"""Sums and means along axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor

Axes = int | tuple[int, ...] | None


class Reduction(Op):
    """Keeps `kept`, the shape of the result with the summed axes as 1, which broadcasts against the input."""

    def __init__(self, axes: tuple[int, ...] | None, shape: tuple[int, ...]) -> None:
        self.axes = axes
        kept = [1] * len(shape) if axes is None else [1 if k in axes else n for k, n in enumerate(shape)]
        self.kept = tuple(kept)


class Sum(Reduction):
    """y = sum of x along axes      dx = dy, repeated along them"""

    reads_inputs = False

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy.reshape(self.kept).broadcast_to(x.shape),)


def sum(
    x: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """Sum over `axis` (an int, a tuple, or None for all); with `keepdims` it stays, with size 1.

    `dim` and `keepdim` are torch's names of `axis` and `keepdims`. The sum is made in `dtype`, if one is given.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if dtype is not None:
        x = x.astype(dtype)
    axis, keepdims = check.axis_or_dim("sum", axis, dim), check.kept("sum", keepdims, keepdim)
    axes = check.axes("sum", axis, x.ndim)
    return record(Sum(axes, x.shape), x.device, x.device.sum(x.array, axes, keepdims), (x,))


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

    Raises
    ------
    ValueError
        If there is nothing to average.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if dtype is not None:
        x = x.astype(dtype)
    if x.dtype.kind != "f":
        x = x.astype(np.float32)
    axis, keepdims = check.axis_or_dim("mean", axis, dim), check.kept("mean", keepdims, keepdim)
    axes = check.axes("mean", axis, x.ndim)
    n = prod(x.shape if axes is None else (x.shape[k] for k in axes))
    if n == 0:
        raise ValueError(
            f"mean: nothing to average over axis {axis} of shape {x.shape}\n  expected at least one element"
        )
    if x.dtype == np.float16:  # the sum could overflow, and n have no float16 of its own
        return (sum(x.astype(np.float32), axis, keepdims) / n).astype(np.float16)
    return sum(x, axis, keepdims) / n
