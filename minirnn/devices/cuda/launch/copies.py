"""Copying, casting and filling arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.primitives.elementwise import views
from minirnn.devices.cuda.launch.sources import C_TYPES, accumulator
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher

MOST = 24
CASTS = np.dtype([("count", "i8"), ("end", "i8", MOST), ("x", "u8", MOST), ("y", "u8", MOST)])
"""`struct Casts` of kernels/primitives/cast.cu."""


def copy(device: Launcher, to: CudaArray, a: CudaArray) -> None:
    """``to[...] = a`` for arrays of one shape; rounds to the dtype of `to`."""
    size = to.size
    if not size:
        return
    if to.dtype == a.dtype and to.contiguous and a.contiguous:
        device.driver.d2d(to.ptr, a.ptr, to.nbytes)
        return
    run = device.kernel_of("primitives/cast.cu", f"cast_{C_TYPES[a.dtype.name]}", to.dtype)
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
            run = device.kernel_of("primitives/cast.cu", f"cast_all_{C_TYPES[source.name]}", dtype)
            run(casts, grid=blocks(int(casts["end"][len(some) - 1])), block=BLOCK)


def fill(device: Launcher, to: CudaArray, value: Any) -> None:
    """``to[...] = value`` for an array in C order."""
    if not to.size:
        return
    number = value if type(value) is int else accumulator(to.dtype).type(value)
    if number == 0 and (number is value or not np.signbit(number)):
        device.driver.memset(to.ptr, 0, to.nbytes)
        return
    number = accumulator(to.dtype).type(value)
    run = device.kernel_of("primitives/arithmetic.cu", "fill", to.dtype)
    run(to, number, np.int64(to.size), grid=blocks(to.size), block=BLOCK)
