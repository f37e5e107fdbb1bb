"""The elementwise primitives of the CUDA device, made from the names of their kernels.

Each is a separate method, which saves a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.primitives.elementwise import elementwise
from minirnn.devices.cuda.launcher import Launcher

BOOL = np.dtype(np.bool_)


def unary(kernel: str) -> Callable[[Any, CudaArray], CudaArray]:
    """A primitive of `arithmetic.cu` with one operand."""

    def primitive(self: Launcher, a: CudaArray) -> CudaArray:
        self._own(a)
        return elementwise(self, "primitives/arithmetic.cu", kernel, (a,), a.dtype, a.dtype)

    return primitive


def function(kernel: str, keeps_integers: bool = False) -> Callable[[Any, CudaArray], CudaArray]:
    """A function of floats of `functions.cu`; other operands become float64, or are returned unchanged."""

    def primitive(self: Launcher, a: CudaArray) -> CudaArray:
        self._own(a)
        if a.dtype.kind != "f":
            if keeps_integers:
                return a
            a = self.cast(a, np.float64)
        return elementwise(self, "primitives/functions.cu", f"{kernel}_", (a,), a.dtype, a.dtype)

    return primitive


def arithmetic(kernel: str) -> Callable[[Any, Any, Any], CudaArray]:
    """A primitive of `arithmetic.cu` with two operands."""

    def primitive(self: Launcher, a: Any, b: Any) -> CudaArray:
        dtype = self._common(a, b, divides=kernel == "divide")
        if dtype == BOOL and kernel == "power":
            dtype = np.dtype(np.int8)
        if dtype == BOOL and kernel == "subtract":
            raise TypeError("subtract: got booleans\n  expected numbers\n  use not_equal for an exclusive or")
        operands = self._operand(a, dtype), self._operand(b, dtype)
        return elementwise(self, "primitives/arithmetic.cu", kernel, operands, dtype, dtype)

    return primitive


def comparison(kernel: str) -> Callable[[Any, Any, Any], CudaArray]:
    """A primitive of `compare.cu`."""

    def primitive(self: Launcher, a: Any, b: Any) -> CudaArray:
        dtype = self._common(a, b)
        operands = self._operand(a, dtype), self._operand(b, dtype)
        return elementwise(self, "primitives/compare.cu", kernel, operands, dtype, BOOL)

    return primitive
