"""A `nvmath.bindings.cublas` that multiplies matrices in host memory, read in columns as cuBLAS reads them."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

CUDA_TYPES = {0: np.float32, 1: np.float64, 2: np.float16}


class Operation(enum.IntEnum):
    N, T, C = 0, 1, 2


class ComputeType(enum.IntEnum):
    COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32F_FAST_TF32 = 64, 68, 70, 77


class Math(enum.IntEnum):
    DEFAULT_MATH, DISALLOW_REDUCED_PRECISION_REDUCTION = 0, 16


class GemmAlgo(enum.IntEnum):
    DEFAULT = -1


class cuBLASError(Exception):  # as NVIDIA spells it
    pass


class Cublas:
    """The module's functions, and what they were asked."""

    Operation, ComputeType, Math, GemmAlgo, cuBLASError = Operation, ComputeType, Math, GemmAlgo, cuBLASError

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.compute: list[int] = []
        self.destroyed = 0
        self.streams: dict[int, int] = {}  # of each handle
        self.captured: dict[int, list[Callable[[], None]]] = {}  # by stream, while one is captured

    def create(self) -> int:
        return 99 + len(self.streams)

    def _send(self, handle: int, do: Callable[[], None]) -> None:
        stream = self.streams[handle]
        self.captured[stream].append(do) if stream in self.captured else do()

    def destroy(self, handle: int) -> None:
        self.destroyed += 1

    def set_stream(self, handle: int, stream_id: int) -> None:
        self.streams[handle] = stream_id
        self.asked.append(f"stream {stream_id}")

    def set_workspace(self, handle: int, workspace: int, workspace_size_in_bytes: int) -> None:
        assert workspace % 256 == 0
        self.asked.append(f"workspace {workspace_size_in_bytes}")

    def set_math_mode(self, handle: int, mode: int) -> None:
        self.asked.append(f"math {int(mode)}")

    def gemm_ex(self, handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute_type, algo):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
        self.compute.append(int(compute_type))
        given = (transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute_type)
        self._send(handle, lambda: product(*given))

    def gemm_strided_batched_ex(self, handle, transa, transb, m, n, k, alpha, a, atype, lda, stride_a, b, btype, ldb, stride_b, beta, c, ctype, ldc, stride_c, batch_count, compute_type, algo):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
        self.compute.append(int(compute_type))
        size = lambda kind: np.dtype(CUDA_TYPES[kind]).itemsize  # noqa: E731
        for i in range(batch_count):
            ai, bi, ci = a + i * stride_a * size(atype), b + i * stride_b * size(btype), c + i * stride_c * size(ctype)
            product(transa, transb, m, n, k, alpha, ai, atype, lda, bi, btype, ldb, beta, ci, ctype, ldc, compute_type)


def product(transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute_type):  # type: ignore[no-untyped-def]  # noqa: E501
    """C = alpha op(A) op(B) + beta C; op(A) is m by k, op(B) k by n, C m by n, all in columns."""
    wide = np.float64 if compute_type == ComputeType.COMPUTE_64F else np.float32
    factor = [float(number(p, wide)) for p in (alpha, beta)]
    A = columns(a, CUDA_TYPES[atype], *((m, k) if transa == Operation.N else (k, m)), lda)
    B = columns(b, CUDA_TYPES[btype], *((k, n) if transb == Operation.N else (n, k)), ldb)
    C = columns(c, CUDA_TYPES[ctype], m, n, ldc)
    A, B = (A if transa == Operation.N else A.T), (B if transb == Operation.N else B.T)
    result = factor[0] * (A.astype(wide) @ B.astype(wide))
    C[...] = result + (factor[1] * C.astype(wide) if factor[1] else 0)  # beta 0: C may hold NaN


def number(address: int, dtype: Any) -> Any:
    return columns(address, dtype, 1, 1, 1)[0, 0]


def columns(address: int, dtype: Any, rows: int, cols: int, ld: int) -> np.ndarray:
    """A view of memory as a column-major matrix."""
    if ld < max(1, rows):
        raise cuBLASError("CUBLAS_STATUS_INVALID_VALUE (7)")
    size = np.dtype(dtype).itemsize
    count = (cols - 1) * ld + rows if rows and cols else 0
    memory = (ctypes.c_char * max(count * size, 1)).from_address(address)
    flat = np.ndarray((count,), dtype, memory)
    return np.lib.stride_tricks.as_strided(flat, (rows, cols), (size, ld * size))


def make(cublas: Cublas) -> dict[str, ModuleType]:
    """The modules to enter into `sys.modules`."""
    package, bindings = ModuleType("nvmath"), ModuleType("nvmath.bindings")
    bindings.cublas = cublas  # type: ignore[attr-defined]
    package.bindings = bindings  # type: ignore[attr-defined]
    return {"nvmath": package, "nvmath.bindings": bindings}
