"""Device memory: buffers that free themselves, and a pool, because most arrays have the same size as an earlier one."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from minirnn.devices.cuda.driver import LaunchError, OutOfDeviceMemory
from minirnn.devices.cuda.free_blocks import FreeBlocks
from minirnn.devices.cuda.sim import library

# even the smallest block has its own pages, and their number per process is limited
POOL_BYTES, POOL_BLOCKS = 64 << 20, 8192


class SimBuffer:
    """A range of simulated device memory."""

    __slots__ = ("__weakref__", "memory", "nbytes", "ptr")

    def __init__(self, memory: Memory, ptr: int, nbytes: int) -> None:
        self.ptr, self.nbytes = ptr, nbytes
        self.memory = memory  # set last, because a Ctrl-C may end this method before it has begun

    @property
    def number(self) -> int:
        """The number of the allocation in reports and traces."""
        return int(self.memory.library.cusim_allocation(self.ptr))

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At exit modules are torn down, and the memory is freed anyway.
        if hasattr(self, "memory") and not finalizing():
            self.memory.give_back(self.ptr, self.nbytes)

    def __repr__(self) -> str:
        return f"<SimBuffer {self.nbytes} bytes at {self.ptr:#x}>"


class Memory:
    """Allocation for one driver.

    Buffers of the same size are reused, including their guard zones, unless `check` is set: then freed memory stays
    out of bounds, and its use is reported.
    """

    def __init__(self, library: Any, limit: int, check: bool) -> None:
        self.library, self.limit, self.check = library, limit, check
        # Addresses, not buffers: the garbage collector finalizes all objects of a cycle, pooled or not.
        self.free = FreeBlocks()
        self.variables: dict[int, int] = {}  # address and bytes of the variables of modules
        self.dead: list[tuple[int, int]] = []  # address and bytes of buffers that are gone, until the next call

    def alloc(self, nbytes: int) -> SimBuffer:
        if nbytes < 0:
            raise ValueError(f"cuda-sim: alloc of {nbytes} bytes\n  expected 0 or more")
        with library.lock:
            self.collect()
            if found := self.free.take(nbytes):
                return SimBuffer(self, found[0], nbytes)
            if self.held() + nbytes > self.limit:
                self.empty_pool()
            held = self.held()
            ptr = self.library.cusim_alloc(nbytes) if held + nbytes <= self.limit else None
            if not ptr:
                raise OutOfDeviceMemory("cuda-sim", nbytes, held, max(0, self.limit - held))
            return SimBuffer(self, ptr, nbytes)

    def give_back(self, ptr: int, nbytes: int) -> None:
        """Take memory back. A buffer calls this when it is freed, at any time.

        The thread may be the only one of a forked child, so it takes no lock.
        """
        self.dead.append((ptr, nbytes))

    def complaint(self, ptr: int, nbytes: int) -> str:
        """What is wrong with an access to ``nbytes`` from the address `ptr` on; "" if one array holds them."""
        begin, size = ctypes.c_void_p(), ctypes.c_size_t()
        if nbytes == 0:
            return ""
        if nbytes < 0:
            return "is not possible\n  expected 0 or more"
        found = self.library.cusim_range(ptr, ctypes.byref(begin), ctypes.byref(size))
        if found < 0:  # while a launch runs in another thread, nobody can ask
            return ""
        if found:
            first, held, what = (
                begin.value or 0,
                size.value,
                f"device allocation #{self.library.cusim_allocation(begin)}",
            )
        else:
            first = max((start for start in self.variables if start <= ptr), default=-1)
            held, what = self.variables.get(first, 0), "a variable of a module"
            if first < 0 or ptr >= first + held:
                return f"at {ptr:#x}, which is not device memory\n  expected an address that alloc() returned"
        if first <= ptr and ptr + nbytes <= first + held:
            return ""
        where = "past the end of" if ptr >= first else "before"
        return f"at byte {ptr - first} goes {where} {what} of {held} bytes\n  expected bytes that it has"

    def held(self) -> int:
        return int(self.library.cusim_live_bytes())

    def collect(self, keep: bool = True) -> None:
        """Keep the returned memory for reuse, or free it. Raises `LaunchError` if a kernel wrote just outside of freed
        memory. The caller holds the lock.
        """
        while self.dead:
            ptr, nbytes = self.dead.pop()
            full = self.free.nbytes + nbytes > POOL_BYTES or self.free.count >= POOL_BLOCKS
            if keep and not self.check and not full:
                self.free.put(nbytes, ptr)
            elif self.library.cusim_free(ptr) == 3:
                raise LaunchError("cuda-sim: a kernel wrote just outside an array that has since been freed")

    def empty_pool(self) -> None:
        self.dead += [(ptr, nbytes) for nbytes, ptr, _ in self.free.take_all()]
        self.collect(keep=False)
