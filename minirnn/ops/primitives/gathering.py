"""Reading and writing along an axis at the indices in a Tensor: gather, scatter, scatter_add, index_select.

All of them are indexing with arrays (`indexing`): `gather` reads at ``(i, index[i, j], ...)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.arguments.messages import shown
from minirnn.engine.operands import same_device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.arithmetic import add
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import identity, where
from minirnn.ops.primitives.indexing import GetItem, PutAdd

__all__ = ["gather", "take_along_axis", "take_along_dim", "scatter", "scatter_add", "index_select"]


def _places(op: str, x: Tensor, dim: int, index: Any) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """`index` as a host array, and the complete index into `x` of each of its elements."""
    host = integers(f"{op}: index", index)
    if host.ndim != x.ndim:
        raise ValueError(
            f"{op}: index has shape {host.shape}\n  expected {x.ndim} axes, as many as {x.shape} has"
            + ("\n  likely unsqueeze(-1) is missing" if host.ndim + 1 == x.ndim else "")
        )
    size = x.shape[dim] if x.ndim else 1
    wrong = [k for k, n in enumerate(host.shape) if k != dim and n > x.shape[k]]
    if wrong and host.size:
        raise ValueError(
            f"{op}: index has shape {host.shape}, the Tensor {x.shape}\n"
            f"  expected no more than {x.shape[wrong[0]]} along axis {wrong[0]}: only axis {dim} may be longer"
        )
    if host.size and (host.min() < 0 or host.max() >= size):
        raise IndexError(
            f"{op}: indices run from {host.min()} to {host.max()}\n"
            f"  expected 0 .. {size - 1}, along axis {dim} of shape {x.shape}"
        )
    grid: list[np.ndarray] = list(np.indices(host.shape, sparse=True))
    if grid:
        grid[dim] = np.array(host, np.int64)  # a copy, so that the recorded index cannot change
    return host, tuple(grid)


@op(GetItem)
def gather(x: Any, dim: int, index: Any) -> Tensor:
    """``y[i, j, k] = x[index[i, j, k], j, k]`` for ``dim=0``, and so on: one element of `x` for each of `index`.

    Parameters
    ----------
    x : Tensor
    dim : int
        The axis along which `index` chooses.
    index : integers with as many axes as `x`
        ``0 <= index < x.shape[dim]``. Along other axes it may be shorter than `x`, but not longer.

    Returns
    -------
    Tensor of the shape of `index`. Gradients add up at elements that were read more than once.
    """
    x = as_tensor(x)
    dim = check.axis("gather", dim, x.ndim, scalar=True)
    host, grid = _places("gather", x, dim, index)
    return GetItem(grid)(x) if x.ndim else identity(x)


@op(gather, method="")
def take_along_axis(x: Any, indices: Any, axis: int) -> Tensor:
    """`gather` with the arguments in NumPy's order."""
    return gather(x, axis, indices)


@op(gather, "broadcast_to")
def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Tensor:
    """`gather` in which `indices` and `x` broadcast along axes other than `dim`. Without `dim` both are flattened.

    Negative indices count from the end.
    """
    x = as_tensor(x)
    host = integers("take_along_dim: indices", indices)
    if dim is None:
        return take_along_dim(x.reshape(-1), host.reshape(-1), 0)
    dim = check.axis("take_along_dim", dim, x.ndim, scalar=True)
    n = x.shape[dim] if x.ndim else 1
    host = np.where((host < 0) & (host >= -n), host + n, host)  # negative ones count from the end, as in torch
    if host.ndim == x.ndim:
        rest = [(n, m) for k, (n, m) in enumerate(zip(x.shape, host.shape, strict=True)) if k != dim]
        if any(n != m and 1 not in (n, m) for n, m in rest):
            raise ValueError(
                f"take_along_dim: indices have shape {host.shape}, the Tensor {x.shape}\n"
                f"  expected shapes that broadcast along all axes but {dim}"
            )
        shape = [max(n, m) if 0 not in (n, m) else 0 for n, m in zip(x.shape, host.shape, strict=True)]
        x = x.broadcast_to([*shape[:dim], x.shape[dim], *shape[dim + 1 :]]) if x.ndim else x
        host = np.broadcast_to(host, [*shape[:dim], host.shape[dim], *shape[dim + 1 :]]) if x.ndim else host
    return gather(x, dim, host)


