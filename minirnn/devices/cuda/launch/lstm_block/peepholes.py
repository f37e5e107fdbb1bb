"""The gradients of the LSTM's peepholes on a CUDA device: sums over all rows of all steps, in two launches.

The kernels: `kernels/lstm_block/peepholes.cu`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.sources import accumulator
from minirnn.devices.cuda.launch.threads import BLOCK, blocks, of_units, units_at_once
from minirnn.devices.cuda.launcher import Launcher

FILE = "lstm_block/peepholes.cu"
LANES, GROUPS = 32, 8
"""The threads of a block: lanes have units, and groups take rows in turn."""
SHORTEST, MOST = 256, 256
"""The fewest rows per part, and the most parts, so that a thread adds about as many numbers in each stage."""


def peephole_grads(
    device: Launcher, use_peephole: bool, dicfo: CudaArray, cs_prev: CudaArray, cs: CudaArray, rows: int
) -> tuple[CudaArray, ...]:
    """wci_grad, wcf_grad, wco_grad (H,) from dicfo and cs of all `rows` = T*B rows; cs_prev (B, H) is before them."""
    B, H = cs_prev.shape
    dtype = dicfo.dtype
    if not use_peephole or not rows:
        return tuple(device.full((H,), 0, dtype) for _ in range(3))
    grads = tuple(device.empty((H,), dtype) for _ in range(3))
    if not H:
        return grads
    length = max(SHORTEST, -(-rows // MOST))
    parts = -(-rows // length)
    sums = device.empty((parts, 3, H), accumulator(dtype)) if parts > 1 else None
    n = units_at_once(H, dicfo, cs_prev, cs, sums, *grads, dtype=dtype)
    first = device.kernel_of(FILE, "lstm_peephole_parts", dtype, constants=of_units(n))
    grid = parts, -(-H // (LANES * n))
    first(
        np.int64(rows), np.int64(length), np.int32(B), np.int32(H), dicfo, cs_prev, cs, sums, *grads,
        grid=grid, block=(LANES, GROUPS, 1),
    )  # fmt: skip
    if sums is not None:
        second = device.kernel_of(FILE, "lstm_peephole_grad", dtype)
        second(np.int32(parts), np.int32(H), sums, *grads, grid=(*blocks(H)[:1], 3), block=BLOCK)
    return grads
