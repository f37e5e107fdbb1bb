"""The .cu files: their text, for which element types each is compiled, and the compiled kernels of a device."""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np

C_TYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "int",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
"""NumPy's name of a dtype -> the type in `kernels/real.cuh`."""

WIDER = {
    "bool": "int32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
    "float16": "float32",
}


def accumulator(dtype: np.dtype) -> np.dtype:
    """The type in which kernels compute: the dtype itself, but for small ones, which C++ would widen anyway."""
    return np.dtype(WIDER.get(dtype.name, dtype.name))


def options(dtype: np.dtype, source: np.dtype | None = None) -> tuple[str, ...]:
    """The compiler options that make `real` (and, for a cast, `source`) this dtype."""
    chosen = (f"-DREAL={C_TYPES[dtype.name]}", f"-DACC={C_TYPES[accumulator(dtype).name]}")
    return chosen if source is None else (*chosen, f"-DSOURCE={C_TYPES[source.name]}")


@cache
def text(name: str) -> str:
    """The text of ``kernels/<name>``."""
    return (resources.files("minirnn.devices.cuda") / "kernels" / name).read_text(encoding="utf-8")


def _every(*dtypes: str) -> list[tuple[str, ...]]:
    return [options(np.dtype(name)) for name in dtypes]


FLOATS = ("float16", "float32", "float64")


def _specialized(dtype: str, **constants: int) -> tuple[str, ...]:
    return (*options(np.dtype(dtype)), *(f"-D{name}={value}" for name, value in constants.items()))


PER_THREAD = {"float16": 2, "float32": 4, "float64": 2}
"""How many neighboring units a thread of a cell takes where it can: 16 bytes, and of float16 a pair."""


def _of_units(*dtypes: str) -> list[tuple[str, ...]]:
    """Variants whose threads take several units, and those whose threads take one."""
    return [v for name in dtypes for v in (_specialized(name, PER_THREAD=PER_THREAD[name]), options(np.dtype(name)))]


VARIANTS: dict[str, list[tuple[str, ...]]] = {
    "primitives/arithmetic.cu": _every(*C_TYPES),
    "primitives/compare.cu": _every(*C_TYPES),
    "primitives/functions.cu": _every(*FLOATS),
    "primitives/cast.cu": [
        options(np.dtype(to), np.dtype(of)) for to, of in (("float16", "float32"), ("float64", "bool"))
    ],
    "primitives/reduce.cu": _every("int64", "bool", *FLOATS),
    "primitives/softmax.cu": _every(*FLOATS),
    "primitives/scan.cu": _every("int64", *FLOATS),
    "primitives/sort.cu": _every("int64", "bool", *FLOATS),
    "primitives/index.cu": _every("int64", *FLOATS),
    "primitives/matmul.cu": _every("int64", *FLOATS),
    "lstm_block/cell.cu": _of_units(*FLOATS),
    "lstm_block/peepholes.cu": _of_units(*FLOATS),
    "gru_block.cu": _of_units("float32", "float64"),
    "losses.cu": _every(*FLOATS),
    "adam.cu": _every(*FLOATS),
    "cudnn_rnn/steps.cu": _of_units("float32", "float64"),
    "cudnn_rnn/zoneout.cu": _of_units("float32", "float64"),
    # The plans (`launch/cudnn_rnn/plan.py`): first the one that needs the most registers.
    "cudnn_rnn/persistent.cu": [
        _specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4),
        _specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=1),
        _specialized("float32", CHUNKS=1, ROWS=1, THREADS=256, PIECE=4),
        _specialized("float64", CHUNKS=4, ROWS=8, THREADS=256, PIECE=2),
    ],
    "cudnn_rnn/persistent_grad.cu": [
        _specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4, OUTPUTS=8),
        _specialized("float32", CHUNKS=2, ROWS=8, THREADS=256, PIECE=4, OUTPUTS=16),
        _specialized("float32", CHUNKS=2, ROWS=8, THREADS=256, PIECE=1, OUTPUTS=16),
        _specialized("float32", CHUNKS=1, ROWS=1, THREADS=256, PIECE=1, OUTPUTS=8),
        _specialized("float64", CHUNKS=4, ROWS=8, THREADS=256, PIECE=2, OUTPUTS=8),
    ],
}
"""File -> sets of options, of which a test compiles every one with NVIDIA's compiler."""
