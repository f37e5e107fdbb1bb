"""How many blocks of a kernel a multiprocessor holds, asked of the CUDA driver itself.

PyCUDA neither offers this question nor gives out the handle that it takes. So the compiled bytes are loaded a second
time, by ctypes, into the same context; only kernels that synchronise across blocks need to know, and only once.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from minirnn.devices.cuda.driver import LaunchError

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@cache
def libcuda() -> ctypes.CDLL:
    """The driver's library."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


class LoadedTwice:
    """A compiled module, for questions alone. Use it while the GPU's context is current."""

    def __init__(self, binary: bytes) -> None:
        self._binary = binary
        self._module = ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(self._module), binary)

    def blocks_per_multiprocessor(self, kernel: str, threads: int, shared: int) -> int:
        """Blocks of `threads` threads with `shared` bytes of dynamic shared memory each."""
        function, blocks = ctypes.c_void_p(), ctypes.c_int()
        _call("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())
        _call("cuFuncSetAttribute", function, ctypes.c_int(MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
        _call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            function,
            ctypes.c_int(threads),
            ctypes.c_size_t(shared),
        )
        return blocks.value


def _call(name: str, *args: object) -> None:
    """Raises `LaunchError` with the driver's own words if the call fails."""
    status = getattr(libcuda(), name)(*args)
    if status != 0:
        text = ctypes.c_char_p()
        libcuda().cuGetErrorString(ctypes.c_int(status), ctypes.byref(text))
        raise LaunchError(f"{name} failed: {(text.value or b'unknown').decode()} (error {status})")
