"""How the upper rungs of the CudnnRNN ladder spread over a device: blocks, warps, registers, shared memory.

These are pure functions of a layer's sizes and a device's limits. Each returns a plan, or the reason why there is none.
What fits into registers was found with NVIDIA's compiler; a test compiles the kernels for the plans at these bounds.
"""

from __future__ import annotations

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
OUTPUTS = 4
"""Units of dh that a warp computes in a persistent backward pass."""
CLUSTER = 8
"""Blocks of a cluster: the most that every device with clusters has."""
PROJECTED = "with a projection each step needs a second exchange, which the kernel does not have"


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


@dataclass(frozen=True, kw_only=True)
class ForwardPlan(Plan):
    """The plan of `cudnn_rnn/persistent.cu`: each warp computes one unit, each of the `columns` blocks some of them."""

    rung = "persistent"
    columns: int

    @property
    def blocks(self) -> int:
        return self.columns

    def describe(self, D: int) -> str:
        return f"{self.blocks * D} blocks of {self.warps} warps, a unit each; {self.weights_and_rows()}"


@dataclass(frozen=True, kw_only=True)
class BackwardPlan(Plan):
    """The plan of `cudnn_rnn/persistent_grad.cu`: the blocks of a direction are a table.

    A column of the table has units of dh, a slice has terms of their sums. A row of weights is what one unit of dh
    takes from a slice.

    Attributes
    ----------
    columns, slices : int
        The size of the table.
    slice : int
        Units whose gradients, of all gates, a block gathers.
    """

    rung = "persistent"
    columns: int
    slices: int
    slice: int

    @property
    def blocks(self) -> int:
        return self.columns * self.slices

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.chunks, self.slices, self.slice

    def describe(self, D: int) -> str:
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, {self.columns} columns of units by {self.slices} slices"
            f" of terms{' a direction' if D > 1 else ''}; {self.weights_and_rows()}"
        )


@dataclass(frozen=True, kw_only=True)
class ClusterPlan(Plan):
    """The plan of `cudnn_rnn/cluster.cu` and `cudnn_rnn/cluster_grad.cu`, which keep all chunks in registers.

    Attributes
    ----------
    slices : int
        Slices of the batch; each has a cluster of blocks.
    units : int
        Units of a warp.
    """

    rung = "cluster"
    slices: int
    units: int

    @property
    def blocks(self) -> int:
        return CLUSTER * self.slices

    @property
    def constants(self) -> dict[str, int]:
        return super().constants | {"UNITS": self.units}

    @property
    def numbers(self) -> tuple[int, ...]:
        return ()

    def at_once(self, D: int) -> int:
        return CLUSTER

    def describe(self, D: int) -> str:
        return (
            f"{self.slices * D} clusters of {CLUSTER} blocks of {self.warps} warps, {self.units} units each at most;"
            f" weights in registers; {self.rows} rows of the batch a cluster"
        )


def most_threads(warps: int) -> int:
    """The largest block for which a kernel is compiled. There are two such sizes, so that few kernels are compiled.

    A thread has 255 registers in a block of up to 8 warps, else 128.
    """
    return 256 if warps <= 8 else 512


