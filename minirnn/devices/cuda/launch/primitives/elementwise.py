"""Launches of `arithmetic.cu`, `functions.cu` and `cast.cu`: one thread computes one element of the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypedDict

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.sources import PER_THREAD, accumulator
from minirnn.devices.cuda.launcher import Launcher

THREADS = 256
MAX_AXES = 8
VIEWS = np.dtype([("size", "i8"), ("axes", "i8"), ("shape", "i8", MAX_AXES), ("stride", "i8", (4, MAX_AXES))])
"""`struct Views` of kernels/views.cuh."""
MOST = 24
CASTS = np.dtype([("count", "i8"), ("end", "i8", MOST), ("x", "u8", MOST), ("y", "u8", MOST)])
"""`struct Casts` of kernels/primitives/cast.cu."""

Axes = tuple[int, ...]


def blocks(size: int) -> tuple[int, int, int]:
    """The grid for one thread an element."""
    return (-(-size // THREADS), 1, 1)


BLOCK = (THREADS, 1, 1)


class Threads(TypedDict):
    """How many threads a launch has."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def cells(B: int, H: int) -> Threads:
    """Grid and block for one thread a unit of a row: no division in the kernel, and few idle threads if H is small."""
    units = min(THREADS, max(1, 1 << (H - 1).bit_length()))
    rows = THREADS // units
    return {"grid": (-(-B // rows), -(-H // units), 1), "block": (units, rows, 1)}


def units_at_once(H: int, *arrays: CudaArray | None, dtype: np.dtype) -> int:
    """How many neighboring units a thread may read at once: those of `PER_THREAD`, or 1.

    Rows must be whole multiples of it, and each array must begin at an address that is one: a view may begin anywhere.
    """
    n = PER_THREAD[dtype.name]
    if H % n or any(a is not None and a.ptr % (n * a.dtype.itemsize) for a in arrays):
        return 1
    return n


def of_units(n: int) -> tuple[str, ...]:
    """The constants of a kernel (`kernels/units.cuh`) whose threads take n units each."""
    return (f"-DPER_THREAD={n}",) if n > 1 else ()


@lru_cache(maxsize=4096)
def views(shape: Axes, *strides: Axes) -> np.void:
    """`struct Views` of arrays seen in one shape, by the strides of each (the result's first).

    Axes of length 1 go; neighboring axes that lie behind each other in every array become one.
    """
    merged: list[tuple[int, list[int]]] = []  # (length, stride in each array), the last axis last
    for n, *along in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if merged and all(before == stride * n for before, stride in zip(merged[-1][1], along, strict=True)):
            merged[-1] = merged[-1][0] * n, along
        else:
            merged.append((n, along))
    if len(merged) > MAX_AXES:
        raise ValueError(
            f"cuda: an array of shape {shape} has too many axes that do not lie behind each other in memory\n"
            f"  expected at most {MAX_AXES}, got {len(merged)}\n  copy it after transposing it, or reshape it"
        )
    found: np.void = np.zeros(1, VIEWS)[0]
    found["size"], found["axes"] = prod(shape), max(1, len(merged))
    found["shape"][:] = 1
    for d, (n, along) in enumerate(merged):
        found["shape"][d] = n
        for a, stride in enumerate(along):
            found["stride"][a, d] = stride
    return found


@lru_cache(maxsize=4096)
def broadcast(*operands: tuple[Axes, Axes]) -> tuple[Axes, np.void]:
    """The common shape of operands (shape, strides) by NumPy's rules; the result in C order and they as `views`."""
    shape = np.broadcast_shapes(*[shape for shape, _ in operands])
    return shape, views(shape, c_strides(shape), *[broadcast_strides(*operand, shape) for operand in operands])


def broadcast_strides(shape: Axes, strides: Axes, to: Axes) -> Axes:
    """The strides of an array seen in a larger shape: 0 along the axes on which it repeats."""
    new = len(to) - len(shape)
    return (0,) * new + tuple(0 if n == 1 else stride for n, stride in zip(shape, strides, strict=True))


def elementwise(
    device: Launcher,
    file: str,
    kernel: str,
    operands: Sequence[CudaArray],
    of: np.dtype,
    result: np.dtype,
    *numbers: Any,
) -> CudaArray:
    """``y = kernel(*operands, *numbers)``, element by element; `of` chooses which compiled variant."""
    shape, where = broadcast(*[(a.shape, a.element_strides) for a in operands])
    y = device.empty(shape, result)
    size = int(where["size"])
    if size:
        device.kernel_of(file, kernel, of)(where, *operands, y, *numbers, grid=blocks(size), block=BLOCK)
    return y


def copy(device: Launcher, to: CudaArray, a: CudaArray) -> None:
    """``to[...] = a`` for arrays of one shape; rounds to the dtype of `to`."""
    size = to.size
    if not size:
        return
    if to.dtype == a.dtype and to.contiguous and a.contiguous:
        device.driver.d2d(to.ptr, a.ptr, to.nbytes)
        return
    run = device.kernel_of("primitives/cast.cu", "cast", to.dtype, a.dtype)
    run(views(to.shape, to.element_strides, a.element_strides), a, to, grid=blocks(size), block=BLOCK)


def copy_all(device: Launcher, pairs: Iterable[tuple[CudaArray, CudaArray]]) -> None:
    """``to[...] = a`` for each pair (to, a) of one shape; casts of arrays in C order are one launch for all of them."""
    together: dict[tuple[np.dtype, np.dtype], list[tuple[CudaArray, CudaArray]]] = {}
    for to, a in pairs:
        if to.size and to.dtype != a.dtype and to.contiguous and a.contiguous:
            together.setdefault((to.dtype, a.dtype), []).append((to, a))
        else:
            copy(device, to, a)
    for (dtype, source), alike in together.items():
        for first in range(0, len(alike), MOST):
            some = alike[first : first + MOST]
            casts: np.void = np.zeros(1, CASTS)[0]
            casts["count"], casts["end"][: len(some)] = len(some), np.cumsum([a.size for _, a in some])
            casts["x"][: len(some)], casts["y"][: len(some)] = [a.ptr for _, a in some], [to.ptr for to, _ in some]
            run = device.kernel_of("primitives/cast.cu", "cast_all", dtype, source)
            run(casts, grid=blocks(int(casts["end"][len(some) - 1])), block=BLOCK)


def fill(device: Launcher, to: CudaArray, value: Any) -> None:
    """``to[...] = value`` for an array in C order."""
    if not to.size:
        return
    number = accumulator(to.dtype).type(value)
    if number == 0 and not np.signbit(number):
        device.driver.memset(to.ptr, 0, to.nbytes)
        return
    run = device.kernel_of("primitives/arithmetic.cu", "fill", to.dtype)
    run(to, number, np.int64(to.size), grid=blocks(to.size), block=BLOCK)
