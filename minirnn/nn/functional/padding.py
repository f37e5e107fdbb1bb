"""pad: adds a constant or an array's own elements around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives import concat

MODES = ("constant", "reflect", "replicate", "circular")


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """`input` with more elements around it (or, for negative numbers, fewer): ``torch.nn.functional.pad``.

    Raises TypeError if `pad` does not hold integers or `value` is not a number, and ValueError if `pad` has an odd
    length or more pairs than there are axes, if it removes more elements than there are, if the array is too short for
    "reflect" or "circular", or if a `value` is given with another mode.

    Parameters
    ----------
    input : array_like of any dtype
    pad : tuple of int
        Pairs (before, after), beginning with the last axis. ``(1, 2)`` adds one element before and two after along the
        last axis, and ``(1, 2, 3, 4)`` also three before and four after along the axis before it.
    mode : {"constant", "reflect", "replicate", "circular"}
        The new elements: "constant" adds `value`, "reflect" mirrors the array at the last element, "replicate" repeats
        the last element, and "circular" continues at the other end.
    value : float, optional
        For "constant" only, 0 by default.
    """
    check.choice("pad", "mode", mode, MODES)
    x = input if isinstance(input, Tensor) else as_tensor(input)
    pairs = _pairs(pad, x)
    if mode == "constant":
        number = 0.0 if value is None else check.number("pad", "value", value, finite=False, nan=True)
    elif value is not None:
        raise ValueError(f"pad: value is {shown(value)} and mode {mode!r}\n  expected a value for 'constant' only")
    for axis, (before, after) in pairs.items():
        size = x.shape[axis]
        n = size + min(before, 0) + min(after, 0)  # the size after negative padding
        limit = {"constant": None, "reflect": size - 1, "replicate": None if size else 0, "circular": n}[mode]
        if mode in ("reflect", "replicate"):  # removed elements may be those that come back from the other side
            n += max(before, 0) + max(after, 0)
        if n < 0:
            raise ValueError(
                f"pad: {(before, after)} along axis {axis} of shape {x.shape}\n  expected no more than all elements"
            )
        if limit is not None and max(before, after) > limit:
            raise ValueError(
                f"pad: {(before, after)} along axis {axis} of shape {x.shape}, mode {mode!r}\n"
                f"  expected at most {limit} on each side"
            )
    for axis, (before, after) in pairs.items():
        if mode in ("constant", "circular"):
            x = _cut(x, axis, min(before, 0), min(after, 0))
            before, after = max(before, 0), max(after, 0)
        if before or after:
            if mode == "constant":
                x = _with_constant(x, axis, before, after, number)
            else:
                x = x[(slice(None),) * axis + (_places(x.shape[axis], before, after, mode),)]
    return x


def _pairs(pad: Any, x: Tensor) -> dict[int, tuple[int, int]]:
    sizes = tuple(pad) if isinstance(pad, (tuple, list, np.ndarray)) else (None,)
    if not all(map(check.is_integer, sizes)):
        raise TypeError(f"pad: pad is {shown(pad)}\n  expected a tuple of integers")
    if len(sizes) % 2 or len(sizes) > 2 * x.ndim:
        raise ValueError(
            f"pad: pad has {len(sizes)} numbers, and input has shape {x.shape}\n"
            f"  expected a pair for each axis from the last on, at most {2 * x.ndim} numbers"
        )
    return {x.ndim - 1 - k: (int(sizes[2 * k]), int(sizes[2 * k + 1])) for k in range(len(sizes) // 2)}


def _cut(x: Tensor, axis: int, before: int, after: int) -> Tensor:
    return x[(slice(None),) * axis + (slice(-before, x.shape[axis] + after),)] if before or after else x


def _with_constant(x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    blocks = [
        as_tensor(np.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value).astype(x.dtype), device=x.device)
        for n in (before, after)
    ]
    return concat([blocks[0], x, blocks[1]], axis)


def _places(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """The index in the input of each element of the result."""
    k = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(k, 0, n - 1)
    if mode == "circular":
        return k % n if n else k
    k = np.abs(k)
    return np.where(k >= n, 2 * (n - 1) - k, k)
