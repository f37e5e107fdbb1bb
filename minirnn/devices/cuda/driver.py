"""The interface below the `cuda` device: memory, modules compiled from CUDA C++, launches, matrix products.

Two drivers implement it: `gpu/driver.py` (an NVIDIA GPU) and `sim/driver.py` (the simulator). Addresses are plain
integers. Work given to a driver runs in order, and may still be running when a call returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from minirnn.devices.host_cpp.compiler import CompileError as CompileError


@dataclass(frozen=True)
class Limits:
    """The limits of a CUDA device, in the units of CUDA's device attributes."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    threads_per_block: int
    shared_bytes_per_block: int
    memory_bytes: int
    simulated: bool
    warp: int = 32
    cooperative: bool = True  # it can launch blocks that wait for each other
    l2_bytes: int = 0  # 0: unknown


Work = Callable[[Sequence[int]], None]
"""Prepared work: it runs with these addresses, inside ``with driver.working``."""


class Buffer(Protocol):
    """A range of device memory. It returns to its driver when nothing refers to this object any longer."""

    @property
    def ptr(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


class Kernel(Protocol):
    """A CUDA kernel: a ``__global__`` function of a module.

    Its arguments are objects with an integer ``ptr`` (a device array, a `Buffer`) or None (null) for pointers, NumPy
    scalars of exactly the parameter's type for numbers, and NumPy structured scalars (``np.void``, laid out as in C)
    for structs.
    """

    name: str

    def __call__(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> None:
        """Launch it. With `cooperative` its blocks wait for each other, so all of them must be on the device at once.

        A GPU then rejects a launch whose blocks do not fit. A plain launch promises only that each block runs at some
        time.
        """

    def prepared(
        self, *args: Any, grid: Sequence[int], block: Sequence[int], shared: int = 0, cooperative: bool = False
    ) -> Work:
        """The same launch with other addresses in the arguments (`arguments.addresses`)."""

    def max_resident_blocks(self, block: Sequence[int], shared: int = 0) -> int:
        """The number of blocks of this kernel that the whole device holds at once."""


class Module(Protocol):
    """One compiled .cu file."""

    def function(self, name: str) -> Kernel: ...


class Recording(Protocol):
    """Recorded work, which can be run any number of times in a single launch."""

    def __call__(self) -> None: ...

    def close(self) -> None:
        """Release its resources. It cannot be run afterwards."""


class Driver(Protocol):
    """Everything that `minirnn.devices.cuda.device.Cuda` uses."""

    name: str
    """The name of the device: "cuda" or "cuda-sim"."""
    limits: Limits
    launches: int
    """Kernels launched so far, products included; a recording that is run counts once."""
    seconds: Callable[[Callable[[], None]], float] | None
    """The time that the device takes for the work of the given function, by its own clock; None if it has no meaningful
    clock."""

    prepares: bool
    """Whether launches may be prepared."""
    working: AbstractContextManager[None]
    """Prepared work runs inside ``with driver.working``."""

    def alloc(self, nbytes: int) -> Buffer:
        """Memory of arbitrary contents. Raises `OutOfDeviceMemory`."""

    def h2d(self, ptr: int, host: np.ndarray) -> None:
        """Copy a C-contiguous host array to the device. The host array may change as soon as this returns."""

    def d2h(self, host: np.ndarray, ptr: int) -> None:
        """Fill a C-contiguous host array, after all earlier work."""

    def d2d(self, to: int, ptr: int, nbytes: int) -> None: ...

    def memset(self, ptr: int, byte: int, nbytes: int) -> None: ...

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> Module:
        """Compile CUDA C++ text; `options` are ``-DNAME=VALUE``. ``#include`` finds the files of `kernels/`.

        Each (source, name, options) is compiled once and kept on disk. Raises `CompileError`, which quotes `name` and
        the line.
        """

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        """c = a @ b + beta * c, `batch` times over. Float16 is multiplied and summed in float32; float32 is rounded to
        TF32 before it is multiplied if this thread chose so (`minirnn.use_precision`)."""

    def prepared_d2d(self, nbytes: int) -> Work:
        """`d2d` from the second address to the first."""

    def prepared_memset(self, byte: int, nbytes: int) -> Work: ...

    def prepared_gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> Work:
        """`gemm` of matrices at three addresses, in the precision of now."""

    def record(self, work: Callable[[], None]) -> Recording:
        """Record the kernels, products, `memset` and `d2d` of `work()` in this thread, without running them.

        They are recorded with their addresses, so the caller must ensure that the memory there is still valid.
        """

    def gpu_of(self, ptr: int) -> int:
        """The number of the GPU in whose memory this address is; this one has number 0."""

    def wait_for(self, stream: int | None) -> None:
        """Wait for the GPU work of another library: on the stream of that handle, or with None on any."""

    def synchronize(self) -> None:
        """Wait for all work; raises `LaunchError` if some of it failed."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Row-major matrices (rows, cols) in device memory, one after another at a distance of `stride` elements.

    Element (r, k) of matrix n is at ``ptr + itemsize * (n * stride + r * ld + k)``; or, if `transposed`, at ``ptr +
    itemsize * (n * stride + k * ld + r)``. `keep` holds the owner of the memory alive until the call returns.
    """

    ptr: int
    rows: int
    cols: int
    ld: int
    dtype: np.dtype
    transposed: bool = False
    stride: int = 0
    keep: Any = None


class CudaError(RuntimeError):
    """An error of a CUDA driver or the simulator."""


class LaunchError(CudaError):
    """A kernel could not be launched, or failed while it ran."""


class RefusedLaunch(LaunchError):
    """The driver cannot start all blocks of a cooperative launch at once, because the program has a part of the GPU."""


class NotRecordable(CudaError):
    """Work cannot be written down, because it does more than launches."""


class OutOfDeviceMemory(MemoryError):
    """Raised if a program requests more memory than the device has."""

    def __init__(self, device: str, asked: int, held: int, free: int) -> None:
        self.asked, self.held, self.free = asked, held, free
        super().__init__(
            f"{device}: out of memory: asked for {megabytes(asked)}, minirnn holds {megabytes(held)},"
            f" {megabytes(free)} are free\n"
            "  a smaller batch or a shorter sequence needs less; memory of tensors that are no longer referenced is "
            "freed"
        )


def megabytes(nbytes: int) -> str:
    """`nbytes` in readable form."""
    return f"{nbytes / 2**20:,.1f} MiB" if nbytes >= 2**20 else f"{nbytes:,} bytes"