def forward(sizes: Sizes, limits: Limits) -> ForwardPlan | str:
    """The plan of a persistent forward pass: as many blocks as the device has multiprocessors, at most."""
    if refused := _refused_persistent(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    if not each:
        return f"{sizes.D} directions need a multiprocessor each, the device has {limits.multiprocessors}"
    warps = max(4, ceil(sizes.H / each))
    most = 16 if sizes.itemsize == 4 else 8
    if warps > most:
        return f"{sizes.H} units on {each} multiprocessors are {warps} warps a block; registers suffice for {most}"
    chunks = sizes.chunks(sizes.H)
    kept = min(chunks, 2 if warps > 8 else 32 // sizes.itemsize)
    rows = _power(sizes.B, 4 if warps > 8 else 8)
    rows, shared, refused = _into_shared(rows, chunks, warps * (chunks - kept) * sizes.G, limits)
    columns = ceil(sizes.H / warps)
    return refused or ForwardPlan(warps=warps, chunks=chunks, kept=kept, rows=rows, shared=shared, columns=columns)


def backward(sizes: Sizes, limits: Limits) -> BackwardPlan | str:
    """The plan of a persistent backward pass: columns as wide as registers allow, then as many slices as fit."""
    if refused := _refused_persistent(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    warps = 4 if sizes.H <= 256 else 8
    columns = ceil(sizes.H / (OUTPUTS * warps))
    if columns > each:
        return f"{sizes.H} units make {columns} columns of blocks, a direction has {each} multiprocessors"
    slices = max(1, min(each // columns, sizes.chunks(sizes.G * sizes.H)))  # each has a chunk at least
    slice_ = ceil(sizes.H / slices)
    slices = ceil(sizes.H / slice_)  # none is empty: a block that gathers nothing would not wait for the others
    chunks = sizes.chunks(sizes.G * slice_)
    kept = min(chunks, 32 // sizes.itemsize)
    rows, shared, refused = _into_shared(_power(sizes.B, 8), chunks, warps * (chunks - kept) * OUTPUTS, limits)
    table = dict(columns=columns, slices=slices, slice=slice_)
    return refused or BackwardPlan(warps=warps, chunks=chunks, kept=kept, rows=rows, shared=shared, **table)


def cluster(sizes: Sizes, limits: Limits) -> ClusterPlan | str:
    """The plan of a forward pass by clusters."""
    units_held = {4: 256, 8: 128}[sizes.itemsize]
    each = ceil(sizes.H / CLUSTER)
    units = 1 if each <= 16 else 2
    refused = _refused_cluster(sizes, limits)
    if not refused and units_held < sizes.H:
        refused = f"a cluster's registers hold the weights of {units_held} units"
    rows = 2 if units == 2 else 8 if sizes.itemsize == 4 else 4
    return refused or _clusters(sizes, limits, units, sizes.chunks(sizes.H), rows)


def cluster_backward(sizes: Sizes, limits: Limits) -> ClusterPlan | str:
    """The plan of a backward pass by clusters."""
    each = ceil(sizes.H / CLUSTER)
    units, chunks = _power(ceil(each / 8), 4), sizes.chunks(sizes.G * sizes.H)
    refused = _refused_cluster(sizes, limits)
    if not refused and (ceil(each / units) > 8 or chunks > 8):
        refused = f"a cluster's registers do not hold the {sizes.G} x {sizes.H} x {sizes.H} recurrent weights"
    return refused or _clusters(sizes, limits, units, chunks, 4)


def clusters_at_once(limits: Limits) -> int:
    """How many clusters the device runs at a time. One less than fill it: its parts hold no whole number of them."""
    return max(1, limits.multiprocessors // CLUSTER - 1)


def _clusters(sizes: Sizes, limits: Limits, units: int, chunks: int, most_rows: int) -> ClusterPlan:
    """Warps of so many units, and as few rows of the batch as let all clusters run at once."""
    warps = ceil(ceil(sizes.H / CLUSTER) / units)
    rows = _power(ceil(sizes.B / max(1, clusters_at_once(limits) // sizes.D)), most_rows)
    return ClusterPlan(warps=warps, chunks=chunks, kept=chunks, rows=rows, slices=ceil(sizes.B / rows), units=units)


def _refused_cluster(sizes: Sizes, limits: Limits) -> str:
    if limits.compute_capability < (9, 0):
        return "clusters of blocks need compute capability 9.0"
    if limits.multiprocessors < CLUSTER:
        return f"a cluster needs {CLUSTER} multiprocessors, the device has {limits.multiprocessors}"
    return PROJECTED if sizes.P != sizes.H else ""


def _refused_persistent(sizes: Sizes, limits: Limits) -> str:
    if sizes.P != sizes.H:
        return PROJECTED
    return "" if limits.compute_capability >= (7, 0) else "its blocks' messages need compute capability 7.0"


def _into_shared(rows: int, chunks: int, beyond: int, limits: Limits) -> tuple[int, int, str]:
    """How many rows of the batch, `rows` at most, fit into shared memory, the bytes, and why not even one does.

    It holds two tiles of vectors, and the chunks of the weights `beyond` those in registers.
    """
    while (needed := (2 * rows * chunks + beyond) * CHUNK) > limits.shared_bytes_per_block:
        if rows == 1:
            return (
                rows,
                needed,
                (
                    f"its weights do not fit on the chip: {needed:,} bytes of shared memory a block,"
                    f" the device has {limits.shared_bytes_per_block:,}"
                ),
            )
        rows //= 2
    return rows, needed, ""


def _power(n: int, most: int) -> int:
    """The power of two from 1 to `most` that is at least n, or else `most`."""
    return min(most, 1 << max(0, n - 1).bit_length())
