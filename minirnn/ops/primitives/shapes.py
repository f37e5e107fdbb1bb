"""Ops that move elements without changing them: reshape, transpose, concat, stack, split and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import common_dtype
from minirnn.arguments.messages import shown
from minirnn.engine.operands import as_tensors, same_device
from minirnn.engine.outputs import record_many
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import Primitive, View, op, synonym
from minirnn.ops.primitives.elementwise import identity
from minirnn.ops.primitives.indexing import GetItem

__all__ = ["reshape", "transpose", "broadcast_to", "concat", "stack", "split", "expand_dims", "squeeze", "flip"]
__all__ += ["cat", "concatenate"]


class Reshape(View, uses="reshape", reads=""):
    """y = x in another shape       dx = dy in the shape of x"""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, device: Any, x: Any) -> Any:
        return device.reshape(x, self.shape)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (Reshape(x.shape)(dy),)


class Transpose(View, uses="transpose", reads=""):
    """y = x with axes permuted     dx = dy with axes permuted back"""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def forward(self, device: Any, x: Any) -> Any:
        return device.transpose(x, self.axes)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (Transpose(tuple(self.axes.index(k) for k in range(len(self.axes))))(dy),)


class BroadcastTo(View, uses="broadcast_to", reads="", broadcasts=True):
    """y = x repeated to a larger shape     dx = dy summed over the repeats"""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, device: Any, x: Any) -> Any:
        return device.broadcast_to(x, self.shape)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy,)

    def whole(self, x: Tensor, y: Tensor) -> Tensor:
        if y.size == x.size:
            return Reshape(x.shape)(y)
        raise RuntimeError(
            f"writing: the Tensor of shape {y.shape} repeats one of shape {x.shape}\n"
            "  expected a Tensor that holds each element once; write into a copy, t.clone()"
        )


class Concat(Primitive, uses="concatenate", reads="", broadcasts=True):  # only the dtypes are broadcast
    """y = x_0, x_1, ... one after the other along axis     dx_k = the part of dy that came from x_k"""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, device: Any, *xs: Any) -> Any:
        return device.concatenate(list(xs), self.axis)

    def backward(self, dy: Tensor, y: Tensor, *xs: Tensor) -> tuple[Tensor, ...]:
        return Split(self.axis, [x.shape[self.axis] for x in xs]).of(dy)


def views_of(x: Tensor, piece: Callable[[int], GetItem], pieces: list[Tensor]) -> tuple[Tensor, ...]:
    """The pieces of `x` as views. Pieces that are not recorded store their source; for others the tape has it."""
    for k, y in enumerate(pieces):
        if not y._requires_grad:
            y.viewed = x, piece(k), x.seq
    return tuple(pieces)


class Split(Primitive, uses="getitem", reads=""):
    """y_0, y_1, ... = x cut along axis     dx = dy_0, dy_1, ... one after the other (0 where none arrived)"""

    def __init__(self, axis: int, sizes: Sequence[int]) -> None:
        self.axis = axis
        self.sizes = sizes

    def of(self, x: Tensor) -> tuple[Tensor, ...]:
        pieces = [*map(self.piece, range(len(self.sizes)))]
        arrays = [x.device.getitem(x.array, piece.index) for piece in pieces]
        return views_of(x, pieces.__getitem__, record_many(self, x.device, arrays, (x,)))

    def piece(self, k: int) -> GetItem:
        """The op that takes piece `k` out of x. Writing into the piece writes there."""
        start = sum(self.sizes[:k])
        return GetItem((slice(None),) * self.axis + (slice(start, start + self.sizes[k]),))

    def backward(self, dy: list[Tensor | None], y: list[Tensor], x: Tensor) -> tuple[Tensor]:
        blank = x.device.full
        parts = [leaf(x.device, blank(p.shape, 0, p.dtype)) if g is None else g for g, p in zip(dy, y, strict=True)]
        return (Concat(self.axis)(*parts),)


@op(Reshape, method="")
def reshape(x: Any, shape: int | Sequence[int]) -> Tensor:
    """`x` in another shape, in C order; one size may be -1."""
    x = as_tensor(x)
    shape, size = check.sizes("reshape", shape), prod(x.shape)
    if shape.count(-1) == 1:
        known = -prod(shape)
        if known > 0 and size % known == 0:
            shape = tuple(size // known if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or prod(shape) != size:
        raise ValueError(f"reshape: cannot make {shown(shape)} out of shape {x.shape}\n  expected {size} elements")
    return Reshape(shape)(x)


@op(Transpose, method="")
def transpose(
    x: Any, axes: int | Sequence[int] | None = None, other: int | None = None, *, dim0: Any = None, dim1: Any = None
) -> Tensor:
    """`x` with its axes in the order `axes`, by default reversed. Two integers exchange these two axes.

    ``transpose(x, (2, 0, 1))`` is NumPy's, ``transpose(x, 0, 1)`` is torch's (whose names `dim0` and `dim1` also work).
    """
    x = as_tensor(x)
    axes, other = check.axis_or_dim("transpose", axes, dim0), check.axis_or_dim("transpose", other, dim1)
    if other is not None:
        first, second = (check.axis("transpose", k, x.ndim, scalar=True) for k in (axes, other))
        exchanged = list(range(x.ndim or 1))
        exchanged[first], exchanged[second] = second, first
        axes = exchanged[: x.ndim]
    if isinstance(axes, (int, np.integer)):
        axes = (int(axes),)
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(check.axis("transpose", k, x.ndim) for k in axes)
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"transpose: axes {axes} of shape {x.shape}\n  expected each of {x.ndim} axes once")
    return Transpose(order)(x)


def swap_last(x: Tensor) -> Tensor:
    """`x` with its last two axes exchanged, which transposes its matrices."""
    return Transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))(x)


@op(BroadcastTo, torch={"size": "shape"})
def broadcast_to(x: Any, shape: Sequence[int]) -> Tensor:
    """`x` repeated to `shape` by NumPy's rules."""
    x = as_tensor(x)
    shape = check.sizes("broadcast_to", shape)
    tail = shape[len(shape) - x.ndim :] if len(shape) >= x.ndim else ()
    fits = len(tail) == x.ndim and False not in [a in (1, b) for a, b in zip(x.shape, tail, strict=True)]
    if not fits or min(shape, default=0) < 0:
        raise ValueError(
            f"broadcast_to: cannot repeat shape {x.shape} to {shown(shape)}\n"
            "  expected equal sizes, from the last axis on; 1 may become any size, and axes may come in front"
        )
    if prod(shape) >= 2**60:
        raise ValueError(
            f"broadcast_to: cannot repeat shape {x.shape} to {shown(shape)}\n  expected fewer than 2**60 elements"
        )
    return BroadcastTo(shape)(x)


