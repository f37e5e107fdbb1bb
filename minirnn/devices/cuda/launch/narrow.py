"""Arrays as launches expect them: in C order, or for the layers of CudnnRNN float16 widened to float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.primitives.elementwise import copy_all
from minirnn.devices.cuda.launcher import Launcher


def in_order(device: Launcher, *arrays: CudaArray) -> tuple[CudaArray, ...]:
    """Arrays in C order: copies of those that are not."""
    return tuple(device.contiguous(a) for a in arrays)


def widen_nested(device: Launcher, a: Any) -> Any:
    """`a`, an array or nested lists and tuples of arrays, which become lists; float16 ones as float32, in one launch.

    What is no array stays what it is.
    """
    pairs = []

    def wide(a: Any) -> Any:
        if isinstance(a, (list, tuple)):
            return [wide(b) for b in a]
        if not isinstance(a, CudaArray) or a.dtype != np.float16:
            return a
        pairs.append((device.empty(a.shape, np.float32), a))
        return pairs[-1][0]

    found = wide(a)
    copy_all(device, pairs)
    return found
