"""One Tensor as several: chunk, unbind, and iteration, which is `unbind` along the first axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, mode
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.messages import shown
from minirnn.ops.primitives.shapes import split, stack


class Unbind(Op):
    """y_k = x at place k of axis       dx = dy_0, dy_1, ... side by side (0 where none arrived)

    One node for all pieces: T steps cost one gradient of the size of x, where T times ``x[t]`` would cost T of them.
    """

    reads_inputs = False

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: list[Tensor | None], y: list[Tensor], x: Tensor) -> tuple[Tensor]:
        blank = leaf(x.device, x.device.full(y[0].shape, 0, x.dtype))
        return (stack([blank if g is None else g for g in dy], self.axis),)


def unbind(x: Any, axis: int = check.FIRST, *, dim: int | None = None) -> tuple[Tensor, ...]:
    """All ``x[t]`` along `axis` (in torch: `dim`), without that axis. Time and memory are linear in its size.

    Raises
    ------
    ValueError
        If there is no such axis.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axis = check.axis("unbind", check.axis_or_dim("unbind", axis, dim), x.ndim)
    before = (slice(None),) * axis
    arrays = [x.device.getitem(x.array, (*before, k)) for k in range(x.shape[axis])]
    return tuple(record_many(Unbind(axis), x.device, arrays, (x,)))


def iterate(x: Tensor) -> Iterator[Tensor]:
    """What ``for x_t in x`` walks over: the pieces of `unbind`."""
    if not x.shape:
        raise TypeError("iteration over a Tensor of shape ()\n  expected at least one axis")
    if x.requires_grad and mode.enabled:
        return iter(unbind(x))
    return (x[k] for k in range(x.shape[0]))  # nothing is recorded, so each is taken when it is asked for


def chunk(x: Any, chunks: int, axis: int = check.FIRST, *, dim: int | None = None) -> tuple[Tensor, ...]:
    """Cut `x` along `axis` (in torch: `dim`) into `chunks` pieces of one size, the last one smaller if need be.

    As in torch there may be fewer of them: an axis of 7 in 5 chunks gives pieces of 2, 2, 2 and 1.

    Raises
    ------
    TypeError, ValueError
        If `chunks` is no integer of 1 or more, or there is no such axis.
    """
    x = x if isinstance(x, Tensor) else as_tensor(x)
    axis = check.axis("chunk", check.axis_or_dim("chunk", axis, dim), x.ndim)
    if isinstance(chunks, bool) or not isinstance(chunks, (int, np.integer)):
        raise TypeError(f"chunk: chunks is {shown(chunks)}\n  expected an integer")
    if chunks < 1:
        raise ValueError(f"chunk: chunks is {shown(chunks)}\n  expected 1 or more")
    n = x.shape[axis]
    return split(x, -(-n // int(chunks)) if n else [0] * int(chunks), axis)
