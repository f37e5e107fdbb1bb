"""The functions of cuBLAS that minirnn uses, by NumPy. Matrices are in column-major order there."""

import ctypes
from typing import Any

import numpy as np

from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import u32, write32, write64
from tests.stand_in_gpu.streams import enqueue

# cublasStatus_t
NOT_INITIALIZED, INVALID_VALUE, EXECUTION_FAILED = 1, 7, 13
NAMES = {
    NOT_INITIALIZED: "CUBLAS_STATUS_NOT_INITIALIZED",
    INVALID_VALUE: "CUBLAS_STATUS_INVALID_VALUE",
    EXECUTION_FAILED: "CUBLAS_STATUS_EXECUTION_FAILED",
}
TYPES = {0: np.dtype(np.float32), 1: np.dtype(np.float64), 2: np.dtype(np.float16)}  # cudaDataType
VERSION = 130000
_words: dict[int, ctypes.Array[ctypes.c_char]] = {}


class Blas:
    """A handle: its stream, and the workspace that its products use."""

    stream = 0
    workspace: frozenset[int] = frozenset()


def cublasCreate_v2(result: int) -> None:
    m.machine.need_context()
    write64(result, m.machine.handle(Blas()))


def cublasDestroy_v2(handle: int) -> None:
    m.machine.drop(handle, Blas)


def cublasGetVersion_v2(handle: int, result: int) -> None:
    write32(result, VERSION)


def cublasSetStream_v2(handle: int, stream: int) -> None:
    m.machine.stream(stream)
    m.machine.get(handle, Blas).stream = stream


def cublasSetWorkspace_v2(handle: int, workspace: int, nbytes: int) -> None:
    if workspace % 256:
        m.problems.append("cuBLAS: the workspace is not aligned to 256 bytes")
    m.machine.get(handle, Blas).workspace = frozenset({m.machine.must_hold(workspace, nbytes)})


def cublasSetMathMode(handle: int, mode: int) -> None:
    m.machine.get(handle, Blas)


def cublasGetStatusString(status: int) -> int:
    status = u32(status)
    if status not in _words:
        _words[status] = ctypes.create_string_buffer(NAMES.get(status, f"status {status}").encode())
    return ctypes.addressof(_words[status])


cublasGetStatusName = cublasGetStatusString


def cublasGemmEx(
    handle: int, ta: int, tb: int, columns: int, n: int, k: int, alpha: int, A: int, At: int, lda: int, B: int,
    Bt: int, ldb: int, beta: int, C: int, Ct: int, ldc: int, compute: int, algorithm: int,
) -> int | None:  # fmt: skip
    return cublasGemmStridedBatchedEx(
        handle, ta, tb, columns, n, k, alpha, A, At, lda, 0, B, Bt, ldb, 0, beta, C, Ct, ldc, 0, 1, compute, algorithm
    )


def cublasGemmStridedBatchedEx(
    handle: int, ta: int, tb: int, columns: int, n: int, k: int, alpha: int, A: int, At: int, lda: int, step_a: int,
    B: int, Bt: int, ldb: int, step_b: int, beta: int, C: int, Ct: int, ldc: int, step_c: int, batch: int,
    compute: int, algorithm: int,
) -> int | None:  # fmt: skip
    """C = alpha * op(A) @ op(B) + beta * C, `batch` times."""
    ta, tb, columns, n, k, lda, ldb, ldc, batch = map(u32, (ta, tb, columns, n, k, lda, ldb, ldc, batch))
    matrices = (
        (A, *((k, columns) if ta else (columns, k)), lda, step_a, TYPES[u32(At)]),
        (B, *((n, k) if tb else (k, n)), ldb, step_b, TYPES[u32(Bt)]),
        (C, columns, n, ldc, step_c, TYPES[u32(Ct)]),
    )
    blas = m.machine.get(handle, Blas)
    memory = set(blas.workspace)
    for address, rows, width, ld, step, dtype in matrices:
        if ld < rows:
            return INVALID_VALUE
        start = m.machine.allocation(address, ((batch - 1) * step + (width - 1) * ld + rows) * dtype.itemsize)
        if start is None:
            m.problems.append(f"cuBLAS: a product m {columns}, n {n}, k {k} leaves its memory")
            return EXECUTION_FAILED
        memory.add(start)
    wide = np.dtype(np.float64) if TYPES[u32(Ct)] == np.float64 else np.dtype(np.float32)
    alpha, beta = (np.frombuffer(ctypes.string_at(factor, wide.itemsize), wide)[0] for factor in (alpha, beta))

    def multiply() -> None:
        for number in range(batch):
            a, b, c = (seen_by_numpy(number, *matrix) for matrix in matrices)
            product = alpha * ((a.T if ta else a).astype(wide) @ (b.T if tb else b).astype(wide))
            with np.errstate(over="ignore"):  # values that are too large for float16 become infinite
                c[...] = product if beta == 0 else product + beta * c

    enqueue(blas.stream, multiply, frozenset(memory))
    return None


def seen_by_numpy(number: int, address: int, rows: int, columns: int, ld: int, step: int, dtype: Any) -> np.ndarray:
    """Matrix `number` of a batch, over the simulated memory. (rows, columns)"""
    size = (columns - 1) * ld + rows
    memory = (ctypes.c_char * (size * dtype.itemsize)).from_address(address + number * step * dtype.itemsize)
    flat = np.frombuffer(memory, dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (dtype.itemsize, ld * dtype.itemsize))
