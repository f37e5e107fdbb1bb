"""``MINIRNN_DEBUG=1``: an error is raised at the launch that caused it, and the simulator names the line.

A GPU reports a bad access long after the launch, without thread or line, and the process can no longer use it. So each
launch is waited for here, after the memory that it can reach is copied to the host. If it fails, the same launch
(source, options, sizes, arguments, contents of memory) runs once more in the simulator, in check mode. That is slow:
every launch copies all its arrays.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.cuda.arguments import addresses, moved
from minirnn.devices.cuda.driver import Buffer, Driver, Kernel, LaunchError, Limits, Matrix, Module

LARGEST_SHARED = 227 << 10
"""Bytes of shared memory per block on the largest GPUs, and in the simulator."""


def checking_simulator(limits: Limits) -> Driver:
    """A simulated device with these limits that checks every access. `DeviceUnavailable` without a C++ compiler."""
    from minirnn.devices.cuda.sim.driver import SimDriver
    from minirnn.devices.cuda.sim.options import SimOptions

    shared = min(limits.shared_bytes_per_block, LARGEST_SHARED)
    # The simulator must hold everything that the GPU held, so only the host's memory limits it.
    return SimDriver(SimOptions(check=True, shared_limit=shared, memory_mb=1 << 18))


class DebugDriver:
    """A driver that waits for another driver after each launch.

    Parameters
    ----------
    driver : Driver
        The one that does the work.
    simulator : callable
        Makes the driver in which a failed launch runs again, from the limits of the first.
    """

    def __init__(self, driver: Driver, simulator: Callable[[Limits], Driver] = checking_simulator) -> None:
        self.driver = driver
        self.name: str = driver.name
        self.seconds = None  # with a wait after each launch, times mean nothing
        self.prepares = False  # each launch must be seen with its arguments
        self.limits: Limits = driver.limits
        self.memory = _Memory()
        self.h2d, self.d2h, self.d2d, self.memset = driver.h2d, driver.d2h, driver.d2d, driver.memset
        self.synchronize = driver.synchronize
        self._simulator = simulator

    @property
    def launches(self) -> int:
        return self.driver.launches

    @launches.setter
    def launches(self, count: int) -> None:
        self.driver.launches = count

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)  # attributes that only this driver has: stream_handle

    def alloc(self, nbytes: int) -> Buffer:
        return _Tracked(self.driver.alloc(nbytes), self.memory)

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> _DebugModule:
        return _DebugModule(self, self.driver.module(source, name, options), Source(source, name, tuple(options)))

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        try:
            self.driver.gemm(a, b, c, beta, batch)
            self.driver.synchronize()
        except LaunchError as error:
            what = f"product of ({a.rows}, {a.cols}) and ({b.rows}, {b.cols}), {a.dtype}, {batch} times"
            raise LaunchError(f"{what}: {error}\n  this is a library kernel, which the simulator cannot run") from error

    def copies_for(self, args: Sequence[Any]) -> dict[int, np.ndarray]:
        """Maps an address to the contents, for all memory that one of these arguments points to."""
        copies: dict[int, np.ndarray] = {}
        for ptr in [ptr for arg in args for ptr in addresses(arg)]:
            found = self.memory.around(ptr)
            if found is not None and found[0] not in copies:
                start, nbytes = found
                copies[start] = np.empty(nbytes, np.uint8)
                self.driver.d2h(copies[start], start)
        return copies

    def run_again(self, launch: Launch, copies: dict[int, np.ndarray]) -> str:
        """The simulator's report on the same launch, with the same contents of memory."""
        try:
            simulator = self._simulator(self.limits)
            kernel = simulator.module(*launch.source).function(launch.kernel)
            buffers = {start: simulator.alloc(copy.nbytes) for start, copy in copies.items()}
            for start, copy in copies.items():
                simulator.h2d(buffers[start].ptr, copy)
            args = [self._moved(arg, buffers) for arg in launch.args]
        except Exception as error:  # no compiler, no memory, ...: the GPU's error is more important than this one
            return f"the simulator cannot run this launch: {type(error).__name__}: {error}"
        try:
            kernel(*args, grid=launch.grid, block=launch.block, shared=launch.shared)
            simulator.synchronize()
        except LaunchError as error:
            return f"the same launch in the simulator: {error}"
        except Exception as error:
            return f"the simulator cannot run this launch: {type(error).__name__}: {error}"
        return (
            "the same launch runs without a fault in the simulator: the cause may differ between runs and machines\n"
            "  (the order of threads, uninitialized memory), or be a size that only the GPU refuses"
        )

    def _moved(self, arg: Any, buffers: dict[int, Buffer]) -> Any:
        """The argument for the simulator: a pointer to the same place in the copy; an invalid one stays invalid."""

        def to(ptr: int) -> int:
            found = self.memory.around(ptr)
            return ptr if found is None else buffers[found[0]].ptr + ptr - found[0]

        return moved(arg, to)