@op(Concat, method="", torch={"tensors": "xs"})
def concat(xs: Sequence[Any], axis: int = check.FIRST, *, dim: int | None = None) -> Tensor:
    """The Tensors joined along an existing axis (torch: `dim`)."""
    ts = _tensors("concat", xs)
    whole = next((t for t in ts if t.shape != (0,)), ts[0])
    axis = check.axis("concat", axis, whole.ndim, dim)
    if whole.ndim > 1:  # as in torch, the empty tensor([]) fits everywhere
        nothing = (*whole.shape[:axis], 0, *whole.shape[axis + 1 :])
        ts = [Reshape(nothing)(t) if t.shape == (0,) else t for t in ts]
    rest = {t.shape[:axis] + t.shape[axis + 1 :] for t in ts}
    if len(rest) > 1 or len({t.ndim for t in ts}) > 1:
        raise ValueError(f"concat: got shapes {[t.shape for t in ts]}\n  expected equal sizes except along axis {axis}")
    return Concat(axis)(*ts)


cat, concatenate = synonym(concat, "cat"), synonym(concat, "concatenate")


@op(Concat, Reshape, method="", torch={"tensors": "xs"})
def stack(xs: Sequence[Any], axis: int = check.FIRST, *, dim: int | None = None) -> Tensor:
    """Tensors of the same shape joined along a new axis (torch: `dim`)."""
    ts = _tensors("stack", xs)
    if len({t.shape for t in ts}) > 1:
        raise ValueError(f"stack: got shapes {[t.shape for t in ts]}\n  expected equal shapes")
    return stacked(ts, check.axis("stack", axis, ts[0].ndim + 1, dim))


