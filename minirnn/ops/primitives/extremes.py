"""Largest and smallest elements: max, min, amax, amin, argmax, argmin.

NumPy's word `axis` and torch's word `dim` mean two things here, as they do there: ``max(axis=1)`` is the largest
values, ``max(dim=1)`` (and ``max(1)``) a named tuple of the values and of where they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn import check
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.messages import shown
from minirnn.ops.primitives import elementwise, reductions
from minirnn.ops.primitives.gathering import gather

Axes = int | tuple[int, ...] | None


class ValuesAndIndices(NamedTuple):
    """Elements, and where they are along the axis: int64."""

    values: Tensor
    indices: Tensor


class Extreme(reductions.Reduction):
    """y = largest (or smallest) x along axes       dx = dy at the extreme, in equal shares if there are several"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        y, dy = y.reshape(self.kept), dy.reshape(self.kept)
        hit = (x == y) | ((x != x) & (y != y))  # a NaN that won is equal to itself, too
        count = hit.astype(x.dtype).sum(axis=self.axes, keepdims=True)
        return (elementwise.where(hit, dy / count, 0.0),)


def _extreme(op: str, primitive: str, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axes = check.axes(op, axis, x.ndim)
    _no_empty(op, x, range(x.ndim) if axes is None else axes)
    return record(Extreme(axes, x.shape), x.device, getattr(x.device, primitive)(x.array, axes, keepdims), (x,))


def _no_empty(op: str, x: Tensor, axes: Any) -> None:
    if any(x.shape[k] == 0 for k in axes):
        where = next(k for k in axes if x.shape[k] == 0)
        raise ValueError(f"{op}: no element along axis {where} of shape {x.shape}\n  expected at least one")


def _place(op: str, primitive: str, x: Any, axis: Any, keepdims: bool) -> Tensor:
    """The index of the first extreme element along `axis`; for None among all elements."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    device = x.device
    if axis is None:
        if not x.size:
            _no_empty(op, x, range(x.ndim))
        y = getattr(device, primitive)(device.reshape(x.array, (x.size,)), 0)
        return leaf(device, device.reshape(y, (1,) * x.ndim) if keepdims else y)
    if x.ndim == 0 and axis.__class__ is int and axis in (0, -1):  # torch lets a scalar have one axis
        return leaf(device, device.full((), 0, np.int64))
    k = check.axis(op, axis, x.ndim)
    _no_empty(op, x, (k,))
    y = getattr(device, primitive)(x.array, k)
    return leaf(device, device.reshape(y, (*x.shape[:k], 1, *x.shape[k + 1 :])) if keepdims else y)


def _with_indices(op: str, primitive: str, x: Any, dim: Any, keepdim: bool) -> ValuesAndIndices:
    """The first extreme elements along `dim` and their indices; the gradient goes to those elements alone."""
    x = x if isinstance(x, Tensor) else as_tensor(x)
    indices = _place(op, primitive, x, dim, True)
    values = gather(x, dim, indices)
    if not keepdim and x.ndim:
        k = dim % x.ndim
        shape = x.shape[:k] + x.shape[k + 1 :]
        values, indices = values.reshape(shape), indices.reshape(shape)
    return ValuesAndIndices(values, indices)


def _by_words(
    op: str, primitive: str, x: Any, arguments: tuple[Any, ...], axis: Any, keepdims: Any, dim: Any, keepdim: Any
) -> Any:
    """What `max` and `min` have in common: which of the three functions is meant."""
    if len(arguments) > 2:
        raise TypeError(f"{op}: got {len(arguments) + 1} arguments\n  expected a Tensor, dim and keepdim")
    if arguments:  # by position they are torch's: dim and keepdim, or another Tensor
        if dim is not None or (len(arguments) > 1 and (keepdim is not None or keepdims is not None)):
            raise TypeError(f"{op}: got dim or keepdim by position and by name\n  expected each once")
        if axis is not None:
            raise TypeError(f"{op}: got {shown(arguments[0])} and axis={shown(axis)}\n  expected one of the two")
        dim = arguments[0]
        keepdim = arguments[1] if len(arguments) > 1 else keepdim
        if isinstance(dim, (Tensor, np.ndarray)):
            return (elementwise.maximum if op == "max" else elementwise.minimum)(x, dim)
        if dim is None or isinstance(dim, (tuple, list)):  # several axes: torch has none, so they are NumPy's
            return _extreme(op, primitive, x, dim, check.kept(op, keepdims, keepdim))
    kept = check.kept(op, keepdims, keepdim)
    if dim is None:
        return _extreme(op, primitive, x, axis, kept)
    check.axis_or_dim(op, axis, dim)  # not both
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"{op}: dim is {shown(dim)}\n  expected an integer; several axes: axis=, or a{op}(dim=)")
    return _with_indices(op, f"arg{primitive}", x, dim, kept)


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
      the gradient equally (in torch: `amax`).
    - ``max(x, dim=1)``, ``max(x, 1)``: torch's named tuple ``(values, indices)``. The first of equal elements is taken,
      and the gradient goes to it alone.
    - ``max(a, b)``: the larger of two Tensors at each place, `maximum`.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    TypeError
        If `axis` and `dim` are given, or `dim` is no integer.
    """
    return _by_words("max", "max", x, dim_or_other, axis, keepdims, dim, keepdim)


def min(
    x: Any,
    *dim_or_other: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Any:
    """The smallest element. NaN is smaller than all numbers here: it wins, as in `max`. Arguments: those of `max`."""
    return _by_words("min", "min", x, dim_or_other, axis, keepdims, dim, keepdim)


def amax(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Largest element along `axis` (an int, a tuple, or None for all). Equal maxima share the gradient equally.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    """
    return _extreme("amax", "max", x, check.axis_or_dim("amax", axis, dim), check.kept("amax", keepdims, keepdim))


def amin(
    x: Any, axis: Axes = None, keepdims: bool | None = None, *, dim: Axes = None, keepdim: bool | None = None
) -> Tensor:
    """Smallest element along `axis` (an int, a tuple, or None for all). Equal minima share the gradient equally.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    """
    return _extreme("amin", "min", x, check.axis_or_dim("amin", axis, dim), check.kept("amin", keepdims, keepdim))


def argmax(
    x: Any,
    axis: int | None = None,
    keepdims: bool | None = None,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """Index of the (first) largest element along `axis`, int64; no gradient.

    Without `axis` it is the index among all elements in C order, as in NumPy and torch. `dim` and `keepdim` are torch's
    names of `axis` and `keepdims`.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    """
    axis = check.axis_or_dim("argmax", axis, dim)
    return _place("argmax", "argmax", x, axis, check.kept("argmax", keepdims, keepdim))


def argmin(
    x: Any,
    axis: int | None = None,
    keepdims: bool | None = None,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """Index of the (first) smallest element along `axis`, int64; no gradient. Arguments: those of `argmax`."""
    axis = check.axis_or_dim("argmin", axis, dim)
    return _place("argmin", "argmin", x, axis, check.kept("argmin", keepdims, keepdim))
