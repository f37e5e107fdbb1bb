"""The element types and constants for which each kernel file is compiled, beyond those that a test happens to run."""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.launch.sources import C_TYPES, options
from minirnn.devices.cuda.launch.threads import PER_THREAD

FLOATS = ("float16", "float32", "float64")


def every(*dtypes: str) -> list[tuple[str, ...]]:
    """Variants that differ by the type of an element."""
    return [options(np.dtype(name)) for name in dtypes]


def specialized(dtype: str, **constants: int) -> tuple[str, ...]:
    """A variant with constants."""
    return (*options(np.dtype(dtype)), *(f"-D{name}={value}" for name, value in constants.items()))


def of_units(*dtypes: str) -> list[tuple[str, ...]]:
    """Variants whose threads take several units, and those whose threads take one."""
    return [v for name in dtypes for v in (specialized(name, PER_THREAD=PER_THREAD[name]), options(np.dtype(name)))]


def as_planned(name: str, variant: tuple[str, ...], arch: str) -> tuple[str, ...]:
    """The plan of a variant for an architecture: before sm_80, it keeps one chunk less in registers."""
    if name != "sequence/persistent.cu" or arch != "sm_75":
        return variant
    return tuple("-DCHUNKS=3" if option == "-DCHUNKS=4" else option for option in variant)


VARIANTS: dict[str, list[tuple[str, ...]]] = {
    "primitives/arithmetic.cu": every(*C_TYPES),
    "primitives/compare.cu": every(*C_TYPES),
    "primitives/functions.cu": every(*FLOATS),
    "primitives/cast.cu": every("bool", "float16"),
    "primitives/reduce.cu": every("int64", "bool", *FLOATS),
    "primitives/softmax.cu": every(*FLOATS),
    "primitives/scan.cu": every("int64", *FLOATS),
    "primitives/sort.cu": every("int64", "bool", *FLOATS),
    "primitives/index.cu": every("int64", *FLOATS),
    "primitives/matmul.cu": every("int64", *FLOATS),
    "lstm_block/cell.cu": of_units(*FLOATS),
    "lstm_block/peepholes.cu": of_units(*FLOATS),
    "gru_block.cu": of_units("float32", "float64"),
    "losses.cu": every(*FLOATS),
    "adam.cu": every(*FLOATS),
    "sequence/steps.cu": [
        (*options, *more) for options in of_units("float32", "float64") for more in ((), ("-DZONEOUT=1",))
    ],
    "sequence/barrier.cu": every("float32", "float64"),
    # The plans (`launch/cudnn_rnn/plan.py`): first the one that needs the most registers.
    "sequence/persistent.cu": [
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4),
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=1),
        specialized("float32", CHUNKS=1, ROWS=1, THREADS=256, PIECE=4),
        specialized("float64", CHUNKS=3, ROWS=8, THREADS=256, PIECE=2),
    ],
    "sequence/persistent_grad.cu": [
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4, OUTPUTS=8),
        specialized("float32", CHUNKS=2, ROWS=8, THREADS=256, PIECE=4, OUTPUTS=16),
        specialized("float32", CHUNKS=2, ROWS=8, THREADS=256, PIECE=1, OUTPUTS=16),
        specialized("float32", CHUNKS=1, ROWS=1, THREADS=256, PIECE=1, OUTPUTS=8),
        specialized("float64", CHUNKS=4, ROWS=8, THREADS=256, PIECE=2, OUTPUTS=8),
    ],
}
"""File -> sets of options, of which a test compiles every one with NVIDIA's compiler."""
