"""Sums and products up to each place along an axis: cumsum, cumprod; the product of all: prod; differences: diff.

The derivative of a product divides by nothing, so elements may be 0. For ``y[t] = x[0] * ... * x[t]``

    dx[t] = left[t] * right[t]        left[t] = x[0] * ... * x[t-1]
                                      right[t] = dy[t] + x[t+1] * right[t+1]

`left` is a cumprod itself and `right` a `Recurrence`, walked backward. The derivative of a recurrence is one again, so
all of this can be differentiated to any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.messages import shown
from minirnn.ops.primitives.shapes import concat, flip, reshape, transpose

Axes = int | tuple[int, ...] | None


def _part(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    return x[(*[slice(None)] * axis, slice(start, stop))]


def _later(x: Tensor, axis: int, first: float) -> Tensor:
    """`x` moved on by one step along `axis`: `first`, x[0], x[1], ... without the last."""
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return concat([leaf(x.device, x.device.full(shape, first, x.dtype)), _part(x, axis, None, -1)], axis)


class Cumsum(Op):
    """y[t] = x[0] + ... + x[t]     dx[t] = dy[t] + dy[t+1] + ..."""

    reads_inputs = False

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (flip(cumsum(flip(dy, self.axis), self.axis), self.axis),)


class Cumprod(Op):
    """y[t] = x[0] * ... * x[t]     dx[t] = left[t] * right[t], see above"""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        k = self.axis
        left = _later(y, k, 1)
        right = flip(recurrence(_later(flip(x, k), k, 0), flip(dy, k), k), k)
        return (left * right,)


class Recurrence(Op):
    """y[t] = a[t] * y[t-1] + b[t]      db[t] = dy[t] + a[t+1] * db[t+1],  da[t] = db[t] * y[t-1]"""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        k = self.axis
        db = flip(recurrence(_later(flip(a, k), k, 0), flip(dy, k), k), k)
        return db * _later(y, k, 0), db


def recurrence(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """``y[t] = a[t] * y[t-1] + b[t]`` along `axis`, ``y[-1] = 0``. Floats of one shape and dtype."""
    if not b.size:
        return a * b
    return record(Recurrence(axis), b.device, b.device.recurrence(a.array, b.array, axis), (a, b))


def _scanned(op: str, x: Any, axis: Any, dim: Any, dtype: Any) -> tuple[Tensor, int]:
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axis = check.axis_or_dim(op, axis, dim)
    if axis is None:
        raise TypeError(f"{op}: got no axis\n  expected the axis to walk along: {op}(x, dim=0)")
    if dtype is not None:
        x = x.astype(dtype)
    return x, 0 if x.ndim == 0 and axis.__class__ is int and axis in (0, -1) else check.axis(op, axis, x.ndim)


def cumsum(x: Any, axis: int | None = None, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Sums of the elements up to each place: ``y[t] = y[t-1] + x[t]`` along `axis` (in torch: `dim`).

    Bools and small integers become int64. `x` is converted to `dtype` first, if one is given.
    """
    x, axis = _scanned("cumsum", x, axis, dim, dtype)
    if not x.ndim:
        return x.sum()
    if not x.size:
        return x.astype(np.int64) if x.dtype.kind == "b" else x * 1
    return record(Cumsum(axis), x.device, x.device.cumsum(x.array, axis), (x,))


def cumprod(x: Any, axis: int | None = None, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Products of the elements up to each place: ``y[t] = y[t-1] * x[t]`` along `axis` (in torch: `dim`).

    The gradient is right where elements are 0, too. Bools and small integers become int64.
    """
    x, axis = _scanned("cumprod", x, axis, dim, dtype)
    if not x.ndim:
        return x.sum()
    if not x.size:
        return x.astype(np.int64) if x.dtype.kind == "b" else x * 1
    return record(Cumprod(axis), x.device, x.device.cumprod(x.array, axis), (x,))


class Prod(Op):
    """y = x[0] * ... * x[n-1]      dx[t] = dy * left[t] * right[t], the products of what is before and after t"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        if not x.size:
            return (x,)  # a gradient without elements
        last = x.ndim - 1  # the product is along the last axis
        left = _later(cumprod(x, last), last, 1)
        right = flip(_later(cumprod(flip(x, last), last), last, 1), last)
        return (reshape(dy, (*dy.shape, 1)) * (left * right),)


PROD = Prod()


def prod(
    x: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """Product over `axis` (an int, a tuple, or None for all); 1 over nothing.

    The gradient is right where elements are 0, too. Bools and small integers become int64. `dim` and `keepdim` are
    torch's names of `axis` and `keepdims`.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if dtype is not None:
        x = x.astype(dtype)
    axes = check.axes("prod", check.axis_or_dim("prod", axis, dim), x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = tuple(x.shape[k] for k in rest)
    count = int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
    rows = reshape(transpose(x, (*rest, *axes)), (*shape, count))  # the axes that vanish as one, the last
    y = record(PROD, x.device, x.device.prod(rows.array, (len(rest),), False), (rows,))
    return reshape(y, kept) if check.kept("prod", keepdims, keepdim) else y


def diff(
    x: Any, n: int = 1, axis: int = check.LAST, prepend: Any = None, append: Any = None, *, dim: int | None = None
) -> Tensor:
    """Differences of neighbors along `axis`, ``x[t+1] - x[t]``, taken `n` times; bools: whether neighbors differ.

    `prepend` and `append` are Tensors that are joined to `x` along `axis` first.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"diff: n is {shown(n)}\n  expected an integer, 0 or more")
    axis = check.axis("diff", check.axis_or_dim("diff", axis, dim), x.ndim)
    joined = [p for p in (prepend, x, append) if p is not None]
    x = concat(joined, axis) if len(joined) > 1 else x
    for _ in range(n):
        a, b = _part(x, axis, 1, None), _part(x, axis, None, -1)
        x = a != b if x.dtype.kind == "b" else a - b
    return x
