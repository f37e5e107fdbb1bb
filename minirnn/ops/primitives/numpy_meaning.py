"""NumPy's functions, recorded with NumPy's arguments and NumPy's meaning, which is not always that of the op.

A function that only moves elements, such as ``np.roll`` or ``np.vstack``, is called with the places of the elements
instead of their values. Its result says which element goes where, for all of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from minirnn.engine.operands import as_tensors
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives import (
    einstein,
    elementwise,
    extremes,
    gathering,
    norms,
    products,
    reductions,
    rounding,
    scans,
    shapes,
    statistics,
    triangles,
    views,
)

MOVES = {np.roll, np.tile, np.repeat, np.ravel, np.flip, np.fliplr, np.flipud, np.rot90, np.rollaxis, np.take}
MOVES |= {np.diagonal, np.delete, np.resize, np.atleast_1d, np.atleast_2d, np.atleast_3d}
MOVES |= {np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit}
"""Functions that move the elements of their first argument."""
JOINS = {np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack}
"""Functions that move the elements of several arrays, the list of which is the first argument."""


def moved(function: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of `MOVES`."""
    x = as_tensor(x)
    return _gathered(x.reshape(-1), function(np.arange(x.size).reshape(x.shape), *args, **kwargs))


def joined(function: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of `JOINS`."""
    ts = as_tensors(xs)
    ends = np.cumsum([t.size for t in ts])
    places = [np.arange(n - t.size, n).reshape(t.shape) for n, t in zip(ends, ts, strict=True)]
    return _gathered(shapes.concat([t.reshape(-1) for t in ts]), function(places, *args, **kwargs))


def _gathered(flat: Tensor, places: Any) -> Any:
    """Elements by their places. NumPy returns a list, a tuple or an array, and so does this."""
    if isinstance(places, (list, tuple)):
        return type(places)([_gathered(flat, p) for p in places])
    return flat[np.asarray(places)]


# ---- functions with NumPy's signatures


def _dot(a: Any, b: Any) -> Tensor:
    a, b = as_tensors((a, b))
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return products.matmul(a, b)
    # The last axis of `a` meets the last but one of `b`. All pairs of the other axes stay: no batch.
    rows = shapes.transpose(b, (b.ndim - 2, *range(b.ndim - 2), b.ndim - 1)).reshape((b.shape[-2], -1))
    return products.matmul(a, rows).reshape((*a.shape[:-1], *b.shape[:-2], b.shape[-1]))


def _outer(a: Any, b: Any) -> Tensor:
    a, b = as_tensors((a, b))
    return products.outer(a.reshape(-1), b.reshape(-1))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = as_tensor(x)
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    if len(axes) == 2 and ord not in (None, "fro") or isinstance(ord, str) and len(axes) != 2:
        raise TypeError(
            f"np.linalg.norm: ord is {ord!r} for a matrix\n  expected None or 'fro': mr.norm has the others"
        )
    if len(axes) == 1 and ord in (inf, -inf):
        return norms.norm(x, ord, axis, keepdims)
    return norms.norm(x, "fro" if ord is None else ord, axis, keepdims)


def _square(m: Any) -> Tensor:
    m = as_tensor(m)
    return m if m.ndim != 1 else shapes.broadcast_to(m, (m.size, m.size))


def _scan(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def scan(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        a = as_tensor(a)
        return op(a, axis, dtype=dtype) if axis is not None and a.ndim else op(a.reshape(-1), 0, dtype=dtype)

    return scan


def _moment(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def moment(a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
        a = as_tensor(a)
        return op(a if dtype is None else a.astype(dtype), axis, correction=ddof, keepdims=keepdims)

    return moment


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = as_tensor(a) if low is None else elementwise.maximum(a, low)
    return a if high is None else elementwise.minimum(a, high)


def _sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    a = as_tensor(a)
    order = np.argsort(a.numpy(), axis, kind="stable")
    places = np.arange(a.size).reshape(a.shape if axis is not None else -1)
    return _gathered(a.reshape(-1), np.take_along_axis(places, order, -1 if axis is None else axis))


def _pad(array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0, **kwargs: Any) -> Tensor:
    a = as_tensor(array)
    places = np.arange(a.size).reshape(a.shape)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or kwargs.get("reflect_type") == "odd":
        raise TypeError(f"np.pad: mode is {mode!r}\n  expected one that repeats elements, or 'constant'")
    if mode != "constant":
        return _gathered(a.reshape(-1), np.pad(places, pad_width, mode, **kwargs))
    filled = np.pad(np.zeros(a.shape, a.dtype), pad_width, constant_values=constant_values)
    inside = np.pad(np.ones(a.shape, np.bool_), pad_width)
    padded = np.pad(places, pad_width)
    if not a.size:
        return as_tensor(filled, device=a.device)
    return elementwise.where(
        as_tensor(inside, device=a.device), a.reshape(-1)[padded], as_tensor(filled, device=a.device)
    )


def _reshape(a: Any, shape: Any, order: str = "C") -> Any:
    return shapes.reshape(a, shape) if order == "C" else moved(np.reshape, a, shape, order)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return reductions.mean(a, axis, keepdims, dtype=dtype)


SAME: dict[Any, Callable[..., Any]] = {
    np.sum: lambda a, axis=None, dtype=None, keepdims=False: reductions.sum(a, axis, keepdims, dtype=dtype),
    np.prod: lambda a, axis=None, dtype=None, keepdims=False: scans.prod(a, axis, keepdims, dtype=dtype),
    np.mean: _mean,
    np.cumsum: _scan(scans.cumsum),
    np.cumprod: _scan(scans.cumprod),
    np.var: _moment(statistics.var),
    np.std: _moment(statistics.std),
    np.amax: lambda a, axis=None, keepdims=False: extremes.amax(a, axis, keepdims),
    np.amin: lambda a, axis=None, keepdims=False: extremes.amin(a, axis, keepdims),
    np.ptp: lambda a, axis=None, keepdims=False: extremes.amax(a, axis, keepdims) - extremes.amin(a, axis, keepdims),
    np.where: elementwise.where,
    np.reshape: _reshape,
    np.transpose: lambda a, axes=None: shapes.transpose(a, axes) if axes is not None else shapes.transpose(a),
    np.squeeze: lambda a, axis=None: shapes.squeeze(a, axis),
    np.expand_dims: lambda a, axis: moved(np.expand_dims, a, axis),
    np.broadcast_to: lambda array, shape: shapes.broadcast_to(array, shape),
    np.swapaxes: lambda a, axis1, axis2: views.swapaxes(a, axis1, axis2),
    np.moveaxis: lambda a, source, destination: views.movedim(a, source, destination),
    np.dot: _dot,
    np.outer: _outer,
    np.linalg.norm: _norm,
    np.tril: lambda m, k=0: triangles.tril(_square(m), k),
    np.triu: lambda m, k=0: triangles.triu(_square(m), k),
    np.clip: _clip,
    np.compress: lambda condition, a, axis=None: moved(lambda p: np.compress(condition, p, axis), a),
    np.round: rounding.round,
    np.take_along_axis: lambda arr, indices, axis=-1: gathering.take_along_dim(arr, indices, axis),
    np.einsum: lambda equation, *operands: einstein.einsum(equation, *operands),
    np.sort: _sort,
    np.pad: _pad,
    np.diff: lambda a, n=1, axis=-1, prepend=None, append=None: scans.diff(a, n, axis, prepend, append),
}
"""Maps a function of NumPy to one with the same arguments that is recorded."""
SAME[np.max], SAME[np.min] = SAME[np.amax], SAME[np.amin]
