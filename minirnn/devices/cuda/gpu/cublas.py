"""Matrix products by NVIDIA's cuBLAS.

cuBLAS uses column-major order, in which a row-major matrix is its own transpose. So c = a @ b of row-major matrices is
computed as c.T = b.T @ a.T, which needs no copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
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
        self.handle = handle
        libcublas.call("cublasSetStream_v2", handle, stream)
        self._workspace = alloc(WORKSPACE.get(capability[0], 4 << 20))
        libcublas.call("cublasSetWorkspace_v2", handle, self._workspace.ptr, self._workspace.nbytes)
        # Partial sums of float16 products stay float32.
        libcublas.call("cublasSetMathMode", handle, libcublas.DISALLOW_REDUCED_PRECISION_REDUCTION)

    def close(self) -> None:
        libcublas.call("cublasDestroy_v2", self.handle)


def prepared(
    a: Matrix, b: Matrix, c: Matrix, beta: float, batch: int, tf32: bool
) -> Callable[[ctypes.c_void_p, Sequence[int]], None]:
    """c = a @ b + beta * c as a function of a handle and three addresses. With `tf32`, float32 is multiplied with 10
    bits of mantissa.

    Raises ValueError or TypeError for matrices that do not fit together; the function, `LaunchError` if cuBLAS fails.
    """
    check(a, b, c)
    first, second, result = (b, a, c)
    if c.transposed:  # c.T = b.T @ a.T
        first, second, result = flipped(a), flipped(b), flipped(c)
    m, n, k = result.cols, result.rows, second.cols  # of c.T, read in columns
    if m == 0 or n == 0 or batch == 0:
        return lambda handle, at: None
    kind = DOUBLE if c.dtype == DOUBLE else FLOAT
    compute = libcublas.COMPUTE_64F if kind is DOUBLE else libcublas.COMPUTE_32F
    if tf32 and a.dtype == FLOAT:
        compute = libcublas.COMPUTE_32F_FAST_TF32
    widths, name = [width(x) for x in (first, second, result)], "cublasGemmEx"
    strides: list[tuple[int, ...]] = [(), (), ()]
    batches: tuple[int, ...] = ()
    if batch > 1:
        name, batches = "cublasGemmStridedBatchedEx", (batch,)
        strides = [(x.stride,) for x in (first, second, result)]
    if max(m, n, k, batch, *widths) > libcublas.LARGEST_INT:
        name += "_64"
    operations = [libcublas.T if x.transposed else libcublas.N for x in (first, second)]
    (lda, ldb, ldc), (types_a, types_b, types_c) = widths, [CUDA_TYPES[x.dtype] for x in (first, second, result)]
    before, one, factor = (*operations, m, n, k), factor_of(kind, 1.0), factor_of(kind, beta)
    after = *batches, compute, libcublas.DEFAULT_ALGORITHM
    left, right = (0, 1) if c.transposed else (1, 0)

    def multiply(handle: ctypes.c_void_p, at: Sequence[int]) -> None:
        try:
            libcublas.call(
                name, handle, *before, one, at[left], types_a, lda, *strides[0], at[right], types_b, ldb, *strides[1],
                factor, at[2], types_c, ldc, *strides[2], *after,
            )  # fmt: skip
        except LaunchError as error:
            raise LaunchError(
                f"product of ({a.rows}, {a.cols}) and ({b.rows}, {b.cols}), {a.dtype}: {error}"
            ) from error

    return multiply


_factors: dict[tuple[np.dtype, float], np.ndarray] = {}


def factor_of(dtype: np.dtype, value: float) -> int:
    """The address of a number in host memory that stays valid, because cuBLAS reads it when the product is called."""
    return int(_factors.setdefault((dtype, value), np.array([value], dtype)).ctypes.data)


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