class Source(NamedTuple):
    """The source of a module: its text, its name, and the options."""

    text: str
    file: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Launch:
    """Everything needed to launch a kernel again, except the contents of memory."""

    source: Source
    kernel: str
    args: tuple[Any, ...]
    grid: Sequence[int]
    block: Sequence[int]
    shared: int


class _Memory:
    """Keeps track of allocated memory."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._owners: dict[int, tuple[int, int]] = {}  # maps a start to the size in bytes and the id of the buffer
        self._lock = threading.RLock()

    def add(self, buffer: _Tracked) -> None:
        start = buffer.ptr
        with self._lock:
            new = start not in self._owners
            # no call until the list has it, so that no Ctrl-C can intervene
            self._owners[start] = buffer.nbytes, id(buffer)
            if new:
                bisect.insort(self._starts, start)

    def remove(self, buffer: _Tracked) -> None:
        """Forget a freed buffer, unless its memory already belongs to another one: the buffer below may be freed
        first.
        """
        start = buffer.ptr
        with self._lock:
            if self._owners.get(start) == (buffer.nbytes, id(buffer)):
                k = bisect.bisect_left(self._starts, start)
                del self._starts[k], self._owners[start]

    def around(self, ptr: int) -> tuple[int, int] | None:
        """Start and size of the allocation that `ptr` points into, or just past."""
        with self._lock:
            k = bisect.bisect_right(self._starts, ptr) - 1
            if k < 0:
                return None
            start = self._starts[k]
            nbytes, _ = self._owners[start]
            return (start, nbytes) if ptr <= start + nbytes else None


class _Tracked:
    """A buffer that is registered in `_Memory` while it exists."""

    __slots__ = ("__weakref__", "_buffer", "_memory", "nbytes", "ptr")

    def __init__(self, buffer: Buffer, memory: _Memory) -> None:
        self.ptr, self.nbytes = buffer.ptr, buffer.nbytes
        self._buffer, self._memory = buffer, memory
        memory.add(self)

    def __del__(self) -> None:
        if hasattr(self, "_memory"):  # a Ctrl-C may end `__init__` before it has begun
            self._memory.remove(self)


class _DebugModule:
    def __init__(self, debug: DebugDriver, module: Module, source: Source) -> None:
        self._debug, self._module, self._source = debug, module, source

    def function(self, name: str) -> _DebugKernel:
        return _DebugKernel(self._debug, self._module.function(name), self._source)


class _DebugKernel:
    def __init__(self, debug: DebugDriver, kernel: Kernel, source: Source) -> None:
        self.name, self.max_resident_blocks = kernel.name, kernel.max_resident_blocks
        self._debug, self._kernel, self._source = debug, kernel, source

    def __call__(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> None:
        debug = self._debug
        copies = debug.copies_for(args)
        try:
            self._kernel(*args, grid=grid, block=block, shared=shared, cooperative=cooperative)
            debug.driver.synchronize()
        except LaunchError as error:
            launch = Launch(self._source, self.name, args, tuple(grid), tuple(block), shared)
            at = f"{self.name} of {self._source.file}, grid {launch.grid}, block {launch.block}, shared {shared}"
            raise LaunchError(f"{at}: {error}\n{debug.run_again(launch, copies)}") from error
