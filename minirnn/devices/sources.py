"""Your own kernels as text: C++ for arrays in host memory, CUDA for a GPU and for the simulator.

In a text `real` is the type of the elements, `acc` the type to compute in, and `i64` the type of sizes. It is compiled
for a dtype when it is first called with arrays of that dtype, and kept on disk.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.arguments.names import own_init

C_NAMES = {"float32": "float", "float64": "double"}


class _Source:
    """Source text that is compiled when it is first called."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"{type(self).__name__}: text is a {type(text).__name__}\n  expected the text of the source"
            )
        self.text = text
        self._compiled: dict[Any, Any] = {}


@own_init
class CppSource(_Source):
    """C++ text. ``source(name, *args)`` calls its function ``extern "C" void name(...)``.

    Arrays are passed as pointers to their first element, Python ints as `i64`, Python floats as `acc`. The elements of
    float arrays are `real`, one type for all: float32 or float64. Arrays must be in C order. A call raises
    DeviceUnavailable if there is no C++ compiler, CompileError if the compiler refuses the text, and TypeError or
    ValueError for arrays of several float dtypes or not in C order, or a missing function.
    """

    def __call__(self, function: str, *args: Any) -> None:
        dtype = _dtype_of(function, args)
        given: list[Any] = []
        for a in args:
            if isinstance(a, np.ndarray):
                if not a.flags.c_contiguous:
                    raise ValueError(f"{function}: got an array with strides {a.strides}\n  expected C order")
                given.append(ctypes.c_void_p(a.ctypes.data))
            elif isinstance(a, float):
                given.append(ctypes.c_float(a) if dtype == "float32" else ctypes.c_double(a))
            else:
                given.append(ctypes.c_longlong(a))
        library = self._compiled.get(dtype)
        if library is None:
            library = self._compiled[dtype] = self._library(C_NAMES[dtype])
        try:
            found = getattr(library, function)
        except AttributeError:
            raise ValueError(f'{function}: the C++ text has no such function\n  expected extern "C" void ...') from None
        found(*given)

    def _library(self, real: str) -> ctypes.CDLL:
        from minirnn.devices.host_cpp import cache, compiler
        from minirnn.devices.native.library import SHARED, flags
        from minirnn.machine import computer

        used = compiler.find("native")
        text = f'typedef {real} real;\ntypedef {real} acc;\ntypedef long long i64;\n#line 1 "own.cpp"\n{self.text}'

        def make(path: Path) -> None:
            source = path.with_suffix(".cpp")
            source.write_text(text, encoding="utf-8")
            exported = [flag for flag in flags() if flag != "-fvisibility=hidden"]
            used.library(exported, [source], path, [*exported, *SHARED])

        key = f"own-{cache.fingerprint(used, flags(), computer.instructions(), text)}"
        return ctypes.CDLL(str(cache.built(cache.folder("native"), key, make)))


@own_init
class CudaSource(_Source):
    """CUDA text. ``source(name, *args, threads=n)`` launches its kernel ``extern "C" __global__ void name(...)``.

    The text begins with ``#include "real.cuh"``, which has `real`, `acc`, `i64` and ``element()``, the index of this
    thread. Arrays are passed as pointers, Python ints as `i64`, Python floats as `acc`. The device is that of the
    arrays: ``cuda``, or ``cuda-sim``, which runs the same text on the CPU.

    Other Parameters
    ----------------
    threads : int, optional, of a call
        The smallest number of threads to launch, in blocks of 256; 0 launches none.
    grid, block : tuple of int, optional, of a call
        The exact launch, instead of `threads`.
    shared : int, of a call
        Bytes of dynamic shared memory of each block.
    """

    def __call__(
        self,
        function: str,
        *args: Any,
        threads: int | None = None,
        grid: tuple[int, ...] = (),
        block: tuple[int, ...] = (),
        shared: int = 0,
    ) -> None:
        from minirnn.devices.cuda.launch.sources import accumulator, options
        from minirnn.devices.cuda.launch.threads import BLOCK, blocks

        dtype = np.dtype(_dtype_of(function, args))
        if threads is None and not (grid and block):
            raise TypeError(
                f"{function}: the launch has no thread count\n  expected threads=n, or grid=... and block=..."
            )
        if threads == 0:
            return
        device = next(a.device for a in args if hasattr(a, "device"))
        key = device.driver, function, dtype
        if key not in self._compiled:
            self._compiled[key] = device.driver.module(self.text, "own.cu", options(dtype)).function(function)
        given = [
            np.int64(a) if isinstance(a, int) else accumulator(dtype).type(a) if isinstance(a, float) else a
            for a in args
        ]
        if threads is not None:
            grid, block = blocks(threads), BLOCK
        self._compiled[key](*given, grid=grid, block=block, shared=shared)


def _dtype_of(function: str, args: tuple[Any, ...]) -> str:
    """The one float dtype of the arrays."""
    found = {a.dtype.name for a in args if hasattr(a, "dtype") and a.dtype.kind == "f"}
    if len(found) != 1 or not found <= C_NAMES.keys():
        raise TypeError(
            f"{function}: the float arrays have the dtypes {', '.join(sorted(found)) or 'none'}\n"
            "  expected one for all, float32 or float64"
        )
    return found.pop()