def stacked(ts: Sequence[Tensor], axis: int) -> Tensor:
    """`stack` for derivatives, for Tensors of the same shape and device and a non-negative axis."""
    shape = ts[0].shape[:axis] + (1,) + ts[0].shape[axis:]
    return Concat(axis)(*[Reshape(shape)(t) for t in ts])


@op(Split, torch={"split_size": "sizes", "split_size_or_sections": "sizes", "tensor": "x"})
def split(x: Any, sizes: int | Sequence[int], axis: int = check.FIRST, *, dim: int | None = None) -> tuple[Tensor, ...]:
    """`x` split along `axis` (torch: `dim`) into pieces of size `sizes`. The last one may be smaller.

    `sizes` may also be a list with the size of each piece, as in torch. `chunk` splits into a number of pieces.
    """
    x = as_tensor(x)
    axis = check.axis("split", axis, x.ndim, dim)
    n = x.shape[axis]
    given = check.sizes("split", sizes)
    if not isinstance(sizes, (tuple, list)) and len(given) == 1:
        (size,) = given
        if size < 0 or (size == 0 and n):
            raise ValueError(
                f"split: cannot cut axis {axis} of shape {x.shape} into pieces of {shown(size)}\n"
                "  expected 1 or more, or a list of sizes"
            )
        given = tuple(min(size, n - start) for start in range(0, n, size or 1)) or (0,)
    if any(k < 0 for k in given) or sum(given) != n:
        raise ValueError(
            f"split: sizes {shown(list(given))} of axis {axis}, shape {x.shape}\n  expected sizes that add up to {n}"
        )
    return Split(axis, given).of(x)


@op(Reshape, method="")
def expand_dims(x: Any, axis: int | None = None, *, dim: int | None = None) -> Tensor:
    """`x` with a new axis of size 1 at place `axis` (torch: `dim`) of the result."""
    x = as_tensor(x)
    axis = check.axis("expand_dims", axis, x.ndim + 1, dim)
    return Reshape(x.shape[:axis] + (1,) + x.shape[axis:])(x)


@op(Reshape)
def squeeze(x: Any, axis: int | tuple[int, ...] | None = None, *, dim: int | tuple[int, ...] | None = None) -> Tensor:
    """`x` without the axes in `axis` (an int, a tuple, or None for all; torch: `dim`) that have size 1.

    Axes of another size stay, as in torch; NumPy would raise.
    """
    x = as_tensor(x)
    axes = check.axes("squeeze", check.axis_or_dim("squeeze", axis, dim), x.ndim, scalar=True)  # () means none
    shape = tuple(n for k, n in enumerate(x.shape) if n != 1 or (axes is not None and k not in axes))
    return Reshape(shape)(x)


@op(GetItem, method="")
def flip(x: Any, axis: int | tuple[int, ...] | None = None, *, dims: int | tuple[int, ...] | None = None) -> Tensor:
    """`x` in reverse order along `axis` (an int or a tuple; torch: `dims`)."""
    x = as_tensor(x)
    given = check.axis_or_dim("flip", axis, dims)
    axes = check.axes("flip", given, x.ndim, scalar=True) if given is not None else (check.axis("flip", None, x.ndim),)
    return flipped(x, *axes) if axes else identity(x)


def flipped(x: Tensor, *axes: int) -> Tensor:
    """`flip` for derivatives, with non-negative axes."""
    return GetItem(tuple(slice(None, None, -1 if k in axes else None) for k in range(x.ndim)))(x)


def _tensors(op: str, xs: Any) -> list[Tensor]:
    """The Tensors to join, on one device."""
    if isinstance(xs, Tensor) or not isinstance(xs, (list, tuple)):
        raise TypeError(f"{op}: got a {type(xs).__name__}\n  expected a list or tuple of Tensors")
    if not xs:
        raise ValueError(f"{op}: got an empty list\n  expected at least one Tensor")
    ts = as_tensors(xs)
    same_device(op, *ts, names=[f"tensor {k}" for k in range(len(ts))])
    dtype = common_dtype(*ts) if len({t.dtype for t in ts}) > 1 else ts[0].dtype
    return [t if t.dtype == dtype else t.astype(dtype) for t in ts]
