"""Modules and kernels of the simulator: argument checks, packing, the launch itself."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.devices.cuda.arguments import LETTERS, moved
from minirnn.devices.cuda.driver import CudaError, LaunchError, Work
from minirnn.devices.cuda.sim import library
from minirnn.devices.cuda.sim.build import KERNELS
from minirnn.devices.cuda.sim.report import Place, SimError, place_of
from minirnn.devices.cuda.sim.trace import Trace

NUMBERS = {letter: np.dtype(kind).type for kind, letter in LETTERS.items()}
"""Maps a letter of a signature to the type of the argument; P is a pointer, s a struct."""
GRID = struct.Struct("=6I")
THREADS_PER_SM, SHARED_PER_SM = 2048, 227 << 10

_loaded: set[Path] = set()  # libraries with variables that a module of this process uses


class SimModule:
    """A compiled .cu file, loaded by a `SimDriver`."""

    def __init__(self, driver: Any, path: Path, name: str, source: str) -> None:
        self.driver, self.path, self.name = driver, path, name
        self.sources = {name: source.splitlines()}
        self.library = ctypes.CDLL(str(path))
        exports = (ctypes.c_char * 65536).in_dll(self.library, "cusim_exports").value.decode()
        kernels, _, variables = exports.partition("|")
        self.kernels, self.variables = kernels.split(), variables.split()
        if self.variables and path in _loaded:
            self.library = _private_copy(path)
        _loaded.add(path)
        self._functions: dict[str, SimKernel] = {}
        for variable in self.variables:
            address, nbytes = self.variable(variable)
            driver.library.cusim_name_variable(address, nbytes, variable.encode())
            driver.memory.variables[address] = nbytes

    def function(self, name: str) -> SimKernel:
        """The kernel `name`. Raises `CudaError` if there is none."""
        found = self._functions.get(name)
        if found is None:
            if name not in self.kernels:
                raise CudaError(
                    f"{self.name} has no kernel {name!r}\n  its kernels: {', '.join(self.kernels) or 'none'}"
                )
            found = self._functions[name] = SimKernel(self, name)
        return found

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a ``__device__`` or ``__constant__`` variable."""
        if name not in self.variables:
            known = ", ".join(self.variables) or "none"
            raise CudaError(f"{self.name} has no variable {name!r}\n  its variables: {known}")
        find = getattr(self.library, f"cusim_var_{name}")
        find.restype, size = ctypes.c_void_p, ctypes.c_size_t()
        return int(find(ctypes.byref(size))), size.value

    def place(self, pc: int) -> Place:
        place = place_of(pc, self.path)
        if place.file not in self.sources and (KERNELS / place.file).is_file():
            self.sources[place.file] = (KERNELS / place.file).read_text(encoding="utf-8").splitlines()
        return place


def _private_copy(path: Path) -> ctypes.CDLL:
    """The library loaded again, with its own variables."""
    handle, copy = tempfile.mkstemp(suffix=".so")
    os.close(handle)
    try:
        shutil.copy(path, copy)
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)


