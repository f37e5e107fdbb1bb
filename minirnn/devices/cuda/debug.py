"""``MINIRNN_DEBUG=1``: an error is raised at the launch that caused it, and the simulator names the line.

A GPU reports a bad access long after the launch, without thread or line, and the process can no longer use it. So each
launch is waited for here, after the memory that it can reach is copied to the host. If it fails, the same launch
(source, options, sizes, arguments, contents of memory) runs once more in the simulator, in check mode. That is slow:
every launch copies all its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

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
        self._buffers: WeakValueDictionary[int, Buffer] = WeakValueDictionary()
        """Maps the start of allocated memory to its buffer."""
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
        buffer = self.driver.alloc(nbytes)
        self._buffers[buffer.ptr] = buffer
        return buffer

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> _DebugModule:
        return _DebugModule(self, self.driver.module(source, name, options), (source, name, tuple(options)))

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        try:
            self.driver.gemm(a, b, c, beta, batch)
            self.driver.synchronize()
        except LaunchError as error:
            what = f"product of ({a.rows}, {a.cols}) and ({b.rows}, {b.cols}), {a.dtype}, {batch} times"
            raise LaunchError(f"{what}: {error}\n  this is a library kernel, which the simulator cannot run") from error

    def around(self, ptr: int) -> tuple[int, int] | None:
        """Start and size of the allocation that `ptr` points into, or just past."""
        held = [(start, buffer.nbytes) for start, buffer in list(self._buffers.items()) if start <= ptr]
        start, nbytes = max(held, default=(0, -1))
        return (start, nbytes) if ptr <= start + nbytes else None

    def copies_for(self, args: Sequence[Any]) -> dict[int, np.ndarray]:
        """Maps an address to the contents, for all memory that one of these arguments points to."""
        copies: dict[int, np.ndarray] = {}
        for ptr in [ptr for arg in args for ptr in addresses(arg)]:
            found = self.around(ptr)
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

            def to(ptr: int) -> int:  # the same place in the copy; an invalid pointer stays invalid
                found = self.around(ptr)
                return ptr if found is None else buffers[found[0]].ptr + ptr - found[0]

            args = [moved(arg, to) for arg in launch.args]
            kernel(*args, grid=launch.grid, block=launch.block, shared=launch.shared)
            simulator.synchronize()
        except LaunchError as error:
            return f"the same launch in the simulator: {error}"
        except Exception as error:  # no compiler, no memory, ...: the GPU's error is more important than this one
            return f"the simulator cannot run this launch: {type(error).__name__}: {error}"
        return (
            "the same launch runs without a fault in the simulator: the cause may differ between runs and machines\n"
            "  (the order of threads, uninitialized memory), or be a size that only the GPU refuses"
        )


class Launch(NamedTuple):
    """Everything needed to launch a kernel again, except the contents of memory.

    `source`: the text of its module, the name, and the options.
    """

    source: tuple[str, str, tuple[str, ...]]
    kernel: str
    args: tuple[Any, ...]
    grid: Sequence[int]
    block: Sequence[int]
    shared: int


class _DebugModule:
    def __init__(self, debug: DebugDriver, module: Module, source: tuple[str, str, tuple[str, ...]]) -> None:
        self._debug, self._module, self._source = debug, module, source

    def function(self, name: str) -> _DebugKernel:
        return _DebugKernel(self._debug, self._module.function(name), self._source)


class _DebugKernel:
    def __init__(self, debug: DebugDriver, kernel: Kernel, source: tuple[str, str, tuple[str, ...]]) -> None:
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
            at = f"{self.name} of {self._source[1]}, grid {launch.grid}, block {launch.block}, shared {shared}"
            raise LaunchError(f"{at}: {error}\n{debug.run_again(launch, copies)}") from error
