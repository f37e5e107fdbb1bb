"""Launches of `arithmetic.cu`, `compare.cu` and `functions.cu`: one thread computes one element of the result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher

MAX_AXES = 8
VIEWS = np.dtype([("size", "i8"), ("axes", "i8"), ("shape", "i8", MAX_AXES), ("stride", "i8", (4, MAX_AXES))])
"""`struct Views` of kernels/views.cuh."""

Axes = tuple[int, ...]


@lru_cache(maxsize=4096)
def views(shape: Axes, *strides: Axes) -> np.void:
    """`struct Views` of arrays viewed in one shape, from the strides of each (the result's first).

    Axes of length 1 are dropped; neighboring axes that are contiguous in every array are merged.
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
            f"cuda: an array of shape {shape} has too many axes that are not contiguous in memory\n"
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
    """The common shape of operands (shape, strides) by NumPy's rules, and the `views` of the result in C order and
    of them.
    """
    shape = np.broadcast_shapes(*[shape for shape, _ in operands])
    return shape, views(shape, c_strides(shape), *[broadcast_strides(*operand, shape) for operand in operands])


def broadcast_strides(shape: Axes, strides: Axes, to: Axes) -> Axes:
    """The strides of an array viewed in a larger shape: 0 along the axes on which it repeats."""
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
    """``y = kernel(*operands, *numbers)``, element by element; `of` selects the compiled variant."""
    shape, where = broadcast(*[(a.shape, a.element_strides) for a in operands])
    y = device.empty(shape, result)
    size = int(where["size"])
    if size:
        device.kernel_of(file, kernel, of)(where, *operands, y, *numbers, grid=blocks(size), block=BLOCK)
    return y
