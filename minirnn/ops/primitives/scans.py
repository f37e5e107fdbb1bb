"""Cumulative sums and products along an axis (cumsum, cumprod), products (prod) and differences (diff).

The derivative of a product needs no division, so elements may be 0. For ``y[t] = x[0] * ... * x[t]``

    dx[t] = left[t] * right[t]        left[t] = x[0] * ... * x[t-1]
                                      right[t] = dy[t] + x[t+1] * right[t+1]

`left` is a cumprod, and `right` is a `Recurrence` that runs backward. The derivative of a recurrence is also a
recurrence, so all of these ops can be differentiated to any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.arithmetic import subtract
from minirnn.ops.primitives.declare import Along, Primitive, op
from minirnn.ops.primitives.elementwise import identity
from minirnn.ops.primitives.indexing import GetItem
from minirnn.ops.primitives.reductions import summand
from minirnn.ops.primitives.shapes import Concat, Reshape, Transpose, concat, flipped

__all__ = ["cumsum", "cumprod", "prod", "diff"]

Axes = int | tuple[int, ...] | None


def _part(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    return GetItem((*[slice(None)] * axis, slice(start, stop)))(x)


def _later(x: Tensor, axis: int, first: float) -> Tensor:
    """`x` shifted by one step along `axis`: `first`, x[0], x[1], ... without the last."""
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return Concat(axis)(leaf(x.device, x.device.full(shape, first, x.dtype)), _part(x, axis, None, -1))


class Scan(Along):
    """A node that runs forward along one axis, and backward in its derivative."""

    def backwards(self, a: Tensor, b: Tensor) -> Tensor:
        """``y[t] = a[t+1] * y[t+1] + b[t]``, computed from the end."""
        k = self.axis
        return flipped(recurrence(_later(flipped(a, k), k, 0), flipped(b, k), k), k)


class Cumsum(Scan, uses="cumsum", reads=""):
    """y[t] = x[0] + ... + x[t]     dx[t] = dy[t] + dy[t+1] + ..."""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (flipped(Cumsum(self.axis)(flipped(dy, self.axis)), self.axis),)


class Cumprod(Scan, uses="cumprod", reads="xy"):
    """y[t] = x[0] * ... * x[t]     dx[t] = left[t] * right[t], see above"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        left, right = _later(y, self.axis, 1), self.backwards(x, dy)
        return (left * right,)


class Recurrence(Scan, uses="recurrence", reads="xy"):
    """y[t] = a[t] * y[t-1] + b[t]      db[t] = dy[t] + a[t+1] * db[t+1],  da[t] = db[t] * y[t-1]"""

    def backward(self, dy: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        db = self.backwards(a, dy)
        return db * _later(y, self.axis, 0), db


def recurrence(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """``y[t] = a[t] * y[t-1] + b[t]`` along `axis`, ``y[-1] = 0``. Floats of one shape and dtype."""
    return Recurrence(axis)(a, b) if b.size else a * b


def _scanned(op: str, kind: type[Scan], x: Any, axis: Any, dim: Any, dtype: Any) -> Tensor:
    x = as_tensor(x)
    if axis is None and dim is None:
        raise TypeError(f"{op}: got no axis\n  expected the axis along which to compute: {op}(x, dim=0)")
    x, result = summand(x, dtype)
    k = check.axis(op, axis, x.ndim, dim, scalar=True)
    y = x.sum() if not x.ndim else x * 1 if not x.size else kind(k)(x)
    return y.astype(result)


@op(Cumsum)
def cumsum(x: Any, axis: int | None = None, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative sums along `axis` (torch: `dim`): ``y[t] = y[t-1] + x[t]``.

    Bools and small integers become int64. `x` is converted to `dtype` first, if one is given.
    """
    return _scanned("cumsum", Cumsum, x, axis, dim, dtype)


@op(Cumprod, Recurrence)
def cumprod(x: Any, axis: int | None = None, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative products along `axis` (torch: `dim`): ``y[t] = y[t-1] * x[t]``.

    The gradient is also right where elements are 0. Bools and small integers become int64.
    """
    return _scanned("cumprod", Cumprod, x, axis, dim, dtype)


class Prod(Primitive, uses="prod", reads="x"):
    """y = x[0] * ... * x[n-1], along the last axis     dx[t] = dy * left[t] * right[t], the products around t"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.prod(x, (x.ndim - 1,), False)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        if not x.size:
            return (x,)  # a gradient without elements
        last = x.ndim - 1
        products = Cumprod(last)
        left = _later(products(x), last, 1)
        right = flipped(_later(products(flipped(x, last)), last, 1), last)
        return (Reshape((*dy.shape, 1))(dy) * (left * right),)


@op(Prod)
def prod(
    x: Any,
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """Product over `axis` (an int, a tuple, or None for all). The product of no elements is 1.

    The gradient is also right where elements are 0. Bools and small integers become int64. `dim` and `keepdim` are
    torch's names for `axis` and `keepdims`.
    """
    x, result = summand(x, dtype)
    axes = check.axes("prod", axis, x.ndim, dim, scalar=True)
    axes = tuple(range(x.ndim)) if axes is None else axes
    with_ones = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = tuple(x.shape[k] for k in rest)
    count = int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
    rows = Reshape((*shape, count))(Transpose((*rest, *axes))(x))  # the reduced axes become one, the last
    y = Prod()(rows).astype(result)
    return Reshape(with_ones)(y) if check.kept("prod", keepdims, keepdim) else y


@op("not_equal", "getitem", subtract)
def diff(
    x: Any, n: int = 1, axis: int = check.LAST, prepend: Any = None, append: Any = None, *, dim: int | None = None
) -> Tensor:
    """Differences of neighbors along `axis`, ``x[t+1] - x[t]``, taken `n` times. For bools, whether neighbors differ.

    `prepend` and `append` are Tensors that are first joined to `x` along `axis`.
    """
    x = as_tensor(x)
    n = check.integer("diff", "n", n, 0)
    axis = check.axis("diff", axis, x.ndim, dim)
    joined = [p for p in (prepend, x, append) if p is not None]
    if n == 0:  # as in torch, without the other pieces
        return identity(x)
    x = concat(joined, axis) if len(joined) > 1 else x
    for _ in range(n):
        a, b = _part(x, axis, 1, None), _part(x, axis, None, -1)
        x = a != b if x.dtype.kind == "b" else a - b
    return x
