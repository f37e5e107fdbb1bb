"""What the plans of all upper rungs of the CudnnRNN ladder have in common: sizes, a block, its shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from minirnn.devices.cuda.driver import Limits

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
"""Number G of gates. Row order: lstm i, f, n, o; gru r, z, n."""
LANES = 32
VECTOR = 16
"""Bytes of a row that a lane holds in one chunk."""
CHUNK = LANES * VECTOR
"""Bytes of a row in one chunk."""


@dataclass(frozen=True)
class Sizes:
    """One layer: the axes T B H P D, and the bytes of a number that kernels compute with (float16: as float32).

    `operand`: what tensor cores may multiply for it (`tensor_plan.py`); empty: nothing.
    """

    mode: str
    T: int
    B: int
    H: int
    P: int
    D: int
    itemsize: int
    operand: str = ""

    @property
    def G(self) -> int:
        """The number of gates."""
        return GATES[self.mode]

    @property
    def columns(self) -> int:
        """The gradients of the pre-activations of a unit: for gru those of q, r, z and n, else one a gate."""
        return 4 if self.mode == "gru" else self.G

    def chunks(self, length: int) -> int:
        """How many chunks a row of weights of this length has."""
        return ceil(length * self.itemsize / CHUNK)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the plans of all rungs that take one launch have in common.

    Attributes
    ----------
    warps : int
        Warps of a block.
    chunks, kept : int
        Chunks of a row of weights: in all, and how many of these are in registers.
    rows : int
        Rows of the batch that a warp computes at a time.
    shared : int
        Bytes of dynamic shared memory of a block.
    """

    rung: ClassVar[str]
    warps: int
    chunks: int
    kept: int
    rows: int
    shared: int = 0

    @property
    def blocks(self) -> int:
        """The blocks of one direction."""
        raise NotImplementedError

    def describe(self, D: int) -> str:
        """One line for people."""
        raise NotImplementedError

    @property
    def threads(self) -> tuple[int, int, int]:
        """The size of a block, as a launch takes it."""
        return (LANES * self.warps, 1, 1)

    @property
    def constants(self) -> dict[str, int]:
        """What the kernel is compiled for."""
        return {"CHUNKS": self.kept, "ROWS": self.rows, "THREADS": most_threads(self.warps)}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kernel's arguments after T, B and H."""
        return (self.chunks,)

    def at_once(self, D: int) -> int:
        """How many blocks must be on the device at the same time."""
        return self.blocks * D

    def weights_and_rows(self) -> str:
        """The end of `describe`."""
        beyond = self.chunks - self.kept
        return (
            f"weights in registers{f', {beyond} of {self.chunks} parts in shared memory' if beyond else ''};"
            f" {self.rows} rows of the batch at a time; {self.shared:,} bytes of shared memory a block"
        )


def most_threads(warps: int) -> int:
    """The largest block for which a kernel is compiled. There are two such sizes, so that few kernels are compiled.

    A thread has 255 registers in a block of up to 8 warps, else 128.
    """
    return 256 if warps <= 8 else 512


def into_shared(rows: int, needed: Callable[[int], int], limits: Limits) -> tuple[int, int, str]:
    """How many rows of the batch, `rows` at most, fit into shared memory, the bytes, and why not even one does."""
    while needed(rows) > limits.shared_bytes_per_block:
        if rows == 1:
            return (
                rows,
                needed(rows),
                (
                    f"its weights do not fit on the chip: {needed(rows):,} bytes of shared memory a block,"
                    f" the device has {limits.shared_bytes_per_block:,}"
                ),
            )
        rows //= 2
    return rows, needed(rows), ""


def power(n: int, most: int) -> int:
    """The power of two from 1 to `most` that is at least n, or else `most`."""
    return min(most, 1 << max(0, n - 1).bit_length())
