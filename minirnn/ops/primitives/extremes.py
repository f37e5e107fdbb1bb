"""Largest and smallest elements: max, min, amax, amin, argmax, argmin.

NumPy's argument `axis` and torch's argument `dim` give different results, as in those libraries. ``max(axis=1)``
returns the largest values, and ``max(dim=1)`` (or ``max(1)``) a named tuple of the values and their indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import choose, maximum, minimum
from minirnn.ops.primitives.gathering import gather
from minirnn.ops.primitives.reductions import Axes, Reduction, summed
from minirnn.ops.primitives.shapes import Reshape

__all__ = ["max", "min", "amax", "amin", "argmax", "argmin"]


class ValuesAndIndices(NamedTuple):
    """Elements and their indices along the axis, int64."""

    values: Tensor
    indices: Tensor


class Max(Reduction, uses="max", reads="xy"):
    """y = largest x along axes         dx = dy where x = y, in equal shares if there are several"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        y, dy = self.with_axes(y), self.with_axes(dy)
        hit = (x == y) | ((x != x) & (y != y))  # a NaN that is the maximum counts as equal to itself
        count = summed(hit.astype(x.dtype), *(range(x.ndim) if self.axes is None else self.axes))
        return (choose(hit, dy / count, 0.0),)


class Min(Max, uses="min"):
    """y = smallest x along axes        dx = dy where x = y, in equal shares if there are several"""


def _values(op: str, kind: type[Max], x: Any, axis: Any, dim: Any, kept: bool) -> Tensor:
    """The extreme elements along axes."""
    x = as_tensor(x)
    axes = check.axes(op, axis, x.ndim, dim, scalar=True)
    _not_empty(op, x, range(x.ndim) if axes is None else axes)
    return kind(axes, x.shape, kept)(x)


def _not_empty(op: str, x: Tensor, axes: Any) -> None:
    for k in axes:
        if x.shape[k] == 0:
            raise ValueError(f"{op}: no element along axis {k} of shape {x.shape}\n  expected at least one")


def _place(op: str, primitive: str, x: Tensor, axis: Any, kept: bool) -> Tensor:
    """The index of the first extreme element along `axis`, or among all elements for None."""
    device = x.device
    if axis is None:
        _not_empty(op, x, range(x.ndim))
        flat, k, shape = device.reshape(x.array, (x.size,)), 0, (1,) * x.ndim
    elif x.ndim == 0:
        check.axis(op, axis, 0, scalar=True)
        return leaf(device, device.full((), 0, np.int64))
    else:
        k = check.axis(op, axis, x.ndim)
        _not_empty(op, x, (k,))
        flat, shape = x.array, (*x.shape[:k], 1, *x.shape[k + 1 :])
    y = getattr(device, primitive)(flat, k)
    return leaf(device, device.reshape(y, shape) if kept else y)


def _with_indices(op: str, primitive: str, x: Any, dim: Any, kept: bool) -> ValuesAndIndices:
    """The first extreme elements along `dim` and their indices. Only these elements get a gradient."""
    x = as_tensor(x)
    indices = _place(op, primitive, x, dim, True)
    values = gather(x, dim, indices)
    if not kept and x.ndim:
        k = dim % x.ndim
        shape = Reshape(x.shape[:k] + x.shape[k + 1 :])
        values, indices = shape(values), shape(indices)
    return ValuesAndIndices(values, indices)


def _of_one_or_two(
    kind: type[Max], x: Any, given: tuple[Any, ...], axis: Any, keepdims: Any, dim: Any, keepdim: Any
) -> Any:
    """The result of `max` or `min`, from the one of three functions that the arguments select."""
    op = kind.uses[0]
    if len(given) > 2:
        raise TypeError(f"{op}: got {len(given) + 1} arguments\n  expected a Tensor, dim and keepdim")
    if given:  # positional arguments are torch's: dim and keepdim, or another Tensor
        if dim is not None or (len(given) > 1 and (keepdim is not None or keepdims is not None)):
            raise TypeError(f"{op}: got dim or keepdim by position and by name\n  expected each once")
        if axis is not None:
            raise TypeError(f"{op}: got {shown(given[0])} and axis={shown(axis)}\n  expected one of the two")
        if isinstance(given[0], (Tensor, np.ndarray)):
            return (maximum if kind is Max else minimum)(x, given[0])
        dim, keepdim = (*given, keepdim)[:2]
        if isinstance(dim, (tuple, list)):  # torch does not accept several axes, so they have NumPy's meaning
            axis, dim = dim, None
    kept = check.kept(op, keepdims, keepdim)
    if dim is None:
        return _values(op, kind, x, axis, None, kept)
    check.axis_or_dim(op, axis, dim)  # not both
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"{op}: dim is {shown(dim)}\n  expected an integer; several axes: axis=, or a{op}(dim=)")
    return _with_indices(op, f"arg{op}", x, dim, kept)


@op(Max, maximum, gather, "argmax", torch={"other": "*"})
def max(
    x: Any,
    *dim_or_other: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Any:
    """The largest element. NaN is larger than all numbers.

    - ``max(x)``: of all elements; ``max(x, axis=1)``, ``max(x, (0, 2))``: along axes, as in NumPy. Equal maxima share
      the gradient equally (torch: `amax`).
    - ``max(x, dim=1)``, ``max(x, 1)``: torch's named tuple ``(values, indices)``. The first of equal elements is taken,
      and only it gets the gradient.
    - ``max(a, b)``: the larger of two Tensors at each place, `maximum`.
    """
    return _of_one_or_two(Max, x, dim_or_other, axis, keepdims, dim, keepdim)


@op(Min, minimum, gather, "argmin", torch={"other": "*"})
def min(
    x: Any,
    *dim_or_other: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Any:
    """The smallest element. NaN is smaller than all numbers here, so it is the minimum. Arguments: see `max`."""
    return _of_one_or_two(Min, x, dim_or_other, axis, keepdims, dim, keepdim)


@op(Max)
def amax(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Largest element along `axis` (an int, a tuple, or None for all). Equal maxima share the gradient equally."""
    return _values("amax", Max, x, axis, dim, check.kept("amax", keepdims, keepdim))


@op(Min)
def amin(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Smallest element along `axis` (an int, a tuple, or None for all). Equal minima share the gradient equally."""
    return _values("amin", Min, x, axis, dim, check.kept("amin", keepdims, keepdim))


@op("argmax")
def argmax(
    x: Any,
    axis: int | None = None,
    keepdims: bool | None = None,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """Index of the (first) largest element along `axis`, int64; no gradient.

    Without `axis`, it is the index among all elements in C order, as in NumPy and torch. `dim` and `keepdim` are
    torch's names for `axis` and `keepdims`.
    """
    k, kept = check.axis_or_dim("argmax", axis, dim), check.kept("argmax", keepdims, keepdim)
    return _place("argmax", "argmax", as_tensor(x), k, kept)


@op("argmin")
def argmin(
    x: Any,
    axis: int | None = None,
    keepdims: bool | None = None,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """Index of the (first) smallest element along `axis`, int64; no gradient. The arguments are those of `argmax`."""
    k, kept = check.axis_or_dim("argmin", axis, dim), check.kept("argmin", keepdims, keepdim)
    return _place("argmin", "argmin", as_tensor(x), k, kept)
