"""The seven functions of cuBLAS that are needed here, by ctypes.

cuBLAS is a C library whose functions have not changed for years, so a binding would add more packages than it saves
lines. NVIDIA's `cuda-pathfinder` finds the library in a wheel; one that the system's loader knows, or that another
library of this process has loaded, is taken first.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from minirnn.devices.cuda.driver import LaunchError
from minirnn.machine import toolchain

# cublasOperation_t, cublasComputeType_t, cublasMath_t, cublasGemmAlgo_t
N, T = 0, 1
COMPUTE_32F, COMPUTE_64F, COMPUTE_32F_FAST_TF32 = 68, 70, 77
DISALLOW_REDUCED_PRECISION_REDUCTION = 16
DEFAULT_ALGORITHM = -1

LARGEST_INT = 2**31 - 1
"""Sizes above it need the functions whose names end in ``_64``."""

POINTER, INT, STRIDE = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
ARGUMENTS: dict[str, list[Any]] = {
    "cublasCreate_v2": [POINTER],
    "cublasDestroy_v2": [POINTER],
    "cublasSetStream_v2": [POINTER, POINTER],
    "cublasSetWorkspace_v2": [POINTER, POINTER, ctypes.c_size_t],
    "cublasSetMathMode": [POINTER, INT],
    # handle, operations, m n k, alpha, three matrices with beta before the last, compute type, algorithm
    "cublasGemmEx": [
        *(POINTER, INT, INT, INT, INT, INT, POINTER),
        *(POINTER, INT, INT),
        *(POINTER, INT, INT),
        POINTER,
        *(POINTER, INT, INT),
        *(INT, INT),
    ],
    "cublasGemmStridedBatchedEx": [
        *(POINTER, INT, INT, INT, INT, INT, POINTER),
        *(POINTER, INT, INT, STRIDE),
        *(POINTER, INT, INT, STRIDE),
        POINTER,
        *(POINTER, INT, INT, STRIDE),
        *(INT, INT, INT),
    ],
}


@cache
def library() -> ctypes.CDLL:
    """cuBLAS. Raises OSError or ImportError, with the reason, if it cannot be found or loaded."""
    generation = 12 if toolchain.extra() == "cuda12" else 13
    name = f"cublas64_{generation}.dll" if sys.platform == "win32" else f"libcublas.so.{generation}"
    try:
        found = ctypes.CDLL(name)
    except OSError:
        found = ctypes.CDLL(in_a_wheel())
    for function, arguments in ARGUMENTS.items():
        getattr(found, function).argtypes = arguments
        if hasattr(found, f"{function}_64"):  # of the same form; enumerations fit in either
            getattr(found, f"{function}_64").argtypes = [STRIDE if a is INT else a for a in arguments]
    return found


def in_a_wheel() -> str:
    """The path of the library that an installed package holds. Raises ImportError or OSError if there is none."""
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        return str(load_nvidia_dynamic_lib("cublas").abs_path)
    except DynamicLibNotFoundError as error:
        raise OSError(str(error).strip().partition("\n")[0]) from error


def call(name: str, *args: object) -> None:
    """Raises `LaunchError` if the call fails."""
    status = getattr(library(), name)(*args)
    if status != 0:
        raise LaunchError(f"{name} failed: {words(status)}")


def words(status: int) -> str:
    """cuBLAS' description of a status."""
    describe = library().cublasGetStatusString
    describe.restype, describe.argtypes = ctypes.c_char_p, [ctypes.c_int]
    return (describe(status) or b"unknown").decode()
