"""How the rung of tensor cores spreads a layer over a device: blocks, warps, fragments in registers, shared memory.

Pure functions of a layer's sizes and a device's limits, as in `plan.py`. What is multiplied (`Sizes.operand`):

``float16``   float16 data
``tf32``      float32 data, rounded, where the user allows it (`minirnn.use_precision`)
``tf32x3``    float32 data, each number as the sum of two TF32 numbers: three products for one, as good as float32
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Plan, Sizes

OPERANDS = {"float16": "Float16", "tf32": "Tf32", "tf32x3": "Tf32x3"}
"""What is multiplied -> its type in `kernels/cudnn_rnn/operands.cuh`."""
CELLS = {"lstm": "Lstm", "gru": "Gru", "rnn_tanh": "Simple<false>", "rnn_relu": "Simple<true>"}
"""Mode -> the type in `kernels/cudnn_rnn/cell.cuh`."""
TILE = 16
"""Rows of weights that a tensor core takes at a time; words of a piece."""
ROWS = (8, 16, 32, 64)
"""Rows of the batch that a block computes at a time."""
WORD = 4
"""Bytes of a word: two float16 operands, or one of the others."""
HELD = 96
"""Registers of a lane that may hold weights; further ones lie in shared memory. Kernels are compiled at this bound."""
SLICES = 8
"""A backward pass has at least so many slices where the device has room for them, and twice as many at most."""
FRAGMENT = 2 * 32 * 16
"""Bytes of a piece of a tile of weights."""


@dataclass(frozen=True, kw_only=True)
class TensorPlan(Plan):
    """The plan of `cudnn_rnn/tensor.cu`. Of `Plan`, `chunks` are the pieces of a row that a warp has, and `kept` those
    of them in registers.

    Attributes
    ----------
    mode, operand : str
        What the kernel computes, and what it multiplies.
    units : int
        Units of a block.
    columns : int
        Blocks of a direction.
    tiles : int
        Tiles of 16 rows of weights of a block.
    """

    rung = "tensor"
    kernel: ClassVar[str] = "tensor"
    mode: str
    operand: str
    units: int
    columns: int
    tiles: int

    @property
    def blocks(self) -> int:
        return self.columns

    @property
    def constants(self) -> dict[str, int | str]:  # type: ignore[override]
        return {
            "OPERAND": OPERANDS[self.operand],
            "CELL": CELLS[self.mode],
            "KERNEL": f"{self.mode}_{self.kernel}",
            "UNITS": self.units,
            "WARPS": self.warps,
            "PIECES": self.chunks,
            "KEPT": self.kept,
            "ROWS": self.rows,
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        return ()

    @property
    def length(self) -> int:
        """Words of a state as it is sent."""
        return self.warps * self.chunks * TILE

    @property
    def products_a_read(self) -> int:
        """Products of tensor cores for each 512 bytes that a warp reads from shared memory."""
        return 2 * (3 if self.operand == "tf32x3" else 1) * self.tiles

    def per_step(self, B: int, D: int) -> dict[str, int]:
        """What a step of all blocks needs: products of tensor cores, reads of 512 bytes of shared memory for them, and
        bytes of states that are sent and gathered."""
        tiles_of_batch = ceil(B / self.rows) * self.rows // 8
        reads = self.warps * self.chunks * tiles_of_batch
        each = self.products_a_read
        sent = B * self.length * WORD
        blocks = self.blocks * D
        return {"mma": each * reads * blocks, "reads": reads * blocks, "sent": sent * D, "gathered": sent * blocks}

    def where(self, D: int) -> str:
        """The beginning of `describe`."""
        return f"{self.blocks * D} blocks of {self.warps} warps, {self.units} units each"

    def describe(self, D: int) -> str:
        each, beyond = self.products_a_read, self.chunks - self.kept
        return (
            f"{self.where(D)}; operands {self.operand},"
            f" {self.tiles * self.kept * 8} registers of weights a lane"
            f"{f', {beyond} of {self.chunks} parts in shared memory' if beyond else ''}, {each} products a shared read;"
            f" {self.rows} rows of the batch at a time; {self.shared:,} bytes of shared memory a block"
        )


@dataclass(frozen=True, kw_only=True)
class TensorBackwardPlan(TensorPlan):
    """The plan of `cudnn_rnn/tensor_grad.cu`: the blocks of a direction are a table, as in `plan.BackwardPlan`.

    Attributes
    ----------
    slices : int
        Slices of terms; `columns` are those of units.
    slice : int
        Units whose gradients, of all gates, a block gathers.
    """

    slices: int
    slice: int
    kernel = "tensor_grad"

    @property
    def blocks(self) -> int:
        return self.columns * self.slices

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.slices, self.slice

    def per_step(self, B: int, D: int) -> dict[str, int]:
        shares = WORD * B * self.columns * self.units * self.slices * D
        found = super().per_step(B, D)
        sent = found["sent"] * self.slices
        return found | {"sent": sent + shares, "gathered": found["gathered"] + shares}

    def where(self, D: int) -> str:
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, {self.columns} columns of {self.units} units by"
            f" {self.slices} slices of terms{' a direction' if D > 1 else ''}"
        )


def forward(sizes: Sizes, limits: Limits) -> TensorPlan | str:
    """The plan of a forward pass, or why there is none: a block has as few units as let all blocks run at once."""
    if refused := refused_tensor(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    fewest = 16 if sizes.G == 1 else 4  # a tile of 16 rows, full or nearly so
    units = next((n for n in (4, 8, 16) if n >= fewest and n * each >= sizes.H), 0)
    if not units:
        return f"{sizes.H} units on {each} multiprocessors are more than 16 a block"
    tiles = ceil(sizes.G * units / TILE)
    words = ceil(sizes.H * width(sizes.operand) / WORD)
    held = into_shared(words, tiles, sizes.B, 2 * sizes.B * units, limits)
    if isinstance(held, str):
        return held
    return TensorPlan(
        **held, mode=sizes.mode, operand=sizes.operand, units=units, columns=ceil(sizes.H / units), tiles=tiles
    )


def backward(sizes: Sizes, limits: Limits) -> TensorBackwardPlan | str:
    """The plan of a backward pass, or why there is none: of the tables that fit, one with about eight slices.

    Gradients are sent as float32 or TF32 also for float16 data: float16 would lose those below 6e-8.
    """
    if refused := refused_tensor(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    refused = f"{sizes.H} units make more columns of 64 than a direction has multiprocessors, {each}"
    for tiles in (1, 2, 4):
        columns = ceil(sizes.H / (tiles * TILE))
        if columns > each or (each // columns < SLICES and tiles < 4):
            continue
        slices = min(each // columns, 2 * SLICES, ceil(sizes.H / 4))
        slice_ = ceil(sizes.H / slices)
        slices = ceil(sizes.H / slice_)  # none is empty: a block that gathers nothing would not wait for the others
        held = into_shared(sizes.G * slice_, tiles, sizes.B, 0, limits)
        if isinstance(held, str):
            refused = held
            continue
        return TensorBackwardPlan(
            **held, mode=sizes.mode, operand="tf32" if sizes.operand == "float16" else sizes.operand,
            units=tiles * TILE, columns=columns, tiles=tiles, slices=slices, slice=slice_,
        )  # fmt: skip
    return refused


def width(operand: str) -> int:
    """The bytes of an operand."""
    return 2 if operand == "float16" else 4


def into_shared(words: int, tiles: int, B: int, numbers: int, limits: Limits) -> dict[str, int] | str:
    """Warps, pieces, rows of the batch at a time, and bytes of shared memory of a block; or why there is no room.

    `words`: of a row of weights. `numbers`: other numbers that a block has in shared memory.
    """
    warps = 4 if words <= 8 * TILE else 8
    pieces = ceil(words / (warps * TILE))
    kept = min(pieces, HELD // (8 * tiles))
    beyond = warps * (pieces - kept) * tiles * FRAGMENT
    for rows in reversed([n for n in ROWS if n == ROWS[0] or n < 2 * B]):
        shared = rows * (warps * pieces * TILE + 4 + warps * (tiles * TILE + 4)) * WORD + numbers * WORD + beyond
        if shared <= limits.shared_bytes_per_block:
            return dict(warps=warps, chunks=pieces, kept=kept, rows=rows, shared=shared)
    return (
        f"its weights do not fit on the chip: {shared:,} bytes of shared memory a block,"
        f" the device has {limits.shared_bytes_per_block:,}"
    )


def refused_tensor(sizes: Sizes, limits: Limits) -> str:
    """Why this device has no tensor cores for this layer; empty if it has."""
    if not sizes.operand or sizes.itemsize != WORD:
        return "tensor cores multiply float16 and float32 data, not float64"
    if limits.compute_capability < (8, 0):
        return "tensor cores that multiply TF32 need compute capability 8.0"
    each = limits.multiprocessors // sizes.D
    return "" if each else f"{sizes.D} directions need a multiprocessor each, the device has {limits.multiprocessors}"
