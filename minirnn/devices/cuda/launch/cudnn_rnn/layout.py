"""How the upper rungs of the CudnnRNN ladder lie on a device: blocks, warps, registers, shared memory.

Pure functions of a layer's sizes and a device's limits. Each returns a layout, or the reason why there is none. What
fits into registers was found with NVIDIA's compiler; a test compiles the kernels for the layouts at these bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from minirnn.devices.cuda.driver import Limits

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
"""Number G of gates. Row order: lstm i, f, n, o; gru r, z, n."""
LANES = 32
VECTOR = 16
"""Bytes of a row that a lane holds in one chunk."""
CHUNK = LANES * VECTOR
"""Bytes of a row in one chunk."""


def most_threads(warps: int) -> int:
    """Of a block, as a kernel is compiled for: few numbers, so that few kernels are compiled.

    A thread has 255 registers in a block of up to 8 warps, else 128.
    """
    return 256 if warps <= 8 else 512


@dataclass(frozen=True)
class Sizes:
    """One layer: the axes T B H P D, and the bytes of a number that kernels compute with (float16: as float32)."""

    mode: str
    T: int
    B: int
    H: int
    P: int
    D: int
    itemsize: int

    @property
    def G(self) -> int:
        return GATES[self.mode]

    def chunks(self, length: int) -> int:
        """How many chunks a row of weights of this length has."""
        return ceil(length * self.itemsize / CHUNK)


@dataclass(frozen=True)
class Forward:
    """Of `cudnn_rnn/persistent.cu`: one warp is one unit.

    Attributes
    ----------
    blocks : int
        Of one direction.
    warps : int
        Of a block.
    chunks, kept : int
        Of a row of weights: in all, and of these in registers.
    rows : int
        Of the batch that a warp computes at a time.
    shared : int
        Bytes of dynamic shared memory a block.
    """

    blocks: int
    warps: int
    chunks: int
    kept: int
    rows: int
    shared: int

    def describe(self, D: int) -> str:
        """One line for people."""
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, a unit each; {_weights(self)}; {self.rows} rows of the"
            f" batch at a time; {self.shared:,} bytes of shared memory a block"
        )


def forward(sizes: Sizes, limits: Limits) -> Forward | str:
    """The layout of a persistent forward pass: as many blocks as the device has multiprocessors, at most."""
    refused = _refused(sizes, limits)
    if refused:
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
    found = _into_shared(rows, chunks, warps * (chunks - kept) * sizes.G * CHUNK, limits)
    if isinstance(found, str):
        return found
    rows, shared = found
    return Forward(ceil(sizes.H / warps), warps, chunks, kept, rows, shared)


@dataclass(frozen=True)
class Backward:
    """Of `cudnn_rnn/persistent_grad.cu`: a table of blocks; a column has units of dh, a slice terms of their sums.

    Attributes
    ----------
    columns, slices : int
        Of one direction: columns * slices blocks.
    slice : int
        Units whose gradients, of all gates, a block gathers.
    warps, chunks, kept, rows, shared : int
        As for `Forward`; a row of weights is what one unit of dh takes from a slice.
    """

    columns: int
    slices: int
    slice: int
    warps: int
    chunks: int
    kept: int
    rows: int
    shared: int

    @property
    def blocks(self) -> int:
        """Of one direction."""
        return self.columns * self.slices

    def describe(self, D: int) -> str:
        """One line for people."""
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, {self.columns} columns of units by {self.slices} slices"
            f" of terms{' a direction' if D > 1 else ''}; {_weights(self)}; {self.rows} rows of the batch at a time;"
            f" {self.shared:,} bytes of shared memory a block"
        )


OUTPUTS = 4
"""Units of dh that a warp computes."""


def backward(sizes: Sizes, limits: Limits) -> Backward | str:
    """The layout of a persistent backward pass: columns as wide as registers allow, then as many slices as fit."""
    refused = _refused(sizes, limits)
    if refused:
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
    found = _into_shared(_power(sizes.B, 8), chunks, warps * (chunks - kept) * OUTPUTS * CHUNK, limits)
    if isinstance(found, str):
        return found
    return Backward(columns, slices, slice_, warps, chunks, kept, *found)


CLUSTER = 8
"""Blocks of a cluster: the most that every device with clusters has."""


@dataclass(frozen=True)
class Cluster:
    """Of `cudnn_rnn/cluster.cu` and `cudnn_rnn/cluster_grad.cu`: a slice of the batch has a cluster, a warp some units.

    Attributes
    ----------
    slices : int
        Of the batch.
    units : int
        Of a warp.
    warps, kept, rows : int
        As for `Forward`; all chunks are kept.
    """

    slices: int
    units: int
    warps: int
    kept: int
    rows: int

    @property
    def blocks(self) -> int:
        """Of one direction."""
        return CLUSTER * self.slices

    def describe(self, D: int) -> str:
        """One line for people."""
        return (
            f"{self.slices * D} clusters of {CLUSTER} blocks of {self.warps} warps, {self.units} units each at most;"
            f" weights in registers; {self.rows} rows of the batch a cluster"
        )


def cluster(sizes: Sizes, limits: Limits) -> Cluster | str:
    """The layout of a forward pass by clusters."""
    refused = _refused_cluster(sizes, limits)
    if refused:
        return refused
    units_held = {4: 256, 8: 128}[sizes.itemsize]
    if units_held < sizes.H:
        return f"a cluster's registers hold the weights of {units_held} units"
    each = ceil(sizes.H / CLUSTER)
    units = 1 if each <= 16 else 2
    rows = _rows_of_a_cluster(sizes, limits, 2 if units == 2 else 8 if sizes.itemsize == 4 else 4)
    return Cluster(ceil(sizes.B / rows), units, ceil(each / units), sizes.chunks(sizes.H), rows)


def cluster_backward(sizes: Sizes, limits: Limits) -> Cluster | str:
    """The layout of a backward pass by clusters."""
    refused = _refused_cluster(sizes, limits)
    if refused:
        return refused
    each = ceil(sizes.H / CLUSTER)
    units = _power(ceil(each / 8), 4)
    warps, chunks = ceil(each / units), sizes.chunks(sizes.G * sizes.H)
    if warps > 8 or chunks > 8:
        return f"a cluster's registers do not hold the {sizes.G} x {sizes.H} x {sizes.H} recurrent weights"
    rows = _rows_of_a_cluster(sizes, limits, 4)
    return Cluster(ceil(sizes.B / rows), units, warps, chunks, rows)


def _refused_cluster(sizes: Sizes, limits: Limits) -> str:
    if limits.compute_capability < (9, 0):
        return "clusters of blocks need compute capability 9.0"
    if limits.multiprocessors < CLUSTER:
        return f"a cluster needs {CLUSTER} multiprocessors, the device has {limits.multiprocessors}"
    if sizes.P != sizes.H:
        return "with a projection each step needs a second exchange, which the kernel does not have"
    return ""


def _rows_of_a_cluster(sizes: Sizes, limits: Limits, most: int) -> int:
    """As few rows of the batch as let all clusters run at once."""
    return _power(ceil(sizes.B / max(1, clusters_at_once(limits) // sizes.D)), most)


def clusters_at_once(limits: Limits) -> int:
    """How many clusters the device runs at a time. One less than fill it: its parts hold no whole number of them."""
    return max(1, limits.multiprocessors // CLUSTER - 1)


def _weights(layout: Forward | Backward) -> str:
    beyond = layout.chunks - layout.kept
    return f"weights in registers{f', {beyond} of {layout.chunks} parts in shared memory' if beyond else ''}"


def _refused(sizes: Sizes, limits: Limits) -> str:
    if sizes.P != sizes.H:
        return "with a projection each step needs a second exchange, which the kernel does not have"
    if limits.compute_capability < (7, 0):
        return "its blocks' messages need compute capability 7.0"
    return ""


def _into_shared(rows: int, chunks: int, weights: int, limits: Limits) -> tuple[int, int] | str:
    """Rows of the batch at a time, and bytes of shared memory: two tiles of vectors, and the rest of the weights."""
    while (needed := 2 * rows * chunks * CHUNK + weights) > limits.shared_bytes_per_block:
        if rows == 1:
            return (
                f"its weights do not fit on the chip: {needed:,} bytes of shared memory a block,"
                f" the device has {limits.shared_bytes_per_block:,}"
            )
        rows //= 2
    return rows, needed


def _power(n: int, most: int) -> int:
    """The power of two from 1 to `most` that is at least n, or else `most`."""
    return min(most, 1 << max(0, n - 1).bit_length())
