"""The number of threads of a launch: one for each element, or for several neighboring units of a row.

A thread with several units has wider loads and fewer instructions per unit. For sm_90 and float32, nvcc 13.0 generates
these numbers of instructions and of loads + stores per unit::

    kernel                       one unit per thread     four units per thread
    cell_step of lstm            224, 14 + 10            126, 3.5 + 2.5
    cell_step_grad of lstm       184, 11 + 7             80, 2.75 + 1.75
    cell_step of gru             200, 14 + 8             96, 3.5 + 2
    cell_step_grad of gru        144, 8 + 6              54, 2 + 1.5
    cell_step, with zoneout      240, 17 + 9             138, 4.25 + 2.25
    cell_step, with peepholes    248, 17 + 11            138, 4.25 + 2.75
    projected_step               72, 4 + 2               22, 1 + 0.5
"""

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