def _source(op: str, x: Tensor, index: np.ndarray, src: Any) -> Tensor:
    """The part of `src` that belongs to `index`."""
    src = src if isinstance(src, Tensor) else as_tensor(src, device=x.device)
    same_device(op, x, src, names=("x", "src"))
    if src.dtype != x.dtype:
        raise TypeError(f"{op}: src has dtype {src.dtype}, the Tensor {x.dtype}\n  expected the same; use astype")
    if src.ndim != index.ndim or any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
        raise ValueError(f"{op}: src has shape {src.shape}\n  expected at least {index.shape}, the shape of index")
    return src if src.shape == index.shape else src[tuple(slice(0, n) for n in index.shape)]


@op(PutAdd, add, "getitem")
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Tensor:
    """`x` with ``src[i, j, k]`` added at ``[index[i, j, k], j, k]`` (for ``dim=0``). Repeated indices add up.

    The adjoint of `gather`. `x` itself is not changed.

    Parameters
    ----------
    x, dim, index
        The same as for `gather`.
    src : Tensor
        At least as long as `index` along every axis, of the dtype of `x`.
    """
    x = as_tensor(x)
    if not check.is_integer(dim):
        raise TypeError(f"scatter_add: dim is {shown(dim)}\n  expected an integer: scatter_add(x, dim, index, src)")
    dim = check.axis("scatter_add", dim, x.ndim, scalar=True)
    host, grid = _places("scatter_add", x, dim, index)
    src = _source("scatter_add", x, host, src)
    return x + PutAdd(x.shape, grid)(src) if host.size else x + 0


@op(PutAdd, where, "getitem", torch={"value": "src"})
def scatter(x: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Tensor:
    """`x` with ``src[i, j, k]`` written at ``[index[i, j, k], j, k]`` (for ``dim=0``): a new Tensor.

    `src` may be a number. ``reduce="add"`` adds instead, as `scatter_add`. If several elements are written to one
    place, the last one stays and gets the gradient.
    """
    x = as_tensor(x)
    dim = check.axis("scatter", dim, x.ndim, scalar=True)
    host, grid = _places("scatter", x, dim, index)
    if isinstance(src, (bool, int, float, np.generic)):
        src = as_tensor(np.full(host.shape, src, x.dtype), device=x.device)
    src = _source("scatter", x, host, src)
    if reduce is not None:
        if reduce != "add":
            raise ValueError(f"scatter: reduce is {shown(reduce)}\n  expected None or 'add'")
        return scatter_add(x, dim, host, src)
    if not host.size:
        return x + 0
    if not x.ndim:
        return where(True, src, x)
    # The index of the last element that is written to each place.
    places = np.ravel_multi_index(np.broadcast_arrays(*grid), x.shape).ravel()
    places, last = np.unique(places[::-1], return_index=True)
    chosen = src.reshape((host.size,))[host.size - 1 - last]
    at = np.unravel_index(places, x.shape)
    hit = np.zeros(x.shape, np.bool_)
    hit[at] = True
    return where(as_tensor(hit, device=x.device), PutAdd(x.shape, at)(chosen), x)


@op(GetItem)
def index_select(x: Any, dim: int, index: Any) -> Tensor:
    """The rows, columns, ... of `x` along `dim` at the indices in the one-dimensional `index`, in its order."""
    x = as_tensor(x)
    dim = check.axis("index_select", dim, x.ndim, scalar=True)
    host = integers("index_select: index", index)
    if host.ndim > 1:
        raise ValueError(f"index_select: index has shape {host.shape}\n  expected one axis")
    size = x.shape[dim] if x.ndim else 1
    if host.size and (host.min() < 0 or host.max() >= size):
        raise IndexError(
            f"index_select: indices run from {host.min()} to {host.max()}\n"
            f"  expected 0 .. {size - 1}, along axis {dim} of shape {x.shape}"
        )
    if not x.ndim:
        return identity(x)
    return GetItem((*[slice(None)] * dim, np.array(host, np.int64).reshape(-1)))(x)
