"""Arrays as the fused kernels expect them: in C order, and float16 widened to float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray

if TYPE_CHECKING:
    from minirnn.devices.cuda.device import Cuda


def in_order(device: Cuda, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays in C order: copies of those that are not."""
    return tuple(device.contiguous(a) for a in arrays)


def widen(device: Cuda, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays in C order, float16 ones as float32."""
    return tuple(device.cast(a, np.float32) if a.dtype == np.float16 else device.contiguous(a) for a in arrays)


def widen_nested(device: Cuda, a: Any) -> Any:
    """`a` in float32, or the arrays in nested lists and tuples, which become lists; None stays None."""
    if isinstance(a, (list, tuple)):
        return [widen_nested(device, b) for b in a]
    return None if a is None else device.cast(a, np.float32)


def narrow(device: Cuda, dtype: np.dtype, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays rounded to `dtype`; what is too large becomes infinite."""
    return tuple(device.cast(a, dtype) for a in arrays)
