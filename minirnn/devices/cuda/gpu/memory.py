"""A GPU's memory through PyCUDA. Freed blocks are kept for the next array of their size."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from minirnn.devices.cuda.driver import OutOfDeviceMemory
from minirnn.devices.cuda.free_blocks import FreeBlocks


class Memory:
    """Allocation for one driver.

    Parameters
    ----------
    name : str
        The name of the device, for errors.
    drv : module
        ``pycuda.driver``.
    current : context manager
        Inside it the GPU's context is current; its ``alive`` says whether there still is one.

    Attributes
    ----------
    held_bytes : int
        Bytes of all arrays, and of freed ones kept for reuse.
    """

    def __init__(self, name: str, drv: Any, current: Any) -> None:
        self.name, self.current = name, current
        self.held_bytes = 0
        self.free = FreeBlocks()
        self.lock = threading.RLock()
        self._drv = drv

    def alloc(self, nbytes: int) -> Buffer:
        """Raises `OutOfDeviceMemory`."""
        size = rounded_up(nbytes)
        with self.lock:
            found = self.free.take(size)
            if found is not None:
                return Buffer(self, *found, nbytes, size)
            drv = self._drv
            with self.current:
                try:
                    block = drv.mem_alloc(size)
                except drv.MemoryError:
                    self.free_held()
                    try:
                        block = drv.mem_alloc(size)
                    except drv.MemoryError as error:
                        free = drv.mem_get_info()[0]
                        raise OutOfDeviceMemory(self.name, nbytes, self.held_bytes, free) from error
            self.held_bytes += size
        return Buffer(self, int(block), block, nbytes, size)

    def free_held(self) -> None:
        """Return memory that no array uses to the GPU, for other programs and libraries."""
        with self.lock, self.current:
            self.current.context.synchronize()  # unfinished work may need them
            for size, _, block in self.free.take_all():
                self.held_bytes -= size
                block.free()


class Buffer:
    """Device memory. When nothing refers to this object any longer, it is kept for the next array of its size."""

    __slots__ = ("__weakref__", "_block", "_memory", "_size", "nbytes", "ptr")

    def __init__(self, memory: Memory, ptr: int, block: Any, nbytes: int, size: int) -> None:
        self._block, self._size = block, size
        self.ptr, self.nbytes = ptr, nbytes
        self._memory = memory  # set last, because a Ctrl-C may end this method before it has begun

    def __del__(self) -> None:
        if not hasattr(self, "_memory"):  # its construction was interrupted
            return
        # The GPU may still use this memory, but its next user comes later in the same stream.
        memory = self._memory
        if memory.current.alive:
            with memory.lock:
                memory.free.put(self._size, self.ptr, self._block)


@lru_cache(maxsize=4096)
def rounded_up(nbytes: int) -> int:
    """The size of the block for an array: up to an eighth more, so that arrays of nearly the same size can share it."""
    step = max(256, (1 << max(nbytes - 1, 0).bit_length()) >> 4)
    return max(-(-nbytes // step), 1) * step
