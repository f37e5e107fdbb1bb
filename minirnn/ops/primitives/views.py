"""torch's functions for the axes of a Tensor: view, permute, movedim, flatten, expand, repeat and others.

Each is a composition of `reshape`, `transpose` and `broadcast_to`, which have the gradients. Nothing is written into a
Tensor here, so it makes no difference whether a result shares its memory with the Tensor it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.declare import op, synonym
from minirnn.ops.primitives.elementwise import identity
from minirnn.ops.primitives.indexing import getitem
from minirnn.ops.primitives.shapes import broadcast_to, expand_dims, reshape, swap_last, transpose

__all__ = ["view", "permute", "swapaxes", "movedim", "matrix_transpose", "t", "unsqueeze", "flatten", "unflatten"]
__all__ += ["expand", "expand_as", "repeat", "tile", "narrow", "roll", "swapdims", "moveaxis"]

Axes = int | Sequence[int]


def listed(given: tuple[Any, ...]) -> Any:
    """The same arguments for ``f(2, 3)`` and ``f((2, 3))``."""
    return given[0] if len(given) == 1 else given


@op(reshape, torch={"size": "*"})
def view(x: Any, *shape: Any) -> Tensor:
    """`x` in another shape; the same as `reshape`.

    Raises TypeError for a dtype. torch would then reinterpret the bytes, which has no gradient and is not supported.
    """
    if len(shape) == 1 and (isinstance(shape[0], (str, type, np.dtype))):
        raise TypeError(
            f"view: got {shown(shape[0])}\n  expected sizes\n"
            "  likely astype(dtype) is meant; t.numpy().view(dtype) reinterprets the bytes"
        )
    return reshape(x, listed(shape))


@op(transpose, torch={"dims": "*"})
def permute(x: Any, *dims: Any) -> Tensor:
    """`x` with its axes in the order `dims`: ``permute(x, 2, 0, 1)`` or ``permute(x, (2, 0, 1))``."""
    return transpose(x, listed(dims) if len(dims) == 1 and not isinstance(dims[0], (int, np.integer)) else dims)


@op(transpose, method="swapaxes swapdims", torch={"dim0": "axis0", "dim1": "axis1"})
def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """`x` with two axes exchanged."""
    return transpose(x, axis0, axis1)


swapdims = synonym(swapaxes, "swapdims")


@op(transpose, method="movedim moveaxis")
def movedim(x: Any, source: Axes, destination: Axes) -> Tensor:
    """`x` with the axes `source` (an int or several) at the places `destination`; the others keep their order."""
    x = as_tensor(x)
    old = check.axes("movedim", source, x.ndim, scalar=True) or ()
    new = check.axes("movedim", destination, x.ndim, scalar=True) or ()
    if len(old) != len(new) or source is None or destination is None:
        raise ValueError(
            f"movedim: source {shown(source)}, destination {shown(destination)}\n  expected as many places as axes"
        )
    order = [k for k in range(x.ndim) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


moveaxis = synonym(movedim, "moveaxis")


@op(transpose, method="")
def matrix_transpose(x: Any) -> Tensor:
    """``x.mT``: `x` with its last two axes exchanged. Raises ValueError if it has fewer."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(
            f"mT: the Tensor has shape {x.shape}\n  expected a matrix, or a batch of them: two axes or more"
        )
    return swap_last(x)


@op(transpose)
def t(x: Any) -> Tensor:
    """The transposed matrix; a vector or a number unchanged. Raises ValueError for more than two axes."""
    x = as_tensor(x)
    if x.ndim > 2:
        raise ValueError(f"t: the Tensor has shape {x.shape}\n  expected at most two axes; use mT or permute")
    return transpose(x)


