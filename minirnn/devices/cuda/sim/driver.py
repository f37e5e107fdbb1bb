"""The simulated CUDA driver: the .cu files compiled by the host's C++ compiler, its memory in the host's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from minirnn.devices.cuda.driver import LaunchError, Limits, Matrix, Work
from minirnn.devices.cuda.sim import build, compiler, library
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.memory import Memory, SimBuffer
from minirnn.devices.cuda.sim.options import SimOptions, from_environment
from minirnn.devices.precision import chosen, to_tf32


class SimDriver:
    """A CUDA device that needs no GPU: `minirnn.devices.cuda.driver.Driver` on the host.

    Parameters
    ----------
    options : SimOptions, optional
        By default those in ``MINIRNN_SIM``.

    Raises
    ------
    DeviceUnavailable
        If there is no C++ compiler, or none that works; the message says what to install.
    ValueError
        If ``MINIRNN_SIM`` holds a word that is not an option.
    """

    name = "cuda-sim"
    seconds: Callable[[Callable[[], None]], float] | None = None  # times of the simulator say nothing about a GPU

    def __init__(self, options: SimOptions | None = None) -> None:
        self.options = options or from_environment()
        self.compiler = compiler.find()
        self.library = library.load(build.runtime_library(self.compiler))
        self.memory = Memory(self.library, self.options.memory_mb << 20, self.options.check)
        self.limits = Limits(
            name=f"simulated on the CPU, compiled by {self.compiler.name}",
            compute_capability=(9, 0),
            multiprocessors=132,
            threads_per_block=1024,
            shared_bytes_per_block=self.options.shared_limit,
            memory_bytes=self.options.memory_mb << 20,
            simulated=True,
        )
        self.launches = 0
        self.prepares = True
        self.working: AbstractContextManager[None] = nullcontext()
        self.noting = _Noting()
        self.stats = library.Stats()
        self.stats_at = ctypes.addressof(self.stats)
        self._kept_options: list[library.Options] = []
        self.run_options = self.new_run_options()
        self._modules: dict[tuple[str, str, tuple[str, ...]], SimModule] = {}

    def new_run_options(self, trace_capacity: int = 0) -> int:
        """The address of a `CusimOptions`, which stays valid."""
        o = self.options
        made = library.Options(
            o.seed, o.check, o.preempt, o.resident, o.stack_kb << 10, o.shared_limit, o.watchdog_ms, trace_capacity
        )
        self._kept_options = [*self._kept_options[:1], made]  # the first is for launches without a trace
        return ctypes.addressof(made)

    def alloc(self, nbytes: int) -> SimBuffer:
        return self.memory.alloc(nbytes)

    def h2d(self, ptr: int, host: np.ndarray) -> None:
        self._check("h2d", ptr, _whole("h2d", host).nbytes)
        ctypes.memmove(ptr, host.ctypes.data, host.nbytes)

    def d2h(self, host: np.ndarray, ptr: int) -> None:
        if not _whole("d2h", host).flags.writeable:
            raise ValueError("d2h: the host array is read-only\n  expected one that may be written into")
        self._check("d2h", ptr, host.nbytes)
        ctypes.memmove(host.ctypes.data, ptr, host.nbytes)

    def d2d(self, to: int, ptr: int, nbytes: int) -> None:
        self._check("d2d", ptr, nbytes)
        self._check("d2d", to, nbytes)
        self.now_or_later(partial(ctypes.memmove, to, ptr, nbytes))

    def memset(self, ptr: int, byte: int, nbytes: int) -> None:
        self._check("memset", ptr, nbytes)
        self.now_or_later(partial(ctypes.memset, ptr, byte, nbytes))

    def _check(self, what: str, ptr: int, nbytes: int) -> None:
        """Raise `LaunchError` unless an allocation, or a variable of a module, holds these bytes."""
        if complaint := self.memory.complaint(int(ptr), int(nbytes)):
            raise LaunchError(f"cuda-sim: {what} of {nbytes} bytes {complaint}")

    def prepared_d2d(self, nbytes: int) -> Work:
        return lambda at: self.d2d(at[0], at[1], nbytes)

    def prepared_memset(self, byte: int, nbytes: int) -> Work:
        return lambda at: self.memset(at[0], byte, nbytes)

    def prepared_gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> Work:
        return lambda at: self.gemm(replace(a, ptr=at[0]), replace(b, ptr=at[1]), replace(c, ptr=at[2]), beta, batch)

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> SimModule:
        key = source, name, tuple(options)
        found = self._modules.get(key)
        if found is None:
            path = build.module_library(self.compiler, self.options, source, name, options)
            found = self._modules[key] = SimModule(self, path, name, source)
        return found

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        """The product by NumPy, instead of NVIDIA's library, which is not simulated."""
        rounded = chosen.precision == "tf32"
        if self.noting.work is not None:  # without the arrays, because only addresses matter
            a, b, c = (replace(m, keep=None) for m in (a, b, c))
            self.noting.work.append(partial(self._multiply, a, b, c, beta, batch, rounded))
            return
        self.launches += 1
        self._multiply(a, b, c, beta, batch, rounded)

    def _multiply(self, a: Matrix, b: Matrix, c: Matrix, beta: float, batch: int, rounded: bool) -> None:
        left, right, result = (_seen_by_numpy(m, batch) for m in (a, b, c))
        if a.dtype == np.float16:
            left, right = left.astype(np.float32), right.astype(np.float32)
        elif a.dtype == np.float32 and rounded:
            left, right = to_tf32(left), to_tf32(right)
        product = np.matmul(left, right)
        with np.errstate(over="ignore"):  # values that are too large for float16 become infinite
            result[...] = product + product.dtype.type(beta) * result if beta else product

    def record(self, work: Callable[[], None]) -> SimRecording:
        noted: list[Callable[[], Any]] = []
        self.noting.work = noted
        try:
            work()
        finally:
            self.noting.work = None
        return SimRecording(self, noted)

    def now_or_later(self, do: Callable[[], Any]) -> None:
        """Run it, or record it if this thread is recording."""
        if self.noting.work is None:
            do()
        else:
            self.noting.work.append(do)

    def gpu_of(self, ptr: int) -> int:
        return 0

    def wait_for(self, stream: int | None) -> None:
        """Does nothing, because no other library computes here."""

    def synchronize(self) -> None:
        """Launches are done when they return. Raises `LaunchError` if a kernel wrote just outside an array."""
        nbytes = ctypes.c_size_t()
        with library.lock:
            self.memory.collect()
            number = self.library.cusim_damaged(ctypes.byref(nbytes))
        if number >= 0:
            raise LaunchError(
                f"cuda-sim: a kernel wrote just outside array number {number} of {nbytes.value} bytes\n"
                "  MINIRNN_SIM=check shows which one and where"
            )


