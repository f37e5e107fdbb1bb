"""Matrix products: NumPy's matmul in terms of the driver's batched product of matrices, and of `matmul.cu`."""

from __future__ import annotations

from math import prod

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Matrix
from minirnn.devices.cuda.launcher import Launcher

TILE = 16
MOST = 65535
"""The blocks that a grid may have along y and z."""


def matrix(a: CudaArray, stride: int = 0) -> Matrix | None:
    """The last two axes of `a` as a matrix that the driver multiplies in place, or None if it must be copied first."""
    rows, cols = a.shape[-2:]
    row_stride, column_stride = a.element_strides[-2:]
    if (column_stride == 1 or cols == 1) and (row_stride >= cols or rows == 1):
        return Matrix(a.ptr, rows, cols, max(row_stride if rows > 1 else cols, 1), a.dtype, False, stride, a)
    if (row_stride == 1 or rows == 1) and (column_stride >= rows or cols == 1):
        return Matrix(a.ptr, rows, cols, max(column_stride if cols > 1 else rows, 1), a.dtype, True, stride, a)
    return None


def batch_stride(a: CudaArray) -> int | None:
    """The distance of the matrices of `a`, if they are equally spaced; otherwise None."""
    stride = 0
    count = 1
    for n, along in zip(reversed(a.shape[:-2]), reversed(a.element_strides[:-2]), strict=True):
        if n == 1:
            continue
        if count > 1 and along != stride * count:
            return None
        if count == 1:
            stride = along
        count *= n
    return stride


def matmul(device: Launcher, a: CudaArray, b: CudaArray) -> CudaArray:
    """``a @ b`` for arrays of one dtype by NumPy's rules: vectors, matrices, broadcast stacks of matrices."""
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: got an operand without axes\n  expected at least one axis each")
    row = a.ndim == 1
    column = b.ndim == 1
    if row:
        a = a.seen_as((1, *a.shape), (0, *a.element_strides))
    if column:
        b = b.seen_as((*b.shape, 1), (*b.element_strides, 0))
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: the last axis of the first operand has {a.shape[-1]} elements,"
            f" the one before the last of the second {b.shape[-2]}\n  expected (..., n, k) @ (..., k, m)"
        )
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = device.broadcast_to(a, (*stack, *a.shape[-2:]))
    b = device.broadcast_to(b, (*stack, *b.shape[-2:]))
    c = device.empty((*stack, a.shape[-2], b.shape[-1]), a.dtype)
    if c.size:
        if a.shape[-1] == 0:
            c = device.full(c.shape, 0, c.dtype)
        elif a.dtype.kind == "f":
            products(device, a, b, c)
        else:
            _multiply_by_tiles(device, device.contiguous(a), device.contiguous(b), c)
    return c.seen_as(*_without(c, row, column))


def product(device: Launcher, a: CudaArray, b: CudaArray, c: CudaArray, beta: float = 0.0) -> None:
    """``c = a @ b + beta * c`` for matrices; `c` has C order. `a` and `b` are copied unless they, or their transposes,
    have rows without gaps.

    Float16 operands may have a float32 result.
    """
    if not c.size:
        return
    if not a.shape[1]:
        if not beta:
            device.driver.memset(c.ptr, 0, c.nbytes)
        return
    device.driver.gemm(*matrices(device, a, b, c), beta)


def matrices(device: Launcher, a: CudaArray, b: CudaArray, c: CudaArray) -> tuple[Matrix, Matrix, Matrix]:
    """The operands and the result of `product` as the driver takes them."""
    left, right = (matrix(x) or matrix(device.contiguous(x)) for x in (a, b))
    to = matrix(c)
    assert left is not None and right is not None and to is not None and not to.transposed
    return left, right, to


def products(device: Launcher, a: CudaArray, b: CudaArray, c: CudaArray) -> None:
    """``c = a @ b`` for stacks of as many matrices, in one launch; `c` has C order."""
    if not c.size:
        return
    batch = prod(c.shape[:-2])
    operands = []
    for x in (a, b):
        stride = batch_stride(x)
        found = None if stride is None or stride < 0 else matrix(x, stride)
        if found is None:
            x = device.contiguous(x)
            found = matrix(x, x.shape[-2] * x.shape[-1])
        operands.append(found)
    left, right = operands
    assert left is not None and right is not None
    M, N = c.shape[-2:]
    device.driver.gemm(left, right, Matrix(c.ptr, M, N, N, c.dtype, False, M * N, c), batch=batch)


def _multiply_by_tiles(device: Launcher, a: CudaArray, b: CudaArray, c: CudaArray) -> None:
    """In several launches if there are more products, or more tiles in a column, than a grid may have along y and z."""
    count, M, N, K = prod(c.shape[:-2]), c.shape[-2], c.shape[-1], a.shape[-1]
    run = device.kernel_of("primitives/matmul.cu", "matmul", c.dtype)
    rows = min(M, MOST * TILE)
    batch = MOST if rows == M else 1
    for n in range(0, count, batch):
        for m in range(0, M, rows):
            now, high = min(batch, count - n), min(rows, M - m)
            at = [
                x.seen_as((), (), start)
                for x, start in ((a, n * M * K + m * K), (b, n * K * N), (c, n * M * N + m * N))
            ]
            sizes = np.int32(high), np.int32(N), np.int32(K), np.int64(M * K), np.int64(K * N)
            run(*at, *sizes, grid=(-(-N // TILE), -(-high // TILE), now), block=(TILE, TILE, 1))


def _without(c: CudaArray, row: bool, column: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of `c` without the axes that were added for vectors."""
    keep = [d for d in range(c.ndim) if not (row and d == c.ndim - 2 or column and d == c.ndim - 1)]
    return tuple(c.shape[d] for d in keep), tuple(c.element_strides[d] for d in keep)
