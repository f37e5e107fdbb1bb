"""The number of threads of a launch: one for each element, or for several neighboring units of a row."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from minirnn.devices.cuda.array import CudaArray

THREADS = 256
BLOCK = (THREADS, 1, 1)
PER_THREAD = {"float16": 2, "float32": 4, "float64": 2}
"""The number of neighboring units per thread of a cell, if possible: 16 bytes, and a pair for float16."""


def blocks(size: int) -> tuple[int, int, int]:
    """The grid for one thread per element."""
    return (-(-size // THREADS), 1, 1)


class Threads(TypedDict):
    """The number of threads of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def cells(B: int, H: int) -> Threads:
    """Grid and block for one thread per unit of a row: no division in the kernel, and few idle threads for small H."""
    units = min(THREADS, max(1, 1 << (H - 1).bit_length()))
    rows = THREADS // units
    return {"grid": (-(-B // rows), -(-H // units), 1), "block": (units, rows, 1)}


def units_at_once(H: int, *arrays: CudaArray | None, dtype: np.dtype) -> int:
    """The number of neighboring units that a thread may read at once: that of `PER_THREAD`, or 1.

    Rows and the addresses of arrays must be multiples of it. A view may begin anywhere.
    """
    n = PER_THREAD[dtype.name]
    if H % n or any(a is not None and a.ptr % (n * a.dtype.itemsize) for a in arrays):
        return 1
    return n


def of_units(n: int) -> tuple[str, ...]:
    """The constants of a kernel (`kernels/units.cuh`) whose threads take n units each."""
    return (f"-DPER_THREAD={n}",) if n > 1 else ()
