"""How the upper rungs of the CudnnRNN ladder spread over a device: blocks, warps, registers, shared memory.

These are pure functions of a layer's sizes and a device's limits. Each returns a plan, or the reason why there is none.
What fits into registers was found with NVIDIA's compiler; a test compiles the kernels for the plans at these bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.layout import CHUNK, GATES, VECTOR, Plan, Sizes, into_shared, power

__all__ = [
    "CHUNK",
    "GATES",
    "BackwardPlan",
    "ClusterPlan",
    "ForwardPlan",
    "Plan",
    "Sizes",
    "backward",
    "backward_plan",
    "cluster",
    "cluster_backward",
    "clusters_at_once",
    "forward",
    "forward_plan",
]

WEIGHTS = 32
"""Vectors of weights that a lane keeps in registers in a persistent kernel: half of the registers that it has."""
UNITS = 2
"""Units of a warp in a persistent forward pass."""
WARPS = 8
"""The most warps of a block of a persistent kernel: a thread has 255 registers then."""
OUTPUTS = {4: (8, 16), 8: (8,)}
"""Bytes of a number -> units of dh that a warp may compute in a persistent backward pass."""
SLICES = 16
"""The most slices of its table: the owner of a unit adds as many shares, some at a time."""
L2_BYTES = 3200
"""Bytes that the cache of a large GPU delivers in a cycle, to all multiprocessors together (calculated for an H200)."""
EXCHANGE, CACHE, MEMORY = 1.5e-6, 5.5e12, 4.8e12
"""Of an H200: seconds in which all blocks exchange a state (estimated); bytes a second of its cache (estimated) and of
its memory (its data sheet)."""
CLUSTER = 8
"""Blocks of a cluster: the most that every device with clusters has."""


@dataclass(frozen=True, kw_only=True)
class PersistentPlan(Plan):
    """What the plans of both persistent kernels have in common.

    Attributes
    ----------
    columns : int
        Blocks that have different units.
    piece : int
        Numbers that one load of messages takes: 16 bytes of them where rows of messages are aligned to that, else 1.
    gathered : int
        Bytes of messages that all blocks of a direction gather in one step.
    """

    rung = "persistent"
    columns: int
    piece: int
    gathered: int

    @property
    def constants(self) -> dict[str, int]:
        return super().constants | {"PIECE": self.piece}

    def weights_and_rows(self) -> str:
        return f"{super().weights_and_rows()}; one block a multiprocessor; {self.gathered:,} bytes of messages a step"


@dataclass(frozen=True, kw_only=True)
class ForwardPlan(PersistentPlan):
    """The plan of `cudnn_rnn/persistent.cu`: each of the `columns` blocks computes some units.

    `parts`: warps that share the rows of weights of two units.
    """

    parts: int

    @property
    def blocks(self) -> int:
        return self.columns

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.chunks, self.parts

    def describe(self, D: int) -> str:
        split = f", {self.parts} warps to the same" if self.parts > 1 else ""
        return f"{self.blocks * D} blocks of {self.warps} warps, {UNITS} units each{split}; {self.weights_and_rows()}"


@dataclass(frozen=True, kw_only=True)
class BackwardPlan(PersistentPlan):
    """The plan of `cudnn_rnn/persistent_grad.cu`: the blocks of a direction are a table.

    A column of the table has units of dh, a slice has terms of their sums. A row of weights is what one unit of dh
    takes from a slice.

    Attributes
    ----------
    slices : int
        Slices of the table.
    slice : int
        Units whose gradients, of all gates, a block gathers.
    outputs : int
        Units of dh of a warp.
    """

    slices: int
    slice: int
    outputs: int

    @property
    def blocks(self) -> int:
        return self.columns * self.slices

    @property
    def constants(self) -> dict[str, int]:
        return super().constants | {"OUTPUTS": self.outputs}

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.chunks, self.slices, self.slice

    def describe(self, D: int) -> str:
        return (
            f"{self.blocks * D} blocks of {self.warps} warps of {self.outputs} units, {self.columns} columns of units"
            f" by {self.slices} slices of terms{' a direction' if D > 1 else ''}; {self.weights_and_rows()}"
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


def forward(sizes: Sizes, limits: Limits) -> ForwardPlan | str:
    """The plan of a persistent forward pass: as many blocks as the device has multiprocessors, at most.

    Warps that share a row of weights are as few as let a block have four, and the weights be in registers.
    """
    if refused := _refused_persistent(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    if not each:
        return f"{sizes.D} directions need a multiprocessor each, the device has {limits.multiprocessors}"
    groups = max(2, ceil(ceil(sizes.H / each) / UNITS))
    if groups > WARPS:
        units = f"{sizes.H} units on {each} multiprocessors are {groups * UNITS} a block"
        return f"{units}; registers suffice for {WARPS * UNITS}"
    chunks, held, parts = sizes.chunks(sizes.H), WEIGHTS // (UNITS * 4), 1
    while groups * parts * 2 <= WARPS and parts < chunks and (groups * parts < 4 or ceil(chunks / parts) > held):
        parts *= 2
    return forward_plan(sizes, limits, groups, parts)


def forward_plan(
    sizes: Sizes, limits: Limits, groups: int, parts: int, rows: int = 8, held: int = WEIGHTS // (UNITS * 4)
) -> ForwardPlan | str:
    """The plan with so many groups of units a block, of `parts` warps each; `held` chunks of weights in registers."""
    chunks = ceil(sizes.chunks(sizes.H) / parts)
    kept, units = min(chunks, held), groups * UNITS
    totals = parts * (units + UNITS) * sizes.G * sizes.itemsize  # of a row
    beyond = groups * parts * (chunks - kept) * UNITS * sizes.G
    rows, shared, refused = into_shared(
        power(sizes.B, rows), lambda n: n * (chunks * parts * CHUNK + totals) + VECTOR + beyond * CHUNK, limits
    )
    columns = ceil(sizes.H / units)
    if refused:
        return f"{refused}; {streamed(sizes, limits)}"
    return ForwardPlan(
        warps=groups * parts,
        chunks=chunks,
        kept=kept,
        rows=rows,
        shared=shared,
        columns=columns,
        parts=parts,
        piece=_piece(sizes),
        gathered=columns * sizes.B * sizes.H * sizes.itemsize,
    )


def backward(sizes: Sizes, limits: Limits) -> BackwardPlan | str:
    """The plan of a persistent backward pass: of all tables that fit, the one that takes the fewest cycles.

    These are counted, not measured; what is measured is whether this rung is used at all (`tuner.py`).
    """
    if refused := _refused_persistent(sizes, limits):
        return refused
    each = limits.multiprocessors // sizes.D
    found, refused = [], ""
    for outputs in OUTPUTS[sizes.itemsize]:
        for warps in (2, 4, WARPS):
            columns = ceil(sizes.H / (outputs * warps))
            if columns > each:
                refused = f"{sizes.H} units make {columns} columns of blocks, a direction has {each} multiprocessors"
                continue
            most = max(1, min(each // columns, sizes.chunks(sizes.G * sizes.H)))  # each has a chunk at least
            for slices in range(1, min(most, SLICES) + 1):
                plan = backward_plan(sizes, limits, outputs, warps, slices)
                if isinstance(plan, str):
                    refused = plan
                else:
                    found.append(plan)
    return min(found, key=lambda plan: (_cycles(plan, sizes), plan.outputs, plan.slices)) if found else refused


def _cycles(plan: BackwardPlan, sizes: Sizes) -> float:
    """How long a step takes for a row of the batch: to gather all messages, and to multiply in each block.

    In a cycle a multiprocessor multiplies for 128 lanes, and reads 128 bytes of shared memory; a vector that it reads
    there serves all outputs of a warp, weights that lie there all rows that are multiplied at a time.
    """
    each = sizes.itemsize // 4  # float64 takes twice as long
    multiplied = plan.warps * plan.chunks * plan.outputs * each
    beyond = plan.warps * (plan.chunks - plan.kept) * plan.outputs * plan.outputs / 16
    read = CHUNK / 128 * (plan.warps * plan.chunks + beyond)
    return plan.gathered / sizes.B / L2_BYTES + max(multiplied, read)


def backward_plan(
    sizes: Sizes, limits: Limits, outputs: int, warps: int, slices: int, rows: int = 8, held: int = WEIGHTS
) -> BackwardPlan | str:
    """The plan with a table of about so many slices; a lane holds `held` vectors of weights in registers."""
    columns, piece = ceil(sizes.H / (outputs * warps)), _piece(sizes)
    slice_ = ceil(ceil(sizes.H / slices) / piece) * piece
    slices = ceil(sizes.H / slice_)  # none is empty: a block that gathers nothing would not wait for the others
    chunks = sizes.chunks(sizes.G * slice_)
    kept = min(chunks, max(1, held // outputs))
    beyond = warps * (chunks - kept) * outputs
    rows, shared, refused = into_shared(power(sizes.B, rows), lambda n: (2 * n * chunks + beyond) * CHUNK, limits)
    if refused:
        return f"{refused}; {streamed(sizes, limits)}"
    return BackwardPlan(
        warps=warps,
        chunks=chunks,
        kept=kept,
        rows=rows,
        shared=shared,
        columns=columns,
        slices=slices,
        slice=slice_,
        outputs=outputs,
        piece=piece,
        gathered=(columns * sizes.G + slices) * sizes.B * sizes.H * sizes.itemsize,
    )


def streamed(sizes: Sizes, limits: Limits) -> str:
    """What a step would take if the weights that find no room on the chip were read again each time, as a sentence.

    They would come from the cache, once for each four rows of the batch. The lowest rung reads all of them from memory,
    once for the whole batch, in two launches of a graph.
    """
    rows = 4
    weights = sizes.D * sizes.G * sizes.H * sizes.H * sizes.itemsize
    beside = rows * sizes.H * sizes.itemsize
    each = WARPS * WEIGHTS * CHUNK + max(0, limits.shared_bytes_per_block - beside)
    beyond = max(0, weights - each * limits.multiprocessors)
    times = EXCHANGE + ceil(sizes.B / rows) * beyond / CACHE, EXCHANGE + weights / MEMORY
    kernel, steps = (f"{1e6 * t:.1f}" for t in times)
    return (
        f"no kernel reads the rest again at each step (computed, not measured: on an H200 that would take {kernel}"
        f" microseconds a step for {sizes.B} rows, steps {steps})"
    )


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
    units, chunks = power(ceil(each / 8), 4), sizes.chunks(sizes.G * sizes.H)
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
    rows = power(ceil(sizes.B / max(1, clusters_at_once(limits) // sizes.D)), most_rows)
    return ClusterPlan(warps=warps, chunks=chunks, kept=chunks, rows=rows, slices=ceil(sizes.B / rows), units=units)


def _refused_cluster(sizes: Sizes, limits: Limits) -> str:
    if limits.compute_capability < (9, 0):
        return "clusters of blocks need compute capability 9.0"
    if limits.multiprocessors < CLUSTER:
        return f"a cluster needs {CLUSTER} multiprocessors, the device has {limits.multiprocessors}"
    return ""


def _refused_persistent(sizes: Sizes, limits: Limits) -> str:
    return "" if limits.compute_capability >= (7, 0) else "its blocks' messages need compute capability 7.0"


def _piece(sizes: Sizes) -> int:
    """The numbers of a vector, if rows of H numbers are aligned to vectors; else 1."""
    numbers = VECTOR // sizes.itemsize
    return 1 if sizes.H % numbers else numbers
