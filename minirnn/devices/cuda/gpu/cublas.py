"""Matrix products by NVIDIA's cuBLAS.

cuBLAS uses column-major order, in which a row-major matrix is its own transpose. So c = a @ b of row-major matrices is
computed as c.T = b.T @ a.T, which needs no copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.driver import Buffer, LaunchError, Matrix
from minirnn.devices.cuda.gpu import libcublas
from minirnn.machine import toolchain

HALF, FLOAT, DOUBLE = (np.dtype(name) for name in ("float16", "float32", "float64"))
CUDA_TYPES = {FLOAT: 0, DOUBLE: 1, HALF: 2}
"""Maps a dtype to CUDA_R_32F, CUDA_R_64F, CUDA_R_16F of NVIDIA's library_types.h."""
SUPPORTED = {(HALF, HALF), (HALF, FLOAT), (FLOAT, FLOAT), (DOUBLE, DOUBLE)}
"""The dtypes of (a and b, c) that cuBLAS multiplies here."""
WORKSPACE = {9: 32 << 20}
"""The workspace size that NVIDIA recommends, by major compute capability; 4 MiB for all others."""


class Cublas:
    """A cuBLAS handle bound to one stream.

    Parameters
    ----------
    stream : int
        Handle of the stream on which the products run.
    alloc : callable
        Allocates device memory of a given size, for the workspace.
    capability : tuple of int
        The GPU's compute capability.

    Raises
    ------
    DeviceUnavailable
        If cuBLAS is missing or does not fit the driver.
    """

    def __init__(self, stream: int, alloc: Callable[[int], Buffer], capability: tuple[int, int]) -> None:
        handle = ctypes.c_void_p()
        try:
            libcublas.call("cublasCreate_v2", ctypes.byref(handle))
        except (LaunchError, OSError, ImportError) as error:
            command = toolchain.pip_install(toolchain.extra())
            raise DeviceUnavailable(f"cuda: cuBLAS cannot be used: {error}\n  to get it: {command}") from error
        self._handle = handle
        libcublas.call("cublasSetStream_v2", handle, stream)
        self._workspace = alloc(WORKSPACE.get(capability[0], 4 << 20))
        libcublas.call("cublasSetWorkspace_v2", handle, self._workspace.ptr, self._workspace.nbytes)
        # Partial sums of float16 products stay float32.
        libcublas.call("cublasSetMathMode", handle, libcublas.DISALLOW_REDUCED_PRECISION_REDUCTION)
        self._factors: dict[tuple[np.dtype, float], tuple[int, np.ndarray]] = {}

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float, batch: int, tf32: bool) -> None:
        """c = a @ b + beta * c. With `tf32`, float32 is multiplied with 10 bits of mantissa.

        Raises ValueError or TypeError for matrices that do not fit together, `LaunchError` if cuBLAS fails.
        """
        check(a, b, c)
        if c.transposed:  # c.T = b.T @ a.T
            a, b, c = flipped(b), flipped(a), flipped(c)
        m, n, k = c.cols, c.rows, a.cols  # of c.T, read in columns
        if m == 0 or n == 0 or batch == 0:
            return
        factor = DOUBLE if c.dtype == DOUBLE else FLOAT
        compute = libcublas.COMPUTE_64F if factor is DOUBLE else libcublas.COMPUTE_32F
        if tf32 and a.dtype == FLOAT:
            compute = libcublas.COMPUTE_32F_FAST_TF32
        first = [b.ptr, CUDA_TYPES[b.dtype], width(b)]
        second = [a.ptr, CUDA_TYPES[a.dtype], width(a)]
        result = [c.ptr, CUDA_TYPES[c.dtype], width(c)]
        function, batches = "cublasGemmEx", []
        if batch > 1:
            function, batches = "cublasGemmStridedBatchedEx", [batch]
            for matrix, arguments in ((b, first), (a, second), (c, result)):
                arguments.append(matrix.stride)
        operations = [libcublas.T if x.transposed else libcublas.N for x in (b, a)]
        try:
            libcublas.call(
                function, self._handle, *operations, m, n, k, self._factor(factor, 1.0), *first, *second,
                self._factor(factor, beta), *result, *batches, compute, libcublas.DEFAULT_ALGORITHM,
            )  # fmt: skip
        except LaunchError as error:
            raise LaunchError(
                f"product of ({a.rows}, {a.cols}) and ({b.rows}, {b.cols}), {a.dtype}: {error}"
            ) from error

    def _factor(self, dtype: np.dtype, value: float) -> int:
        """The address of a number in host memory that stays valid, because cuBLAS reads it when the product is
        called.
        """
        found = self._factors.get((dtype, value))
        if found is None:
            number = np.array([value], dtype)
            found = self._factors[dtype, value] = number.ctypes.data, number
        return found[0]

    def close(self) -> None:
        libcublas.call("cublasDestroy_v2", self._handle)


def flipped(x: Matrix) -> Matrix:
    """The transpose of `x`: the same memory, read the other way."""
    return replace(x, rows=x.cols, cols=x.rows, transposed=not x.transposed)


def width(x: Matrix) -> int:
    """The distance between lines of `x` in memory. For a single line any value works, but cuBLAS checks it."""
    lines, length = (x.cols, x.rows) if x.transposed else (x.rows, x.cols)
    return max(x.ld, length, 1) if lines <= 1 else x.ld


def check(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Reject matrices that cuBLAS would reject without a reason, or multiply wrongly."""
    if a.cols != b.rows or (a.rows, b.cols) != (c.rows, c.cols):
        raise ValueError(
            f"product of ({a.rows}, {a.cols}) and ({b.rows}, {b.cols}) into ({c.rows}, {c.cols})\n"
            "  expected (n, k), (k, m) and (n, m)"
        )
    if a.dtype != b.dtype or (a.dtype, c.dtype) not in SUPPORTED:
        raise TypeError(
            f"product of {a.dtype} and {b.dtype} into {c.dtype}\n"
            "  expected one dtype of float16, float32, float64; float16 also into float32"
        )
    for x in (a, b, c):
        length = x.rows if x.transposed else x.cols
        if width(x) < length:
            raise ValueError(f"matrix ({x.rows}, {x.cols}) with ld {x.ld}\n  expected at least {length}")