class _Noting(threading.local):
    """The work that this thread has recorded; None if it is not recording."""

    work: list[Callable[[], Any]] | None = None


class SimRecording:
    """Recorded launches, run one after another, as a CUDA graph would."""

    def __init__(self, driver: SimDriver, noted: list[Callable[[], Any]]) -> None:
        self._driver, self._noted = driver, noted

    def __call__(self) -> None:
        with library.lock:
            before = self._driver.launches
            for do in self._noted:
                do()
            self._driver.launches = before + 1

    def close(self) -> None:
        self._noted = []


def _whole(what: str, host: np.ndarray) -> np.ndarray:
    """A host array. Raises ValueError if its elements are not next to each other, because a copy ignores strides."""
    if not (host.flags.c_contiguous or host.flags.f_contiguous):
        raise ValueError(f"{what}: the host array is not contiguous\n  expected np.ascontiguousarray(host), or a copy")
    return host


def _seen_by_numpy(m: Matrix, batch: int) -> Any:
    """A matrix, or a batch of them, as a NumPy array over the simulated memory. (batch, rows, cols)"""
    rows, cols = (m.cols, m.rows) if m.transposed else (m.rows, m.cols)
    elements = (batch - 1) * m.stride + (rows - 1) * m.ld + cols if batch and rows and cols else 0
    itemsize = m.dtype.itemsize
    buffer = getattr(m.keep, "buffer", None)
    if buffer is not None and not buffer.ptr <= m.ptr <= m.ptr + elements * itemsize <= buffer.ptr + buffer.nbytes:
        raise LaunchError(
            f"gemm: a matrix of {m.rows} x {m.cols} with {m.ld} elements per row, {batch} times, leaves its array of"
            f" {buffer.nbytes} bytes"
        )
    if not elements:
        return np.zeros((batch, m.rows, m.cols), m.dtype)
    memory: Any = (ctypes.c_char * (elements * itemsize)).from_address(m.ptr)
    flat = np.frombuffer(memory, m.dtype)
    strides = (m.stride * itemsize, m.ld * itemsize, itemsize)
    seen = np.lib.stride_tricks.as_strided(flat, (batch, rows, cols), strides)
    return seen.transpose(0, 2, 1) if m.transposed else seen
