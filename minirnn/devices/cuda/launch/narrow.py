"""Float16 computed in float32, and arrays in C order: what the kernels of the block ops expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minirnn.devices.cuda.array import CudaArray

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives


def in_order(device: Primitives, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays in C order: copies of those that are not."""
    return tuple(device.contiguous(a) for a in arrays)


def widen(device: Primitives, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays in C order, float16 ones as float32."""
    return tuple(device.cast(a, np.float32) if a.dtype == np.float16 else device.contiguous(a) for a in arrays)


def narrow(device: Primitives, dtype: np.dtype, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays rounded to `dtype`; what is too large becomes infinite."""
    return tuple(device.cast(a, dtype) for a in arrays)
