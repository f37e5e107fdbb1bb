"""Launches of `primitives/scan.cu` and `primitives/sort.cu`: along one axis, row by row."""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.primitives.elementwise import views
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher


def scan(device: Launcher, name: str, axis: int, *operands: CudaArray) -> CudaArray:
    """`name` (cumsum, cumprod, recurrence) along `axis`, of operands of one shape and dtype and any strides."""
    a = operands[0]
    y = device.empty(a.shape, a.dtype)
    if not y.size:
        return y
    others = [d for d in range(a.ndim) if d != axis]
    strides = [c_strides(a.shape), *[x.element_strides for x in operands]]
    rows = views(tuple(a.shape[d] for d in others), *[tuple(along[d] for d in others) for along in strides])
    steps = [np.int64(along[axis]) for along in (*strides[1:], strides[0])]
    run = device.kernel_of("primitives/scan.cu", name, a.dtype)
    run(rows, *operands, y, np.int64(a.shape[axis]), *steps, grid=blocks(int(rows["size"])), block=BLOCK)
    return y


def argsort(device: Launcher, a: CudaArray, descending: bool) -> CudaArray:
    """The indices that sort the rows of `a`, int64, along the last axis of an array in C order."""
    n = a.shape[-1]
    if n < 2 or not a.size:
        return device.full(a.shape, 0, np.int64)
    order, other = device.empty(a.shape, np.int64), device.empty(a.shape, np.int64)
    run = device.kernel_of("primitives/sort.cu", "merge_runs", a.dtype)
    width = 1
    while width < n:
        sizes = np.int64(a.size // n), np.int64(n), np.int64(width), np.int32(descending)
        run(a, order, other, *sizes, grid=blocks(a.size), block=BLOCK)
        order, other = other, order
        width *= 2
    return order