class SimKernel:
    """A CUDA kernel. A call runs it; `minirnn.devices.cuda.driver.Kernel` describes its arguments."""

    def __init__(self, module: SimModule, name: str) -> None:
        self.module, self.name, self.driver = module, name, module.driver
        self._call = ctypes.cast(getattr(module.library, f"cusim_call_{name}"), ctypes.c_void_p).value
        describe = getattr(module.library, f"cusim_sig_{name}")
        describe.restype, sizes = ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint)()
        self.signature: str = describe(ctypes.byref(sizes)).decode()
        self.most_threads: int = getattr(module.library, f"cusim_most_{name}")()
        self._sizes = [sizes[k] for k in range(len(self.signature))]
        self._convert = [converter(letter, size) for letter, size in zip(self.signature, self._sizes, strict=True)]
        self._prepare()

    def _prepare(self) -> None:
        """Make one buffer for all launches: a table of addresses, then the arguments, each aligned."""
        count = len(self.signature)
        offset, offsets, form = 8 * count, [], "="
        for letter, size in zip(self.signature, self._sizes, strict=True):
            alignment = 16 if letter == "s" else size
            padding = -offset % alignment
            form += f"{padding}x" + (f"{size}s" if letter == "s" else "Q" if letter == "P" else letter)
            offsets.append(offset + padding)
            offset += padding + size
        self._pack = struct.Struct(form).pack_into
        self._nbytes = offset
        self._memory = ctypes.create_string_buffer(offset + 32)
        start = ctypes.addressof(self._memory)
        self._skip = -start % 16
        self._start = start + self._skip
        struct.pack_into(f"={count}Q", self._memory, self._skip, *[self._start + o for o in offsets])
        self._values = self._skip + 8 * count
        self._grid = ctypes.create_string_buffer(GRID.size)
        self._grid_at = ctypes.addressof(self._grid)

    def __call__(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> None:
        self._run(args, grid, block, shared, self.driver.run_options, 0)

    def prepared(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> Work:
        def launch(at: Sequence[int]) -> None:
            left = iter(at)
            given = [moved(arg, lambda _: next(left)) for arg in args]
            self(*given, grid=grid, block=block, shared=shared, cooperative=cooperative)

        return launch

    def traced(
        self,
        *args: Any,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int = 0,
        cooperative: bool = False,
        capacity: int = 1_000_000,
    ) -> Trace:
        """Run, and return every access to shared and device memory. Needs a driver in check mode."""
        if not self.driver.options.check:
            raise CudaError("cuda-sim: accesses are traced only in check mode\n  expected SimOptions(check=True)")
        accesses = np.zeros(capacity, library.ACCESS)
        options = self.driver.new_run_options(trace_capacity=capacity)
        traced = self._run(args, grid, block, shared, options, accesses.ctypes.data)
        return Trace(accesses[:traced].copy(), self.module.place)

    def _run(
        self, args: Sequence[Any], grid: Sequence[int], block: Sequence[int], shared: int, options: int, trace: int
    ) -> int:
        if len(args) != len(self._convert):
            raise TypeError(
                f"{self.name}: got {len(args)} arguments\n  expected {len(self._convert)}: {self.describe()}"
            )
        driver = self.driver
        for what, sizes in (("grid", grid), ("block", block)):
            if not isinstance(sizes, (tuple, list)):
                raise TypeError(f"{self.name}: {what} is {sizes!r}\n  expected a tuple of one to three integers")
        try:
            values = [convert(a) for convert, a in zip(self._convert, args, strict=True)]
        except _Wrong as wrong:
            raise self._wrong_argument(args, wrong) from None
        launch = partial(self._launch, values, tuple(grid), tuple(block), shared, options, trace)
        if driver.noting.work is not None and not trace:
            driver.noting.work.append(launch)
            return 0
        return launch()

    def _launch(
        self, values: Sequence[Any], grid: Sequence[int], block: Sequence[int], shared: int, options: int, trace: int
    ) -> int:
        """Run it now; `values` are the arguments as `struct` packs them."""
        driver = self.driver
        gx, gy, gz = grid if len(grid) == 3 else (*grid, 1, 1)[:3]
        bx, by, bz = block if len(block) == 3 else (*block, 1, 1)[:3]
        with library.lock:
            if driver.memory.dead:
                driver.memory.collect()
            self._pack(self._memory, self._values, *values)
            try:
                GRID.pack_into(self._grid, 0, gx, gy, gz, bx, by, bz)
            except struct.error:
                raise LaunchError(
                    f"{self.name}: grid {tuple(grid)}, block {tuple(block)}\n  expected positive integers"
                ) from None
            if self.most_threads < bx * by * bz <= 1024:
                raise LaunchError(
                    f"{self.name}: block {tuple(block)}\n  expected at most {self.most_threads} threads, as its"
                    " __launch_bounds__ promise\n  a GPU refuses the launch"
                )
            driver.launches += 1
            status = driver.library.cusim_launch(
                self._call, self._start, self._nbytes, self._grid_at, self._grid_at + 12, shared,
                options, driver.stats_at, trace,
            )  # fmt: skip
            if status:
                self._failed(status)
            return int(driver.stats.traced) if trace else 0

    def _failed(self, status: int) -> None:
        if status == library.INTERRUPTED:
            raise KeyboardInterrupt
        reason = self.driver.library.cusim_error().decode(errors="replace")
        pcs = (ctypes.c_void_p * 2)()
        self.driver.library.cusim_error_pcs(pcs)
        places = tuple(self.module.place(pc) for pc in pcs if pc)
        raise SimError(self.name, reason, places, self.module.sources)

    def _wrong_argument(self, args: Sequence[Any], wrong: _Wrong) -> TypeError:
        position, got = next((k, a) for k, a in enumerate(args) if a is wrong.value)
        hint = "a GPU would read wrong bytes"
        if isinstance(got, np.ndarray):
            hint = "it is in host memory: copy it to the device first"
        described = f"numpy.{got.dtype}" if isinstance(got, np.generic) else type(got).__name__
        if isinstance(got, np.void):
            described = f"a struct of {got.itemsize} bytes"
        return TypeError(f"{self.name}: argument {position} is {described}\n  expected {wrong.expected}\n  {hint}")

    def describe(self) -> str:
        """The parameters as a caller must pass them."""
        kinds = {letter: f"numpy.{kind(0).dtype}" for letter, kind in NUMBERS.items()} | {"P": "pointer"}
        return ", ".join(
            kinds.get(letter, f"struct of {size} bytes")
            for letter, size in zip(self.signature, self._sizes, strict=True)
        )

    def max_resident_blocks(self, block: Sequence[int], shared: int = 0) -> int:
        """The limit in the options, but not more than the threads and shared memory of a multiprocessor allow."""
        options = self.driver.options
        threads = int(np.prod(block))
        per_sm = min(THREADS_PER_SM // max(1, threads), SHARED_PER_SM // max(1, shared), 32)
        return min(options.resident, per_sm * self.driver.limits.multiprocessors)


class _Wrong(Exception):
    def __init__(self, value: Any, expected: str) -> None:
        self.value, self.expected = value, expected


def converter(letter: str, size: int) -> Callable[[Any], Any]:
    """The function that converts an argument to a value that `struct` packs; raises `_Wrong` for a wrong one."""
    if letter == "P":

        def pointer(a: Any) -> int:
            if a is None:
                return 0
            try:
                return a.ptr
            except AttributeError:
                if type(a) is int:
                    return a
                raise _Wrong(a, "a device array, a buffer or None") from None

        return pointer
    if letter == "s":

        def record(a: Any) -> bytes:
            if not isinstance(a, np.void) or a.itemsize != size:
                raise _Wrong(a, f"a NumPy structured scalar of {size} bytes")
            return a.tobytes()

        return record
    kind = NUMBERS[letter]

    def number(a: Any) -> Any:
        if type(a) is not kind:
            raise _Wrong(a, f"numpy.{kind(0).dtype}")
        return a

    return number