@op(reshape)
def unsqueeze(x: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """`x` with a new axis of size 1 at place `dim` of the result; the same as `expand_dims`."""
    return expand_dims(x, check.axis_or_dim("unsqueeze", axis, dim))


@op(reshape, method="flatten ravel")
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """`x` with the axes from `start_dim` to `end_dim` (inclusive) merged into one. A number becomes a vector."""
    x = as_tensor(x)
    if x.ndim == 0:
        x = reshape(x, (1,))
    start, end = check.axis("flatten", start_dim, x.ndim), check.axis("flatten", end_dim, x.ndim)
    if end < start:
        raise ValueError(
            f"flatten: start_dim {start_dim} comes after end_dim {end_dim} in shape {x.shape}\n"
            "  expected start_dim <= end_dim"
        )
    return reshape(x, (*x.shape[:start], prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@op(reshape)
def unflatten(x: Any, dim: int, sizes: Sequence[int]) -> Tensor:
    """`x` with the axis `dim` split into axes of the given sizes. One of them may be -1."""
    x = as_tensor(x)
    axis = check.axis("unflatten", dim, x.ndim)
    given = check.sizes("unflatten", sizes)
    n, known = x.shape[axis], -prod(given)
    if given.count(-1) == 1 and known > 0 and n % known == 0:
        given = tuple(n // known if k == -1 else k for k in given)
    if min(given, default=0) < 0 or prod(given) != n or not given:
        raise ValueError(
            f"unflatten: sizes {shown(sizes)} of axis {axis}, shape {x.shape}\n  expected sizes whose product is {n}"
        )
    return reshape(x, (*x.shape[:axis], *given, *x.shape[axis + 1 :]))


@op(broadcast_to, torch={"size": "*"})
def expand(x: Any, *sizes: Any) -> Tensor:
    """`x` repeated to the given sizes along axes of size 1 and along new axes in front. -1 keeps a size."""
    x = as_tensor(x)
    given = check.sizes("expand", listed(sizes))
    extra = len(given) - x.ndim
    shape = tuple(x.shape[k - extra] if n == -1 and k >= extra >= 0 else n for k, n in enumerate(given))
    return broadcast_to(x, shape)


@op(broadcast_to)
def expand_as(x: Any, other: Any) -> Tensor:
    """`x` repeated to the shape of `other`."""
    return broadcast_to(x, as_tensor(other).shape)


@op(reshape, broadcast_to, torch={"repeats": "*"})
def repeat(x: Any, *sizes: Any) -> Tensor:
    """`x` repeated the given number of times along each axis. Extra sizes add new axes in front.

    This is torch's ``Tensor.repeat`` and NumPy's ``tile``, not NumPy's ``repeat``, which repeats element by element.
    """
    x = as_tensor(x)
    times = check.sizes("repeat", listed(sizes))
    if len(times) < x.ndim or min(times, default=0) < 0:
        raise ValueError(
            f"repeat: sizes {shown(times)} of a Tensor of shape {x.shape}\n  expected {x.ndim} or more, none negative"
        )
    shape = (1,) * (len(times) - x.ndim) + x.shape
    apart = tuple(k for n in shape for k in (1, n))  # a new axis of size 1 before each axis, which is then repeated
    wide = tuple(k for m, n in zip(times, shape, strict=True) for k in (m, n))
    return reshape(broadcast_to(reshape(x, apart), wide), tuple(m * n for m, n in zip(times, shape, strict=True)))


@op(reshape, broadcast_to, torch={"dims": "*"})
def tile(x: Any, *sizes: Any) -> Tensor:
    """`repeat`, but sizes of the first axes may be left out, as in NumPy's and torch's ``tile``."""
    x = as_tensor(x)
    times = check.sizes("tile", listed(sizes))
    return repeat(x, (1,) * (x.ndim - len(times)) + times)


@op(getitem)
def narrow(x: Any, dim: int, start: int, length: int) -> Tensor:
    """``x[start : start + length]`` along the axis `dim`."""
    x = as_tensor(x)
    axis = check.axis("narrow", dim, x.ndim)
    n = x.shape[axis]
    first, count = check.integer("narrow", "start", start), check.integer("narrow", "length", length)
    first += n if first < 0 else 0
    if not (first >= 0 and count >= 0 and first + count <= n):
        raise ValueError(
            f"narrow: start {shown(start)}, length {shown(length)} of axis {axis}, shape {x.shape}\n"
            f"  expected a range inside 0 .. {n}"
        )
    return x[(slice(None),) * axis + (slice(first, first + count),)]


@op(getitem)
def roll(x: Any, shifts: Axes, dims: Axes | None = None) -> Tensor:
    """`x` shifted by `shifts` places along `dims`. Elements that leave at the end return at the front.

    Without `dims`, `x` is shifted as if it were flat.
    """
    x = whole = as_tensor(x)
    steps = check.sizes("roll", shifts)
    if dims is None:
        if len(steps) != 1:
            raise ValueError(
                f"roll: shifts {shown(shifts)} without dims\n  expected one shift, or as many dims as shifts"
            )
        return reshape(roll(reshape(x, (x.size,)), steps[0], 0), x.shape)
    axes = [check.axis("roll", k, x.ndim) for k in (dims if isinstance(dims, (tuple, list)) else (dims,))]
    if len(axes) != len(steps):
        raise ValueError(f"roll: shifts {shown(shifts)}, dims {shown(dims)}\n  expected as many shifts as dims")
    index: list[Any] = [slice(None)] * x.ndim
    for axis, step in zip(axes, steps, strict=True):
        n = x.shape[axis]
        if n and step % n:
            index[axis] = np.roll(np.arange(n), step)
            x = x[tuple(index)]
            index[axis] = slice(None)
    return x if x is not whole else identity(x)
