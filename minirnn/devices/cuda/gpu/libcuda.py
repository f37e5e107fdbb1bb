"""The few functions of the CUDA driver that PyCUDA does not wrap, called with ctypes."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from minirnn.devices.cuda.driver import LaunchError, RefusedLaunch

REFUSED = {720, 801}
"""CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_NOT_SUPPORTED: a cooperative launch on a part of a GPU, as under
MPS or in a green context.
"""


@cache
def library() -> ctypes.CDLL:
    """The library that comes with NVIDIA's driver."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def call(name: str, *args: object) -> None:
    """Raises `LaunchError` with the driver's message if the call fails."""
    status = getattr(library(), name)(*args)
    if status != 0:
        text = ctypes.c_char_p()
        library().cuGetErrorString(ctypes.c_int(status), ctypes.byref(text))
        kind = RefusedLaunch if status in REFUSED else LaunchError
        raise kind(f"{name} failed: {(text.value or b'unknown').decode()} (error {status})")
