"""A `pycuda` on host memory, with the signatures and pitfalls of PyCUDA 2026.1 (taken from its source).

Every call needs a current context in its thread. A thread that ends with a context on its stack aborts the process.
Kernels are Python functions that take the parameter buffer.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


class Error(Exception):
    pass


class MemoryError(Error):
    pass


class LogicError(Error):
    pass


class LaunchError(Error):
    pass


class CompileError(Error):
    def __init__(self, msg: str, command_line: list[str], stdout: str | None = None, stderr: str | None = None) -> None:
        self.msg, self.command_line, self.stdout, self.stderr = msg, command_line, stdout, stderr


class Stacks(threading.local):
    def __init__(self) -> None:
        self.contexts: list[Context] = []


class Machine:
    """The state of the one GPU."""

    def __init__(self, memory: int = 1 << 20) -> None:
        self.memory, self.used = memory, 0
        self.stacks = Stacks()
        self.lost: list[int] = []  # memory whose owner was freed without returning it
        self.kernels: dict[str, Callable[..., None]] = {}
        self.late: Error | None = None  # raised at the next synchronization
        self.blocks: dict[int, np.ndarray] = {}
        self.streams = 0
        self.captured: dict[int, list[Callable[[], None]]] = {}  # by handle of the stream, while the stream exists

    def send(self, stream: Any, what: str, do: Callable[[], None]) -> None:
        """Do the work now, or record it if the stream is being captured."""
        assert isinstance(stream, Stream), f"{what} is on the default stream"
        self.captured[stream.handle].append(do) if stream.handle in self.captured else do()

    def need_context(self, what: str) -> None:
        if not self.stacks.contexts:
            raise LogicError(f"{what} failed: invalid device context")

    def raise_late(self) -> None:
        if self.late is not None:
            raise self.late

    def destroy(self, address: int, size: int, context: Context) -> None:
        """Handle memory that was not returned when its owner ends."""
        if context.valid:
            self.lost.append(address)
        else:  # it was freed with the context
            self.used -= size


class Context:
    handle = 1

    def __init__(self, machine: Machine) -> None:
        self.machine, self.valid = machine, True

    def push(self) -> None:
        self.machine.stacks.contexts.append(self)

    def pop(self) -> None:  # static in PyCUDA
        if not self.machine.stacks.contexts:
            raise LogicError("context::pop failed: invalid device context - cannot pop non-current context")
        self.machine.stacks.contexts.pop()

    def synchronize(self) -> None:  # static in PyCUDA
        self.machine.need_context("cuCtxSynchronize")
        self.machine.raise_late()

    def detach(self) -> None:
        if not self.valid:
            raise LogicError("context::detach failed: invalid device context - cannot detach from invalid context")
        self.valid = False


class Device:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def name(self) -> str:
        return "Fake GPU"

    def compute_capability(self) -> tuple[int, int]:
        return (9, 0)

    def total_memory(self) -> int:
        return self.machine.memory

    def get_attribute(self, name: str) -> int:
        return {
            "MULTIPROCESSOR_COUNT": 132,
            "MAX_THREADS_PER_BLOCK": 1024,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
            "WARP_SIZE": 32,
            "COOPERATIVE_LAUNCH": 1,
            "L2_CACHE_SIZE": 50 << 20,
        }[name]

    def retain_primary_context(self) -> Context:
        return Context(self.machine)


class Stream:
    def __init__(self, machine: Machine, flags: int) -> None:
        machine.need_context("cuStreamCreate")
        self.machine, self.flags, self.synchronized = machine, flags, 0
        self.handle = 4711 + machine.streams
        machine.streams += 1

    def synchronize(self) -> None:
        self.machine.need_context("cuStreamSynchronize")
        if self.handle in self.machine.captured:
            raise LogicError("cuStreamSynchronize failed: operation not permitted when stream is capturing")
        self.synchronized += 1
        self.machine.raise_late()


class Event:
    def __init__(self, machine: Machine, flags: Any = None) -> None:
        machine.need_context("cuEventCreate")
        self.machine, self.done = machine, False

    def record(self, stream: Any = None) -> Event:
        assert isinstance(stream, Stream), "the event is on the default stream"
        self.done = True
        return self

    def query(self) -> bool:
        self.machine.need_context("cuEventQuery")
        return self.done

    def synchronize(self) -> Event:
        self.machine.need_context("cuEventSynchronize")
        return self

    def time_till(self, end: Event) -> float:
        assert isinstance(end, Event)
        return 2.5  # milliseconds


class DeviceAllocation:
    """Memory. Without a context, PyCUDA's destructor gives up and the memory is lost."""

    def __init__(self, machine: Machine, size: int) -> None:
        assert type(size) is int and size > 0, "PyCUDA takes positive ints"
        machine.need_context("cuMemAlloc")
        self.machine, self.size = machine, -(-size // 64) * 64
        if machine.used + self.size > machine.memory:
            raise MemoryError("cuMemAlloc failed: out of memory")
        block = np.full(self.size + 256, 0xFF, np.uint8)
        self.address = -(-block.ctypes.data // 256) * 256
        machine.blocks[self.address] = block
        machine.used += self.size
        # PyCUDA's destructor, in C++, runs at the end of the object alone. A `__del__` would also run when the garbage
        # collector finds the object in a circle and another `__del__` of that circle puts it in a list of free blocks.
        self._part = np.empty(0)  # arrays are invisible to the collector, so this one ends with the object that owns it
        self._destructor = weakref.finalize(
            self._part, machine.destroy, self.address, self.size, machine.stacks.contexts[-1]
        )
        self._destructor.atexit = False

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        if not self._destructor.alive:
            raise LogicError("device_allocation::free failed: invalid resource handle")
        self.machine.need_context("cuMemFree")
        self._destructor.detach()
        del self.machine.blocks[self.address]
        self.machine.used -= self.size


class Function:
    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name = machine, name
        self.dynamic = 48 * 1024

    def set_attribute(self, attribute: str, value: int) -> None:
        assert attribute == "MAX_DYNAMIC_SHARED_SIZE_BYTES"
        if value > 232448:
            raise LogicError("cuFuncSetAttribute failed: invalid argument")
        self.dynamic = value

    def _launch_kernel(self, grid: Any, block: Any, parameters: Any, shared: Any, stream: Any) -> None:
        for sizes in (grid, block):
            assert type(sizes) is tuple and all(type(n) is int for n in sizes), "Boost.Python takes tuples of ints only"
        assert isinstance(stream, Stream) and type(shared) is int
        self.machine.need_context("cuLaunchKernel")
        if np.prod(block) > 1024 or shared > self.dynamic:
            raise LogicError("cuLaunchKernel failed: invalid argument")
        given = bytes(memoryview(parameters))

        def launch() -> None:
            self.machine.kernels[self.name](given)

        self.machine.send(stream, "the launch", launch)


class Module:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def get_function(self, name: str) -> Function:
        self.machine.need_context("cuModuleGetFunction")
        if name not in self.machine.kernels:
            raise LogicError("cuModuleGetFunction failed: named symbol not found")
        return Function(self.machine, name)


class Libcuda:
    """The driver's functions for graphs. A graph is the list of captured calls."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.graphs: dict[int, list[Callable[[], None]]] = {}
        self.refused = ""  # the function that fails

    def _status(self, name: str) -> int:
        self.machine.need_context(name)
        return 900 if name == self.refused else 0

    def _keep(self, at: Any, graph: list[Callable[[], None]]) -> None:
        number = max(self.graphs, default=0) + 1
        self.graphs[number] = graph
        at._obj.value = number

    def cuStreamBeginCapture_v2(self, stream: Any, mode: Any) -> int:
        assert mode.value == 2 and stream.value not in self.machine.captured
        self.machine.captured[stream.value] = []
        return self._status("cuStreamBeginCapture_v2")

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> int:
        captured = self.machine.captured.pop(stream.value)
        status = self._status("cuStreamEndCapture")
        if not status:
            self._keep(graph, captured)
        return status

    def cuGraphInstantiateWithFlags(self, executable: Any, graph: Any, flags: Any) -> int:
        assert flags.value == 0
        status = self._status("cuGraphInstantiateWithFlags")
        if not status:
            self._keep(executable, self.graphs[graph.value])
        return status

    def cuGraphDestroy(self, graph: Any) -> int:
        del self.graphs[graph.value]
        return 0

    cuGraphExecDestroy = cuGraphDestroy

    def cuGraphLaunch(self, executable: Any, stream: Any) -> int:
        assert stream.value == 4711, "not on the stream of all"
        for do in self.graphs[executable.value]:
            do()
        return self._status("cuGraphLaunch")

    def cuGetErrorString(self, status: Any, text: Any) -> int:
        text._obj.value = b"operation not permitted when stream is capturing"
        return 0


class Names:
    def __getattr__(self, name: str) -> str:
        return name

    def __call__(self, number: int) -> str:
        return {95: "COOPERATIVE_LAUNCH"}[number]


def make(machine: Machine) -> dict[str, ModuleType]:
    """The modules to enter into `sys.modules`."""
    package, driver = ModuleType("pycuda"), ModuleType("pycuda.driver")
    contents: dict[str, Any] = {
        "Error": Error,
        "MemoryError": MemoryError,
        "LogicError": LogicError,
        "LaunchError": LaunchError,
        "CompileError": CompileError,
        "init": lambda: None,
        "Device": lambda number: Device(machine),
        "Stream": lambda flags=0: Stream(machine, flags),
        "Event": lambda flags=0: Event(machine, flags),
        "mem_alloc": lambda size: DeviceAllocation(machine, size),
        "device_attribute": Names(),
        "function_attribute": Names(),
        "event_flags": Names(),
        "get_driver_version": lambda: 13000,
        "get_version": lambda: (13, 0, 0),
        "mem_get_info": lambda: (machine.memory - machine.used, machine.memory),
    }

    def htod(dest: int, src: Any, stream: Any = None) -> None:
        copy(dest, src.ctypes.data, src.nbytes, stream)

    def dtoh(dest: Any, src: int, stream: Any = None) -> None:
        copy(dest.ctypes.data, src, dest.nbytes, stream)

    def copy(to: int, of: int, size: int, stream: Any = None) -> None:
        machine.need_context("cuMemcpyAsync")
        machine.send(stream, "the copy", lambda: ctypes.memmove(to, of, size))

    def memset(dest: int, data: int, size: int, stream: Any = None) -> None:
        machine.need_context("cuMemsetD8Async")
        machine.send(stream, "memset", lambda: ctypes.memset(dest, data, size))

    def module_from_buffer(buffer: bytes, options: Any = (), message_handler: Any = None) -> Module:
        machine.need_context("cuModuleLoadDataEx")
        if not buffer.startswith(b"\x7fELF"):
            raise LogicError("cuModuleLoadDataEx failed: device kernel image is invalid")
        return Module(machine)

    contents |= {
        "memcpy_htod_async": htod,
        "memcpy_dtoh_async": dtoh,
        "memcpy_dtod_async": copy,
        "memset_d8_async": memset,
        "module_from_buffer": module_from_buffer,
    }

    for module, names in ((driver, contents),):
        for name, value in names.items():
            setattr(module, name, value)
    package.driver = driver  # type: ignore[attr-defined]
    return {"pycuda": package, "pycuda.driver": driver}
