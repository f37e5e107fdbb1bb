"""The `native` device: NumPy arrays, and kernels in C++ if they are faster than NumPy's."""

from __future__ import annotations

import os
from math import prod
from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.device import CPU
from minirnn.devices.native import blas, keyed, library, threads
from minirnn.devices.native.arguments import Product, address, call, matrix
from minirnn.devices.native.sequence import layer, step

WORTH_IT = 1 << 20
"""Multiply-adds of a product from which two threads are faster than one BLAS thread."""


class Native(CPU, kernels_in=(layer, step, keyed)):
    """The device `cpu` with the recurrent kernels and large products compiled for this processor.

    Everything else is as on the cpu device: primitives are NumPy's loops, which are already compiled;
    cross-entropy and Adam pass through memory once, as C++ would.

    While the device is the default one, BLAS computes in one thread: see `minirnn.devices.native.blas`. Raises
    ValueError if ``MINIRNN_NUM_THREADS`` is not a number of threads, and DeviceUnavailable if there is no C++ compiler,
    or it does not compile the kernels. The message says what to do.
    """

    name = "native"

    def __init__(self) -> None:
        super().__init__()
        threads.count()
        self.library = library.load(os.environ.get("MINIRNN_NATIVE_FLAGS", ""))
        if os.environ.get("MINIRNN_DEVICE") == self.name:
            blas.hold()  # for as long as the process lives

    def matmul(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        """NumPy's matmul. Products that are worth several threads go to `kernels/gemm.h`, all others to BLAS in one
        thread, as it computes small products anyway.
        """
        if large(a, b) and (a.ndim == 2 or a.flags.c_contiguous):
            rows = a.reshape(-1, a.shape[-1])
            (M, K), N = rows.shape, b.shape[1]
            c = workspace.empty((*a.shape[:-1], N), a.dtype)
            product = self.library.product_float if a.dtype == np.float32 else self.library.product_double
            call(product, Product(M, N, K, *matrix(rows), *matrix(b), address(c), N, 0), work=M * N * K)
            return c
        with blas.one_thread():
            return CPU.matmul(a, b)

    @property
    def vector_bits(self) -> int:
        """The width of the vectors that the kernels compute with."""
        return 8 * library.about(self.library)["vector_bytes"]

    def put_to_use(self) -> None:
        blas.hold()

    def put_away(self) -> None:
        blas.release()


def large(a: Any, b: Any) -> bool:
    """Whether a product is one of two float matrices, or of a batch with a matrix, and is large enough."""
    if getattr(b, "ndim", 0) != 2 or a.ndim < 2 or a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        return False
    whole = all(stride % a.itemsize == 0 for stride in (*a.strides, *b.strides))
    return a.shape[-1] == b.shape[0] and whole and prod(a.shape) * b.shape[1] >= WORTH_IT
