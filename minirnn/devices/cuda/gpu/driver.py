"""The CUDA driver of NVIDIA GPUs, by PyCUDA. No other module imports PyCUDA, and this one only when a driver is made.

The GPU's primary context is shared with other libraries in this process (torch, CuPy), so their pointers work here
and ours there. It is made current in the calling thread during each call, so any thread may call.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.arguments import Packer
from minirnn.devices.cuda.driver import LaunchError, Limits, Matrix, RefusedLaunch, Work
from minirnn.devices.cuda.gpu import libcuda
from minirnn.devices.cuda.gpu.compiler import Compiler
from minirnn.devices.cuda.gpu.context import LATE, Current, Here
from minirnn.devices.cuda.gpu.cublas import Cublas, prepared
from minirnn.devices.cuda.gpu.graph import Graph
from minirnn.devices.cuda.gpu.memory import Memory
from minirnn.devices.cuda.gpu.occupancy import LoadedTwice
from minirnn.devices.precision import chosen
from minirnn.machine import toolchain
from minirnn.machine.cuda_versions import pycuda_unfit

COPIED = 1 << 20
"""Up to this many bytes are copied on the host first, so that `h2d` need not wait; for larger arrays the copy costs
more.
"""
DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
COOPERATIVE_LAUNCH = 95  # a CUdevice_attribute for which PyCUDA has no name
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: work of other libraries on the default stream does not affect a recording


class PyCudaDriver:
    """A GPU: the first visible one (CUDA_VISIBLE_DEVICES). The methods are those of `cuda.driver.Driver`.

    Attributes
    ----------
    stream_handle : int
        The CUDA stream on which everything runs, in order. It and the default stream wait for each other.

    Raises
    ------
    DeviceUnavailable
        If something is missing. The message says what, and which command installs it.
    """

    name = "cuda"

    def __init__(self) -> None:
        drv, nvcc = _import_pycuda()
        self._drv = drv
        try:
            drv.init()
            device = drv.Device(0)
            self._current = Current(drv, device.retain_primary_context())
            self.limits = limits_of(drv, device)
            arch = "sm_{}{}".format(*self.limits.compute_capability)
            self._compiler = Compiler(arch, nvcc, drv.module_from_buffer, drv.LogicError)
            with self._current:
                self._stream = drv.Stream()
                self._aside = drv.Stream(NON_BLOCKING)
        except (drv.Error, LaunchError) as error:
            raise DeviceUnavailable(
                f"cuda: the GPU cannot be used: {error}\n  nvidia-smi shows which processes use it"
            ) from error
        self.stream_handle = int(self._stream.handle)
        self.launches = 0
        self.memory = Memory(self.name, drv, self._current)
        self.alloc, self.free_held = self.memory.alloc, self.memory.free_held
        self._modules: dict[tuple[str, str, tuple[str, ...]], _Module] = {}
        self._here = Here(self._stream)
        self.prepares = True
        self.working: AbstractContextManager[None] = self._current
        self._cublas: Cublas | None = None
        self._cublas_aside: Cublas | None = None  # its workspace is part of the recordings
        self._flying: deque[tuple[Any, np.ndarray]] = deque()  # host copies, until the GPU has read them
        self._lock = threading.RLock()
        atexit.register(self.close)

    # Memory

    @property
    def held_bytes(self) -> int:
        """Device memory of all arrays, and of freed ones kept for reuse."""
        return self.memory.held_bytes

    def h2d(self, ptr: int, host: np.ndarray) -> None:
        _check_contiguous(host)
        if host.nbytes == 0:
            return
        drv = self._drv
        with self._current, self._lock:
            while self._flying and self._flying[0][0].query():
                self._flying.popleft()
            # The GPU may read ordinary memory after this call returns, so it reads a copy that stays valid.
            source = host.copy() if host.nbytes <= COPIED else host
            drv.memcpy_htod_async(ptr, source, self._stream)
            if source is host:
                self._stream.synchronize()
            else:
                event = drv.Event(drv.event_flags.DISABLE_TIMING)
                event.record(self._stream)
                self._flying.append((event, source))
                del event  # another thread may free it, and PyCUDA frees it only where a context is current

    def d2h(self, host: np.ndarray, ptr: int) -> None:
        _check_contiguous(host)
        if host.nbytes == 0:
            return
        with self._current:
            self._drv.memcpy_dtoh_async(host, ptr, self._stream)
            self._stream.synchronize()

    def d2d(self, to: int, ptr: int, nbytes: int) -> None:
        if nbytes:
            with self._current:
                self._drv.memcpy_dtod_async(to, ptr, nbytes, self._here.stream)

    def memset(self, ptr: int, byte: int, nbytes: int) -> None:
        if nbytes:
            with self._current:
                self._drv.memset_d8_async(ptr, byte, nbytes, self._here.stream)

    def prepared_d2d(self, nbytes: int) -> Work:
        copy, here = self._drv.memcpy_dtod_async, self._here
        return lambda at: copy(at[0], at[1], nbytes, here.stream)

    def prepared_memset(self, byte: int, nbytes: int) -> Work:
        fill, here = self._drv.memset_d8_async, self._here
        return lambda at: fill(at[0], byte, nbytes, here.stream)

    # Work

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> _Module:
        key = (source, name, tuple(options))
        found = self._modules.get(key)
        if found is None:
            with self._lock:
                found = self._modules.get(key)
                if found is None:
                    with self._current:
                        found = self._modules[key] = _Module(self, *self._compiler.load(*key), name)
        return found

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        work = self.prepared_gemm(a, b, c, beta, batch)
        with self._current:
            work((a.ptr, b.ptr, c.ptr))

    def prepared_gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> Work:
        multiply, here = prepared(a, b, c, beta, batch, chosen.precision == "tf32"), self._here

        def work(at: Sequence[int]) -> None:
            self.launches += 1
            cublas = self._cublas_aside if here.recording else self._cublas or self._new_cublas()
            assert cublas is not None
            multiply(cublas.handle, at)

        return work

    def _new_cublas(self) -> Cublas:
        with self._lock:
            if self._cublas is None:
                self._cublas = Cublas(self.stream_handle, self.alloc, self.limits.compute_capability)
            return self._cublas

    def record(self, work: Callable[[], None]) -> Graph:
        here = self._here
        with self._lock, self._current:
            if self._cublas_aside is None:
                self._cublas_aside = Cublas(int(self._aside.handle), self.alloc, self.limits.compute_capability)
            before = self.launches
            here.stream, here.recording = self._aside, True
            try:
                return Graph(self, int(self._aside.handle), work)
            finally:
                here.stream, here.recording = self._stream, False
                self.launches = before

    def synchronize(self) -> None:
        with self._current, self._lock:
            self._stream.synchronize()
            self._flying.clear()

    def seconds(self, work: Any) -> float:
        """The time that the GPU takes for the work of `work()`."""
        with self._current:
            start, end = self._drv.Event(), self._drv.Event()
            start.record(self._stream)
            work()
            end.record(self._stream)
            end.synchronize()
            found = float(start.time_till(end)) * 1e-3
            del start, end  # PyCUDA frees an event only where a context is current
            return found

    def gpu_of(self, ptr: int) -> int:
        """The number of the GPU in whose memory this address is."""
        found, attribute = ctypes.c_int(), ctypes.c_int(DEVICE_ORDINAL)
        with self._current:
            libcuda.call("cuPointerGetAttribute", ctypes.byref(found), attribute, ctypes.c_ulonglong(ptr))
        return found.value

    def wait_for(self, stream: int | None) -> None:
        """Wait for the GPU work of another library: on one stream, or with None on any."""
        with self._current:
            if stream is None:
                self._current.context.synchronize()
            else:
                libcuda.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def close(self) -> None:
        """Release everything at the end of the process. The driver must not be used afterwards."""
        if not self._current.alive:
            return
        # After a fault none of this works, and the process ends anyway.
        with suppress(Exception), self._current:
            self._stream.synchronize()
            self._flying.clear()
            for cublas in (self._cublas, self._cublas_aside):
                if cublas is not None:
                    cublas.close()
        with suppress(Exception):
            self.free_held()
        self._current.end()


class _Module:
    def __init__(self, driver: PyCudaDriver, binary: bytes, module: Any, name: str) -> None:
        self._driver, self._module, self._binary, self._name = driver, module, binary, name
        self._twin: LoadedTwice | None = None
        self._kernels: dict[str, _Kernel] = {}

    def function(self, name: str) -> _Kernel:
        """The kernel, one object for all who ask: it knows how much shared memory CUDA has granted the function."""
        if name in self._kernels:
            return self._kernels[name]
        with self._driver._current:
            try:
                function = self._module.get_function(name)
            except self._driver._drv.Error as error:
                raise LaunchError(f'{self._name} has no extern "C" kernel called {name}: {error}') from error
        return self._kernels.setdefault(name, _Kernel(self._driver, self, function, name))

    def twin(self) -> LoadedTwice:
        """This module loaded again, for functions that PyCUDA lacks. The context must be current."""
        if self._twin is None:
            self._twin = LoadedTwice(self._binary)
        return self._twin


class _Kernel:
    def __init__(self, driver: PyCudaDriver, module: _Module, function: Any, name: str) -> None:
        self.name = name
        self.driver, self._module, self._function = driver, module, function
        self._launch, self._here = function._launch_kernel, driver._here
        self._push, self._pop, self._error = driver._current.push, driver._current.pop, driver._drv.Error
        self._pack = Packer(name)
        self._shared = 0  # dynamic shared memory that was requested from CUDA

    def __call__(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> None:
        # There are thousands of calls per second, so this method avoids the `with` of all others.
        parameters = self._pack(args)
        try:
            self._push()
            try:
                self._start(parameters, tuple(map(int, grid)), tuple(map(int, block)), shared, cooperative)
            finally:
                self._pop()
        except self._error as error:
            raise LaunchError(f"{self.name}: {error}\n  {LATE}") from error

    def prepared(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> Work:
        packed, start = self._pack.with_other_addresses(args), self._start
        grid, block = tuple(map(int, grid)), tuple(map(int, block))
        return lambda at: start(packed(at), grid, block, shared, cooperative)

    def _start(
        self, parameters: bytes, grid: tuple[int, ...], block: tuple[int, ...], shared: int, cooperative: bool
    ) -> None:
        """Launch it. The context must be current."""
        self.driver.launches += 1
        try:
            if cooperative:
                twin = self._module.twin()
                twin.launch(self.name, grid, block, parameters, shared, int(self._here.stream.handle))
                return
            if shared > self._shared:
                self._allow(shared)
            self._launch(grid, block, parameters, shared, self._here.stream)
        except (self._error, LaunchError) as error:
            at = f"{self.name}, grid {grid}, block {block}, {shared} bytes of dynamic shared memory"
            kind = RefusedLaunch if isinstance(error, RefusedLaunch) else LaunchError
            raise kind(f"{at}: {error}\n  {LATE}") from error

    def _allow(self, shared: int) -> None:
        """CUDA gives a kernel more than 48 KB of shared memory only on request."""
        self._function.set_attribute(self.driver._drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        self._shared = shared

    def max_resident_blocks(self, block: Sequence[int], shared: int = 0) -> int:
        threads = int(np.prod([int(n) for n in block]))
        with self.driver._current:
            blocks = self._module.twin().blocks_per_multiprocessor(self.name, threads, shared)
        return blocks * self.driver.limits.multiprocessors


def limits_of(drv: Any, device: Any) -> Limits:
    """The limits that a PyCUDA device reports."""
    ask, names = device.get_attribute, drv.device_attribute
    return Limits(
        name=device.name(),
        compute_capability=tuple(device.compute_capability()),
        multiprocessors=ask(names.MULTIPROCESSOR_COUNT),
        threads_per_block=ask(names.MAX_THREADS_PER_BLOCK),
        shared_bytes_per_block=ask(names.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        memory_bytes=device.total_memory(),
        simulated=False,
        warp=ask(names.WARP_SIZE),
        cooperative=bool(ask(names(COOPERATIVE_LAUNCH))),
        l2_bytes=ask(names.L2_CACHE_SIZE),
    )


def _import_pycuda() -> tuple[Any, str]:
    """``pycuda.driver``, and nvcc's version with its build. Raises `DeviceUnavailable` for the first thing that is
    missing or unfit.
    """
    found: dict[str, toolchain.Tool] = {}
    for tool in toolchain.for_a_gpu():
        if not tool.works:
            raise DeviceUnavailable(f"cuda: {'' if tool.found else f'{tool.name} '}{toolchain.missing(tool)}")
        found[tool.name] = tool
    rebuild = toolchain.rebuild_pycuda()
    try:
        import pycuda.driver as drv
    except ImportError as error:
        raise DeviceUnavailable(
            f"cuda: PyCUDA cannot be imported: {error}\n"
            f"  it was built for another Python, NumPy or CUDA; to rebuild it: {rebuild}"
        ) from error
    driver = getattr(found.get("NVIDIA driver"), "cuda", None)
    unfit = driver and pycuda_unfit(found["PyCUDA"].found or "", tuple(drv.get_version()[:2]), driver, rebuild)
    if unfit:
        raise DeviceUnavailable(f"cuda: {unfit.reason}\n  to get one that fits: {unfit.fix}")
    return drv, (found["nvcc"].found or "").split()[0] if "nvcc" in found else ""


def _check_contiguous(host: np.ndarray) -> None:
    if not host.flags.c_contiguous:
        raise ValueError(f"host array {host.shape} is not contiguous in C order\n  try np.ascontiguousarray")
