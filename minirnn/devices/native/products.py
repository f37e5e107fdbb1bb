"""Matrix products of the device `native`: large ones by its own micro-kernel and threads, small ones by BLAS.

BLAS has its own threads, and two pools of threads compete for the cores. So BLAS computes in one thread here
(`minirnn.devices.native.blas`), as it does for small products anyway; products that are worth several threads go to
`kernels/gemm.h`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.primitives import Primitives
from minirnn.devices.native import blas
from minirnn.devices.native.arguments import Product, address, call, matrix

WORTH_IT = 1 << 20
"""Multiply-adds from which two threads are faster than one BLAS thread."""


def matmul(device: Any, a: Any, b: Any) -> Any:
    """NumPy's matmul: (..., n, k) @ (..., k, m), and vectors."""
    if large(a, b) and (a.ndim == 2 or a.flags.c_contiguous):
        rows = a.reshape(-1, a.shape[-1])
        (M, K), N = rows.shape, b.shape[1]
        c = workspace.empty((*a.shape[:-1], N), a.dtype)
        p = Product(M, N, K, *matrix(rows), *matrix(b), address(c), N, 0)
        call(device.function("product", a.dtype), p, work=M * N * K)
        return c
    with blas.one_thread():
        return Primitives.matmul(a, b)


def large(a: Any, b: Any) -> bool:
    """Whether a product is one of two float matrices, or of a batch with a matrix, and is large enough."""
    if getattr(b, "ndim", 0) != 2 or a.ndim < 2 or a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        return False
    whole = all(stride % a.itemsize == 0 for stride in (*a.strides, *b.strides))
    return a.shape[-1] == b.shape[0] and whole and prod(a.shape) * b.shape[1] >= WORTH_IT
