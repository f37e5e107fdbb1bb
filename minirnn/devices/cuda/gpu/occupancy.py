"""Kernels whose blocks wait for each other: how many fit on a multiprocessor, and a launch that starts them all at
once.

PyCUDA offers neither, and does not expose the handle that both need. So the compiled bytes are loaded a second time,
by ctypes, into the same context.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from minirnn.devices.cuda.gpu.libcuda import call

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
END, BUFFER, BUFFER_SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_...


class Attribute(ctypes.Structure):
    """``CUlaunchAttribute`` with a value that is an int; the value has room for 64 bytes."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class Config(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


@lru_cache(maxsize=1024)
def cooperative(grid: tuple[int, ...], block: tuple[int, ...], shared: int, stream: int) -> Any:
    """A pointer to the configuration of a cooperative launch, which nobody changes."""
    attribute = Attribute(id=COOPERATIVE, value=1)
    config = Config(
        grid=(*grid, 1, 1)[:3], block=(*block, 1, 1)[:3], shared=shared, stream=stream,
        attributes=ctypes.pointer(attribute), count=1,
    )  # fmt: skip
    return ctypes.pointer(config)


class LoadedTwice:
    """A compiled module, loaded again. Use it while the GPU's context is current."""

    def __init__(self, binary: bytes) -> None:
        self._binary = binary
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._allowed: dict[str, int] = {}  # dynamic shared memory that was requested from CUDA
        call("cuModuleLoadData", ctypes.byref(self._module), binary)

    def function(self, kernel: str, shared: int) -> ctypes.c_void_p:
        """The handle of a kernel, after allowing this much dynamic shared memory."""
        found = self._functions.get(kernel)
        if found is None:
            found = ctypes.c_void_p()
            call("cuModuleGetFunction", ctypes.byref(found), self._module, kernel.encode())
            self._functions[kernel] = found
        if shared > self._allowed.get(kernel, 0):
            call("cuFuncSetAttribute", found, ctypes.c_int(MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
            self._allowed[kernel] = shared
        return found

    def blocks_per_multiprocessor(self, kernel: str, threads: int, shared: int) -> int:
        """The number of blocks, with `threads` threads and `shared` bytes of dynamic shared memory each, that fit on
        it.
        """
        blocks = ctypes.c_int()
        call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            self.function(kernel, shared),
            ctypes.c_int(threads),
            ctypes.c_size_t(shared),
        )
        return blocks.value

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], parameters: bytes, shared: int, stream: int
    ) -> None:
        """A cooperative launch: the driver starts all blocks at once, or raises `LaunchError`."""
        config = cooperative(tuple(grid), tuple(block), shared, stream)
        packed, size = ctypes.create_string_buffer(parameters, len(parameters)), ctypes.c_size_t(len(parameters))
        extra = (ctypes.c_void_p * 5)(
            BUFFER, ctypes.addressof(packed), BUFFER_SIZE, ctypes.addressof(size), END
        )  # fmt: skip
        call("cuLaunchKernelEx", config, self.function(kernel, shared), None, extra)
