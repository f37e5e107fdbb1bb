"""Splitting a Tensor: chunk, unbind, and iteration, which is `unbind` along the first axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minirnn.arguments import check
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import Along, method, op
from minirnn.ops.primitives.indexing import GetItem
from minirnn.ops.primitives.shapes import split, stacked, views_of

__all__ = ["unbind", "chunk"]


class Unbind(Along, uses="getitem", reads=""):
    """y_k = x at place k of axis       dx = dy_0, dy_1, ... side by side (0 where none arrived)

    There is one node for all pieces. T steps need one gradient of the size of x, whereas ``x[t]`` for T steps would
    need T of them.
    """

    def of(self, x: Tensor) -> tuple[Tensor, ...]:
        before = (slice(None),) * self.axis
        arrays = [x.device.getitem(x.array, (*before, k)) for k in range(x.shape[self.axis])]
        return views_of(x, self.piece, record_many(self, x.device, arrays, (x,)))

    def piece(self, k: int) -> GetItem:
        """The op that takes piece `k` out of x."""
        return GetItem((slice(None),) * self.axis + (k,))

    def backward(self, dy: list[Tensor | None], y: list[Tensor], x: Tensor) -> tuple[Tensor]:
        blank = leaf(x.device, x.device.full(y[0].shape, 0, x.dtype))
        return (stacked([blank if g is None else g for g in dy], self.axis),)


@op(Unbind)
def unbind(x: Any, axis: int = check.FIRST, *, dim: int | None = None) -> tuple[Tensor, ...]:
    """All ``x[t]`` along `axis` (torch: `dim`), without that axis. Time and memory are linear in its size."""
    x = as_tensor(x)
    return Unbind(check.axis("unbind", axis, x.ndim, dim)).of(x)


@method
def __iter__(x: Tensor) -> Iterator[Tensor]:
    """An iterator over the pieces of `unbind`, for ``for x_t in x``."""
    if not x.shape:
        raise TypeError("iteration over a Tensor of shape ()\n  expected at least one axis")
    if x.requires_grad and mode.enabled:
        return iter(unbind(x))
    return (x[k] for k in range(x.shape[0]))  # nothing is recorded, so each piece is made when it is needed


@op(split)
def chunk(x: Any, chunks: int, axis: int = check.FIRST, *, dim: int | None = None) -> tuple[Tensor, ...]:
    """`x` split along `axis` (torch: `dim`) into `chunks` pieces of equal size. The last one may be smaller.

    As in torch, there may be fewer pieces: an axis of 7 in 5 chunks gives pieces of 2, 2, 2 and 1.
    """
    x = as_tensor(x)
    axis = check.axis("chunk", axis, x.ndim, dim)
    chunks = check.integer("chunk", "chunks", chunks, 1)
    n = x.shape[axis]
    return split(x, -(-n // chunks) if n else [0] * chunks, axis)
