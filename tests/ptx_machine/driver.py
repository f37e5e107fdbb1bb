"""The driver of the machine: minirnn's launch code runs on it as on the simulator, with nvcc's PTX for kernels."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.arguments import Packer
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import CudaError, LaunchError
from minirnn.devices.cuda.sim import library
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.memory import SimBuffer
from minirnn.devices.cuda.sim.options import SimOptions
from tests.ptx_machine import build
from tests.ptx_machine.options import PtxOptions

THREADS_PER_SM, SHARED_PER_SM = 2048, 227 << 10
COUNTS = ("reads", "older", "late", "inserted", "fences", "rounds")


class _Launch(ctypes.Structure):
    """The `Launch` of `runtime/launch.cpp`."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("variables", ctypes.c_void_p),
        ("parameters", ctypes.c_char_p),
        ("workspace", ctypes.c_uint64),
        ("grid", ctypes.c_uint32 * 3),
        ("shape", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
        ("weak", ctypes.c_uint32),
        ("delay", ctypes.c_uint32),
        ("resident", ctypes.c_uint32),
    ]


@cache
def machine() -> Any:
    """The runtime library. The simulator's library must be loaded first, because this one uses its memory."""
    loaded = ctypes.CDLL(str(build.runtime_library()), mode=ctypes.RTLD_GLOBAL)
    loaded.ptx_launch.argtypes = [ctypes.c_void_p] * 4
    return loaded


class PtxDriver(SimDriver):
    """`minirnn.devices.cuda.driver.Driver` on the machine. Memory, copies and products are the simulator's."""

    name = "ptx"

    def __init__(self, options: PtxOptions | None = None) -> None:
        self.ptx = options or PtxOptions()
        super().__init__(SimOptions(resident=self.ptx.resident, shared_limit=self.ptx.shared_limit))
        self.workspace: SimBuffer | None = None
        self.not_planted = {old for old, _ in self.ptx.edits}
        self._programs: dict[Any, PtxModule] = {}

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> PtxModule:  # type: ignore[override]
        key = source, name, tuple(options)
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = self.module_of_ptx(build.ptx_of(source, name, options, self.ptx.arch), name)
        return found

    def modules(self) -> list[PtxModule]:
        """The requested functions."""
        return list(self._programs.values())

    def module_of_ptx(self, ptx: str, name: str) -> PtxModule:
        """A module of PTX text, with the edits of the options."""
        for old, new in self.ptx.edits:
            ptx, count = re.subn(old, new, ptx)
            if count:
                self.not_planted.discard(old)
        return PtxModule(self, ptx, name)


class PtxModule:
    """A PTX file."""

    def __init__(self, driver: PtxDriver, ptx: str, name: str) -> None:
        self.driver, self.ptx, self.name = driver, ptx, name
        self._kernels: dict[str, PtxKernel] = {}

    def kernels(self) -> list[PtxKernel]:
        """The requested kernels."""
        return list(self._kernels.values())

    def function(self, name: str) -> PtxKernel:
        """The kernel `name`. Raises `CudaError` if there is none, and `NotUnderstood` if the machine cannot run it."""
        found = self._kernels.get(name)
        if found is None:
            kernels = [f.name for f in build.program_of(self.ptx).functions.values() if f.is_kernel]
            if name not in kernels:
                raise CudaError(f"{self.name} has no kernel {name!r}\n  its kernels: {', '.join(kernels) or 'none'}")
            found = self._kernels[name] = PtxKernel(self, name)
        return found


class PtxKernel:
    """A kernel. `counts` are those of its last launch, by name."""

    def __init__(self, module: PtxModule, name: str) -> None:
        self.driver, self.name, self.file = module.driver, name, module.name
        self.translation = build.translated(module.ptx, name)
        self.most_threads = build.program_of(module.ptx).functions[name].most_threads
        machine()
        self._library = ctypes.CDLL(str(build.kernel_library(self.translation)))
        self._kernel = ctypes.cast(self._library.ptx_kernel, ctypes.c_void_p).value
        self._variables = ctypes.addressof(ctypes.c_char.in_dll(self._library, "ptx_variables"))
        self._pack = Packer(name)
        self.counts: dict[str, int] = {}

    def __call__(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> None:
        *offsets, expected = self.translation.parameters
        parameters = self._pack(args)
        if len(args) != len(offsets) or len(parameters) != expected:
            raise TypeError(
                f"{self.name}: got {len(args)} arguments of {len(parameters)} bytes\n"
                f"  expected {len(offsets)} of {expected} bytes"
            )
        self.driver.now_or_later(partial(self._launch, parameters, tuple(grid), tuple(block), shared, cooperative))

    def _launch(
        self, parameters: bytes, grid: tuple[int, ...], block: tuple[int, ...], shared: int, cooperative: bool
    ) -> None:
        driver, options = self.driver, self.driver.ptx
        sizes = [(*map(int, given), 1, 1)[:3] for given in (grid, block)]
        shared_bytes = self.translation.shared + shared
        if min(*sizes[0], *sizes[1]) < 1 or np.prod(sizes[1]) > 1024 or shared_bytes > options.shared_limit:
            raise LaunchError(f"{self.name}: grid {grid}, block {block}, {shared_bytes} bytes of shared memory")
        if np.prod(sizes[1]) > self.most_threads:
            raise LaunchError(f"{self.name}: block {block}\n  expected at most {self.most_threads} threads (.maxntid)")
        with library.lock:
            if driver.memory.dead:
                driver.memory.collect()
            if driver.workspace is None:
                driver.workspace = driver.memory.alloc(64)
                driver.memset(driver.workspace.ptr, 0, 64)
            driver.launches += 1
            launch = _Launch(
                self._kernel, self._variables, parameters, driver.workspace.ptr, sizes[0], sizes[1], shared_bytes,
                options.seed + driver.launches, options.weak, options.delay,
                options.resident if cooperative or options.seed % 2 else 1,
            )  # fmt: skip
            said, where, counts = ctypes.create_string_buffer(1024), (ctypes.c_uint32 * 3)(), (ctypes.c_uint64 * 8)()
            status = machine().ptx_launch(ctypes.addressof(launch), said, where, counts)
        self.counts = dict(zip(COUNTS, counts, strict=False))
        if status:
            places = self.translation.places
            file, line = places[where[2]] if where[2] < len(places) else ("", 0)
            raise LaunchError(
                f"{self.name}: {said.value.decode()}\n  thread {where[0]} of block {where[1]}, {file}:{line}"
                f" (seed {options.seed}, launch {driver.launches})"
            )

    def max_resident_blocks(self, block: Sequence[int], shared: int = 0) -> int:
        """As in the simulator: the limits of threads and shared memory per multiprocessor, and the options."""
        threads, shared = int(np.prod(block)), shared + self.translation.shared
        if shared > self.driver.ptx.shared_limit:
            return 0
        per_sm = min(THREADS_PER_SM // max(1, threads), SHARED_PER_SM // max(1, shared), 32)
        return min(self.driver.ptx.resident, per_sm * self.driver.limits.multiprocessors)


def device_of(options: PtxOptions | None = None, rung: str | None = None, name: str = "ptx") -> Cuda:
    """A separate device on the machine; `rung` of CudnnRNN's ladder. Raises `DeviceUnavailable` without nvcc."""
    if (reason := build.reason_against()) is not None:
        raise DeviceUnavailable(f"ptx: {reason}")
    device = Cuda(PtxDriver(options), name)
    device.cudnn_rnn_rung = rung
    return device
