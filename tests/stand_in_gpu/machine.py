"""The state of the stand-in GPU: handles, contexts, memory, and the errors that it finds."""

import collections
import ctypes
import itertools
import os
import threading
from typing import Any

from minirnn.devices.cuda.sim import library
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.stand_in_gpu.queues import Queues, Stream

# CUresult
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
INVALID_DEVICE = 101
INVALID_IMAGE = 200
INVALID_CONTEXT = 201
NO_BINARY_FOR_GPU = 209
INVALID_HANDLE = 400
NOT_FOUND = 500
NOT_READY = 600
ILLEGAL_ADDRESS = 700
COOPERATIVE_LAUNCH_TOO_LARGE = 720
NOT_SUPPORTED = 801
CAPTURE_UNSUPPORTED = 900
CAPTURE_INVALIDATED = 901
UNKNOWN = 999
WORDS = {
    INVALID_VALUE: "invalid argument",
    OUT_OF_MEMORY: "out of memory",
    NOT_INITIALIZED: "initialization error",
    INVALID_IMAGE: "device kernel image is invalid",
    INVALID_CONTEXT: "invalid device context",
    INVALID_HANDLE: "invalid resource handle",
    NOT_FOUND: "named symbol not found",
    NOT_READY: "device not ready",
    ILLEGAL_ADDRESS: "an illegal memory access was encountered",
    COOPERATIVE_LAUNCH_TOO_LARGE: "too many blocks in cooperative launch",
    NO_BINARY_FOR_GPU: "no kernel image is available for execution on the device",
    NOT_SUPPORTED: "operation not supported",
    CAPTURE_UNSUPPORTED: "operation not permitted when stream is capturing",
    CAPTURE_INVALIDATED: "operation failed due to a previous error during capture",
}

MULTIPROCESSORS = 132
DEFAULT_SHARED, MOST_SHARED = 48 << 10, 227 << 10
MEMORY_MB = int(os.environ.get("STAND_IN_GPU_MEMORY_MB", "1024"))

log: collections.Counter[str] = collections.Counter()
"""The number of calls of each function."""
problems: list[str] = []
"""Calls that a driver would reject, or that are not implemented here yet."""


class Failed(Exception):
    """A call that ends with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Context:
    """The primary context: there is no other."""

    references = 0


class Thread(threading.local):
    """The current context of a thread: its stack of contexts."""

    def __init__(self) -> None:
        self.contexts: list[int] = []


class Machine:
    """The GPU. One lock holds every call: the API may be called by any thread."""

    def __init__(self, options: SimOptions | None = None, seed: int | None = None) -> None:
        self.sim = SimDriver(options or SimOptions(shared_limit=MOST_SHARED, memory_mb=MEMORY_MB))
        self.one_by_one = one_block_at_a_time(self.sim)
        self.lock = threading.RLock()
        self.thread = Thread()
        self.sticky = 0  # once a kernel failed, every call does
        self.handles = itertools.count(0x7F0000001000, 64)  # never reused, so that a dead handle is always recognized
        self.live: dict[int, Any] = {}
        self.allocations: dict[int, Any] = {}  # address -> buffer of the simulator
        self.queues = Queues(int(os.environ.get("STAND_IN_GPU_SEED", "0")) if seed is None else seed)
        self.primary = Context()
        self.primary_handle = self.handle(self.primary)
        self.process = os.getpid()

    def handle(self, thing: Any) -> int:
        """A handle for something new."""
        handle = next(self.handles)
        self.live[handle] = thing
        return handle

    def get(self, handle: int, kind: type) -> Any:
        """The object of a handle. Raises `Failed` if it is dead or of another kind."""
        thing = self.live.get(handle)
        if not isinstance(thing, kind):
            raise Failed(INVALID_HANDLE)
        return thing

    def drop(self, handle: int, kind: type) -> Any:
        thing = self.get(handle, kind)
        del self.live[handle]
        return thing

    def stream(self, handle: int) -> Stream:
        """Handles 0 and 1 are the default stream that waits for all others."""
        return self.queues.default if handle in (0, 1) else self.get(handle, Stream)

    def need_context(self) -> None:
        """Raises `Failed` if this thread has no current context, or if the GPU is lost."""
        if not self.thread.contexts:
            raise Failed(INVALID_CONTEXT)
        if self.sticky:
            raise Failed(self.sticky)

    def need_no_fault(self) -> None:
        """After waiting: raises `Failed` if the awaited work, or any earlier work, failed."""
        if self.sticky:
            raise Failed(self.sticky)

    def allocation(self, address: int, nbytes: int) -> int | None:
        """The start of the allocation that contains these bytes; None if they are not all in one."""
        for start, buffer in self.allocations.items():
            if start <= address and address + nbytes <= start + buffer.nbytes:
                return start
        return None

    def must_hold(self, address: int, nbytes: int) -> int:
        start = self.allocation(address, nbytes)
        if start is None:
            raise Failed(INVALID_VALUE)
        return start

    def touched(self, addresses: list[int]) -> frozenset[int]:
        """The allocations into which these addresses point."""
        return frozenset(start for a in addresses if (start := self.allocation(a, 0)) is not None)


machine: Machine


def one_block_at_a_time(sim: SimDriver) -> Any:
    """Options for plain launches, which only promise that every block eventually runs. Here they run one after another.

    A kernel whose blocks wait for each other therefore waits forever unless it is launched cooperatively.
    """
    given = ctypes.cast(sim.run_options, ctypes.POINTER(library.Options)).contents
    made = library.Options.from_buffer_copy(given)
    made.resident = 1
    return made


def u32(value: int) -> int:
    return value & 0xFFFFFFFF


def write64(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value


def write32(address: int, value: int) -> None:
    ctypes.c_int32.from_address(address).value = value
