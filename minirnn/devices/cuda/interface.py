"""GPU arrays of other libraries, by the protocol ``__cuda_array_interface__``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.sources import C_TYPES


def taken_over(device: Device, other: Any) -> CudaArray:
    """A copy on the device of an array that CuPy, torch, Numba or PyCUDA holds."""
    if device.driver.limits.simulated:
        raise TypeError(
            f"{device}: got a {type(other).__name__} in the memory of a GPU, which the simulator cannot read\n"
            "  expected an array in host memory"
        )
    described = other.__cuda_array_interface__
    dtype = np.dtype(described["typestr"])
    if dtype.name not in C_TYPES:
        raise TypeError(f"{device}: got an array of dtype {dtype}\n  expected one of {', '.join(C_TYPES)}")
    shape, in_bytes = tuple(described["shape"]), described.get("strides")
    strides = c_strides(shape) if in_bytes is None else tuple(s // dtype.itemsize for s in in_bytes)
    if described["data"][0] and (gpu := device.driver.gpu_of(described["data"][0])):
        raise ValueError(
            f"{device}: got a {type(other).__name__} in the memory of GPU {gpu}\n  expected one in that of GPU 0\n"
            "  copy it there, or to the host; CUDA_VISIBLE_DEVICES chooses which GPU is number 0"
        )
    buffer: Any = SimpleNamespace(ptr=described["data"][0], nbytes=0)  # which `other` owns
    borrowed = CudaArray(device, buffer, shape, dtype, strides)
    # It may be unfinished. From version 3 on it names the stream, or None if it is finished.
    if described.get("version", 0) < 3:
        device.driver.wait_for(None)
    elif described.get("stream") is not None:
        device.driver.wait_for(int(described["stream"]))
    taken = device.contiguous(borrowed, always=True)
    device.driver.synchronize()  # before `other` may change again
    return taken
