"""Big arrays without page faults: memory that is recycled only when no array uses it any longer.

``np.empty`` of more than about 100 KB comes from the operating system as untouched pages, and the first write to each
page costs about as much as computing the values. Training requests the same sizes again and again, so a block is kept
when its last array is freed, and reused for the next request of about the same size.

Safe by construction: an array from `empty` has an owner object as its ``base``; every view, memoryview or foreign
tensor made from the array keeps that owner alive, and the block is returned only when the owner is freed. No code
has to release it explicitly, and an output that a user keeps is never overwritten.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ALIGNMENT = 64  # bytes: a cache line and an AVX-512 register
MIN_BLOCK = 1 << 17  # bytes: below, malloc keeps freed memory itself
MAX_IDLE = 1 << 30  # bytes kept for reuse; blocks in use do not count


class Owner:
    """The ``base`` of one array: lends a block to NumPy and gives it back to the pool at its end."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, pool: Pool, block: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.pool = pool
        self.block = block
        address = -(-block.ctypes.data // ALIGNMENT) * ALIGNMENT
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False)}

    def __del__(self) -> None:
        if hasattr(self, "block"):  # a Ctrl-C may end `__init__` before it has begun
            self.pool.give_back(self.block)


class Pool:
    """Idle blocks, by size; beyond `max_idle` bytes in total the least recently used sizes are freed.

    No code waits for a busy lock: its holder may be this thread, interrupted by the garbage collector, or a
    thread that a fork left behind. In that case one block is freed or allocated unnecessarily.
    """

    def __init__(self, min_block: int = MIN_BLOCK, max_idle: int = MAX_IDLE) -> None:
        self.min_block = min_block
        self.max_idle = max_idle
        # maps a size in bytes to blocks; the most recently used size comes last
        self.idle: dict[int, list[np.ndarray]] = {}
        self.idle_bytes = 0
        self.lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return an array of arbitrary contents, like ``np.empty(shape, dtype)``.

        Parameters
        ----------
        shape : tuple of int
        dtype : any dtype without Python objects or fields

        Returns
        -------
        ndarray
            C-contiguous and writable. Its memory is reused once neither the array nor any view of it is alive.
        """
        dtype = np.dtype(dtype)
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < self.min_block or dtype.hasobject or dtype.fields:
            return np.empty(shape, dtype)
        return np.asarray(Owner(self, self.take(block_size(nbytes)), shape, dtype))

    def take(self, size: int) -> np.ndarray:
        """Return an idle block of `size` bytes, or a new one."""
        if self.lock.acquire(blocking=False):
            try:
                if blocks := self.idle.get(size):
                    self.idle_bytes -= size
                    return blocks.pop()
            finally:
                self.lock.release()
        return np.empty(size, np.uint8)

    def give_back(self, block: np.ndarray) -> None:
        """Keep a block for reuse, within the bound."""
        if self.lock.acquire(blocking=False):
            try:
                blocks = self.idle.pop(block.nbytes, [])
                blocks.append(block)
                self.idle[block.nbytes] = blocks
                self.idle_bytes += block.nbytes
                while self.idle_bytes > self.max_idle:
                    size, blocks = next(iter(self.idle.items()))
                    if blocks:
                        blocks.pop()
                        self.idle_bytes -= size
                    else:
                        del self.idle[size]
            finally:
                self.lock.release()

    def clear(self) -> None:
        """Free all idle blocks. Arrays in use are not touched; their blocks come back later."""
        with self.lock:
            self.idle.clear()
            self.idle_bytes = 0


def block_size(nbytes: int) -> int:
    """Return `nbytes` plus room for alignment, rounded up so that similar requests share blocks: at most 1/8 is wasted.

    >>> block_size(1_000_000), block_size(1_040_000)
    (1048576, 1048576)
    """
    nbytes += ALIGNMENT
    step = 1 << max(0, nbytes.bit_length() - 4)
    return -(-nbytes // step) * step


POOL = Pool()
"""The process-wide pool."""

empty, clear = POOL.empty, POOL.clear
