"""The element types, constants and cells for which each kernel file is compiled, beyond those that a test runs."""

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cuda.launch.sources import C_TYPES, AnyPlan, options
from minirnn.devices.cuda.launch.threads import PER_THREAD
from minirnn.ops.cudnn_rnn.cells import CELLS, ZONED, lstm, lstm_zoned_c
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import plan_of
from tests.cells.with_torch import WITH_KEYS, gallery

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
    "losses.cu": every(*FLOATS),
    "adam.cu": every(*FLOATS),
    "sequence/plain.cu": every("float32", "float64"),
    "sequence/reductions.cu": every("float32", "float64"),
    "sequence/every_cell.cu": of_units("float32", "float64"),
    "sequence/steps.cu": of_units("float32", "float64"),
    "sequence/unitwise.cu": of_units("float32", "float64"),
    "sequence/keyed.cu": every("float32", "float64"),
    "sequence/barrier.cu": [
        specialized("float32", THREADS=256),
        specialized("float64", THREADS=256),
        specialized("float32", THREADS=256, NAMED=1),
    ],
    # The layouts (`launch/sequence/layout.py`): first the one that needs the most registers.
    "sequence/persistent.cu": [
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4),
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=1),
        specialized("float32", CHUNKS=1, ROWS=1, THREADS=256, PIECE=4),
        specialized("float64", CHUNKS=3, ROWS=8, THREADS=256, PIECE=2),
        specialized("float32", CHUNKS=4, ROWS=8, THREADS=256, PIECE=4, NAMED=1),
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

IN_ONE_LAUNCH: dict[str, Plan] = {
    **{name: one.plan() for name, one in CELLS.items()},
    **{f"{name} with zoneout": one.plan() for name, one in ZONED.items()},
    **{
        f"lstm_block{', peepholes' * peepholes}{', clip' * clips}": plan_of(peepholes, clips)
        for peepholes in (False, True)
        for clips in (False, True)
    },
}
"""The cells of minirnn that the kernels of one launch can hold."""
ALL_CELLS: dict[str, Plan] = {
    **IN_ONE_LAUNCH,
    "lstm, projected": lstm.plan(True),
    "lstm with zoneout, projected": lstm_zoned_c.plan(True),
    "gru_block": gru_block.plan(),
}
RUNGS = ("sequence/steps.cu", "sequence/barrier.cu", "sequence/persistent.cu", "sequence/persistent_grad.cu")
"""The files that are compiled with a cell."""
UNITWISE = ("indrnn", "mingru", "sru")
"""The cells of the gallery whose units do not read each other."""


def cells_of(name: str) -> dict[str, AnyPlan | None]:
    """The cells for which a file is compiled, by name; a single None if it needs none."""
    if name == "sequence/keyed.cu":
        return {cell: gallery(cell).keyed_plan() for cell in WITH_KEYS}
    if name == "sequence/unitwise.cu":
        return {cell: gallery(cell).plan() for cell in UNITWISE}
    if name not in RUNGS:
        return {"": None}
    return {**(ALL_CELLS if name == RUNGS[0] else IN_ONE_LAUNCH)}
