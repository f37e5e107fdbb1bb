"""How many blocks of a kernel a multiprocessor holds, asked of the CUDA driver itself.

PyCUDA neither offers this question nor gives out the handle that it takes. So the compiled bytes are loaded a second
time, by ctypes, into the same context; only kernels that synchronise across blocks need to know, and only once.
"""

from __future__ import annotations

import ctypes

from minirnn.devices.cuda.gpu.libcuda import call

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class LoadedTwice:
    """A compiled module that only answers questions. Use it while the GPU's context is current."""

    def __init__(self, binary: bytes) -> None:
        self._binary = binary
        self._module = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self._module), binary)

    def blocks_per_multiprocessor(self, kernel: str, threads: int, shared: int) -> int:
        """How many blocks of `threads` threads with `shared` bytes of dynamic shared memory each it holds."""
        function, blocks = ctypes.c_void_p(), ctypes.c_int()
        call("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())
        call("cuFuncSetAttribute", function, ctypes.c_int(MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
        call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            function,
            ctypes.c_int(threads),
            ctypes.c_size_t(shared),
        )
        return blocks.value
