"""The `native` device: NumPy arrays, and kernels in C++ if they are faster than NumPy's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from minirnn.devices.cpu.device import CPU
from minirnn.devices.native import blas, keyed, library, products, threads
from minirnn.devices.native.sequence import layer, step


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

    def function(self, name: str, dtype: np.dtype) -> Any:
        """The kernel `name` for arrays of `dtype`, float32 or float64."""
        return getattr(self.library, f"{name}_{'float' if dtype == np.float32 else 'double'}")

    def matmul(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        return products.matmul(self, a, b)

    @property
    def vector_bits(self) -> int:
        """The width of the vectors that the kernels compute with."""
        return 8 * library.about(self.library)["vector_bytes"]

    def put_to_use(self) -> None:
        blas.hold()

    def put_away(self) -> None:
        blas.release()
