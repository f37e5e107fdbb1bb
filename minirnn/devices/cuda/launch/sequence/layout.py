"""How the kernels of one launch are laid out over a device: blocks, warps, registers, shared memory.

These are pure functions of a layer's sizes and a device's limits. Each returns a layout, or the reason why there is
none. The register limits were found with NVIDIA's compiler; a test compiles the kernels for the layouts at these
bounds. Among several layouts, the first of these decides: the fewest weights outside registers, then the fewest
multiplications of a block, then the fewest bytes of messages. No GPU has timed this rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence.sizes import Sizes

LANES = 32
VECTOR = 16
"""Bytes of a row that a lane holds in one chunk."""
CHUNK = LANES * VECTOR
"""Bytes of a row in one chunk."""
WEIGHTS = 32
"""Vectors of weights that a lane keeps in registers, which takes half of its registers."""
TILE = 8
"""The most rows of the batch in a tile."""
UNITS = 2
"""Units of a warp in a forward pass."""
WARPS = 8
"""The most warps of a block: a thread has 255 registers then."""
OUTPUTS = {4: (8, 16), 8: (8,)}
"""Maps the bytes of a number to the units of dh that a warp may compute in a backward pass."""
SLICES = 16
"""The most slices of the table of a backward pass: the owner of a unit adds as many shares, some at a time."""
MOST_GATES = 4
"""The gates that read h of a cell whose sums fit the lanes of a warp (`sequence/persistent.cu`)."""
THREADS = 256
"""The most threads of a block of the rung `barrier` (`sequence/barrier.cu`)."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """What all layouts have: the blocks of one direction, and the warps of a block.

    `shared`: bytes of dynamic shared memory of a block. `gathered`: bytes that all blocks of a direction read from each
    other in one step.
    """

    blocks: int
    warps: int
    shared: int
    gathered: int

    @property
    def threads(self) -> tuple[int, int, int]:
        """The size of a block for a launch."""
        return (LANES * self.warps, 1, 1)


@dataclass(frozen=True, kw_only=True)
class BarrierLayout(Blocks):
    """The layout of `sequence/barrier.cu`, the same for both passes: a block of `units` on each multiprocessor."""

    units: int

    @property
    def constants(self) -> dict[str, int]:
        """The compile-time constants of the kernel: the most threads of any block."""
        return {"THREADS": THREADS}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kernel's arguments after T, B and H."""
        return (self.units,)

    def describe(self, D: int) -> str:
        """A readable line."""
        return (
            f"{self.blocks * D} blocks of {self.warps} warps, {self.units} units each; {self.shared:,} bytes of shared"
            f" memory per block; one barrier per step; {self.gathered:,} bytes of others are read per step"
        )


def barrier_layout(sizes: Sizes, limits: Limits, backward: bool) -> BarrierLayout | str:
    """The units of a direction dealt to its multiprocessors, or the reason why they do not fit."""
    units = ceil(sizes.H / (limits.multiprocessors // sizes.D))
    blocks, shared = ceil(sizes.H / units), units * sizes.G * sizes.H * sizes.itemsize
    if shared > limits.shared_bytes_per_block:
        return too_large(shared, limits)
    gathered = blocks * sizes.B * sizes.H * sizes.itemsize * (sizes.G if backward else 1)
    warps = ceil(min(sizes.B * units, THREADS) / LANES)
    return BarrierLayout(blocks=blocks, units=units, warps=warps, shared=shared, gathered=gathered)


@dataclass(frozen=True, kw_only=True)
class Layout(Blocks):
    """The common part of the layouts of both persistent passes.

    Attributes
    ----------
    chunks, in_registers, weights : int
        The number of chunks of a row of weights, how many of them are in registers, and the chunks of all rows of a
        block, by which it multiplies each row of the batch in each step.
    rows : int
        Rows of the batch that a warp computes at a time.
    columns : int
        Blocks that have different units.
    piece : int
        Numbers that one load of messages takes: 16 bytes of them if rows of messages are aligned to that, otherwise 1.
    batch, groups : int
        The rows of each group of the batch, and the number of groups. The blocks of each group together hold all
        weights.
    """

    chunks: int
    in_registers: int
    weights: int
    rows: int
    columns: int
    piece: int
    batch: int
    groups: int

    @property
    def constants(self) -> dict[str, int]:
        """The compile-time constants of the kernel."""
        return {"CHUNKS": self.in_registers, "ROWS": self.rows, "THREADS": LANES * WARPS, "PIECE": self.piece}

    def rank(self) -> tuple[float, ...]:
        """The smallest one is chosen: chunks outside registers, multiplications of a block per row, messages."""
        beyond = self.weights // self.chunks * (self.chunks - self.in_registers)
        return beyond, self.weights / self.groups, self.gathered  # a block has one of `groups` parts of the rows

    def weights_and_rows(self) -> str:
        """The end of `describe`."""
        beyond = self.chunks - self.in_registers
        split = f"{self.groups} groups of blocks, each {self.batch} rows of the batch; " if self.groups > 1 else ""
        return (
            f"{split}weights in registers{f', {beyond} of {self.chunks} parts in shared memory' if beyond else ''};"
            f" {self.rows} rows of the batch at a time; {self.shared:,} bytes of shared memory per block;"
            f" one block per multiprocessor; {self.gathered:,} bytes of messages per step"
        )


@dataclass(frozen=True, kw_only=True)
class ForwardLayout(Layout):
    """The layout of `sequence/persistent.cu`: each of the `columns` blocks computes some units.

    `parts`: warps that share the rows of weights of two units.
    """

    parts: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kernel's arguments after T, B and H."""
        return self.chunks, self.parts, self.batch

    def describe(self, D: int) -> str:
        """A readable line."""
        split = f", {self.parts} warps to the same" if self.parts > 1 else ""
        return f"{self.blocks * D} blocks of {self.warps} warps, {UNITS} units each{split}; {self.weights_and_rows()}"


@dataclass(frozen=True, kw_only=True)
class BackwardLayout(Layout):
    """The layout of `sequence/persistent_grad.cu`: the blocks of a direction are a table.

    A column of the table has units of dh, a slice has terms of their sums. A row of weights has the terms of one
    unit of dh in a slice.

    Attributes
    ----------
    slices : int
        Slices of the table.
    slice : int
        Units for which a block gathers the gradients of all gates.
    outputs : int
        Units of dh of a warp.
    """

    slices: int
    slice: int
    outputs: int

    @property
    def constants(self) -> dict[str, int]:
        return super().constants | {"OUTPUTS": self.outputs}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kernel's arguments after T, B and H."""
        return self.chunks, self.slices, self.slice, self.batch

    def describe(self, D: int) -> str:
        """A readable line."""
        return (
            f"{self.blocks * D} blocks of {self.warps} warps of {self.outputs} units, {self.columns} columns of units"
            f" by {self.slices} slices of terms{' per direction' if D > 1 else ''}; {self.weights_and_rows()}"
        )


def layout_of(
    sizes: Sizes, limits: Limits, backward: bool, barrier: bool = False
) -> ForwardLayout | BackwardLayout | BarrierLayout | str:
    """The layout of one pass of a layer, or the reason why there is none. `barrier` selects the rung of that name.

    Of all numbers of groups of the batch, the one with the lowest rank is taken.
    """
    plan = sizes.plan
    if plan.projected or sizes.P != sizes.H:
        return "with a projection a step has two products, and each needs the whole result of the other"
    if plan.cuts:
        return "the cell has products or means inside its step, which need the results of all blocks"
    if not sizes.rows_of_W or not sizes.G:
        return f"no gate of the cell reads {'h, so its blocks have nothing to exchange' if sizes.rows_of_W else 'x'}"
    if not barrier and sizes.G > MOST_GATES:
        return f"{sizes.G} gates of the cell read h, a warp has lanes for {MOST_GATES}"
    if limits.compute_capability < (7, 0):
        return "its blocks' messages need compute capability 7.0"
    if not limits.cooperative:
        return "its blocks wait for each other, and this device offers no cooperative launch"
    if limits.multiprocessors < sizes.D:
        return f"{sizes.D} directions need a multiprocessor each, the device has {limits.multiprocessors}"
    if barrier:
        return barrier_layout(sizes, limits, backward)
    found = [(backward_in if backward else forward_in)(sizes, limits, groups) for groups in groups_of(sizes.B)]
    return min([one for one in found if not isinstance(one, str)], key=Layout.rank, default=found[0])


def groups_of(B: int) -> list[int]:
    """The possible numbers of groups of a batch: each group has at least a whole tile of rows."""
    return [1, *(2**k for k in range(1, 8) if ceil(B / 2**k) >= TILE)]


def forward_in(sizes: Sizes, limits: Limits, batch_groups: int) -> ForwardLayout | str:
    """The layout with this number of groups of the batch, with at most one block per multiprocessor.

    A row of weights is shared by the fewest warps that give a block four warps and fit the weights in registers.
    """
    each = limits.multiprocessors // sizes.D // batch_groups
    if each == 0:
        return f"{batch_groups} groups of the batch need a multiprocessor each"
    groups = max(2, ceil(ceil(sizes.H / each) / UNITS))
    if groups > WARPS:
        units = f"{sizes.H} units on {each} multiprocessors are {groups * UNITS} per block"
        return f"{units}; registers suffice for {WARPS * UNITS}"
    chunks, parts = chunks_of(sizes, sizes.H), 1
    # Sums of float64 take twice the registers, and before 8.0 the compiler needs more registers for addresses.
    held = WEIGHTS // (UNITS * 4) - (sizes.itemsize == 8 or limits.compute_capability < (8, 0))
    while groups * parts * 2 <= WARPS and parts < chunks and (groups * parts < 4 or ceil(chunks / parts) > held):
        parts *= 2
    return forward_of(sizes, limits, groups, parts, held=held, batch_groups=batch_groups)


def forward_of(
    sizes: Sizes,
    limits: Limits,
    groups: int,
    parts: int,
    rows: int = TILE,
    held: int = WEIGHTS // (UNITS * 4),
    batch_groups: int = 1,
) -> ForwardLayout | str:
    """The layout with this number of groups of units per block, of `parts` warps each; `held` chunks of weights in
    registers.
    """
    batch, batch_groups = dealt(sizes.B, batch_groups)
    chunks = ceil(chunks_of(sizes, sizes.H) / parts)
    in_registers, units = min(chunks, held), groups * UNITS
    totals = parts * (units + UNITS) * sizes.G * sizes.itemsize  # of a row
    beyond = groups * parts * (chunks - in_registers) * UNITS * sizes.G
    fit = fitting(batch, rows, lambda n: n * (chunks * parts * CHUNK + totals) + VECTOR + beyond * CHUNK, limits)
    if isinstance(fit, str):
        return fit
    columns = ceil(sizes.H / units)
    gathered = columns * sizes.B * sizes.H * sizes.itemsize
    return ForwardLayout(
        blocks=columns * batch_groups, warps=groups * parts, chunks=chunks, in_registers=in_registers,
        weights=parts * units * sizes.G * chunks, rows=fit[0], shared=fit[1], columns=columns, parts=parts,
        piece=piece_of(sizes), gathered=gathered, batch=batch, groups=batch_groups,
    )  # fmt: skip


def backward_in(sizes: Sizes, limits: Limits, batch_groups: int) -> BackwardLayout | str:
    """The layout with this number of groups of the batch: of all tables that fit, the one with the lowest rank."""
    each = limits.multiprocessors // sizes.D // batch_groups
    found, refused = [], ""
    for outputs in OUTPUTS[sizes.itemsize]:
        for warps in (2, 4, WARPS):
            columns = ceil(sizes.H / (outputs * warps))
            if columns > each:
                refused = f"{sizes.H} units make {columns} columns of blocks, a direction has {each} multiprocessors"
                continue
            most = max(1, min(each // columns, chunks_of(sizes, sizes.G * sizes.H)))  # each has at least one chunk
            for slices in range(1, min(most, SLICES) + 1):
                layout = backward_of(sizes, limits, outputs, warps, slices, batch_groups=batch_groups)
                if isinstance(layout, str):
                    refused = layout
                else:
                    found.append(layout)
    return min(found, key=Layout.rank, default=refused)


def backward_of(
    sizes: Sizes,
    limits: Limits,
    outputs: int,
    warps: int,
    slices: int,
    rows: int = TILE,
    held: int = WEIGHTS,
    batch_groups: int = 1,
) -> BackwardLayout | str:
    """The layout with a table of about this number of slices; a lane holds `held` vectors of weights in registers."""
    batch, batch_groups = dealt(sizes.B, batch_groups)
    columns, piece = ceil(sizes.H / (outputs * warps)), piece_of(sizes)
    slice_ = ceil(ceil(sizes.H / slices) / piece) * piece
    slices = ceil(sizes.H / slice_)  # none is empty, because a block that gathers nothing would not wait for the others
    chunks = chunks_of(sizes, sizes.G * slice_)
    in_registers = min(chunks, max(1, held // outputs))
    beyond = warps * (chunks - in_registers) * outputs
    fit = fitting(batch, rows, lambda n: (2 * n * chunks + beyond) * CHUNK, limits)
    if isinstance(fit, str):
        return fit
    gathered = (columns * sizes.G + slices) * sizes.B * sizes.H * sizes.itemsize
    return BackwardLayout(
        blocks=columns * slices * batch_groups, warps=warps, chunks=chunks, in_registers=in_registers,
        weights=warps * outputs * chunks, rows=fit[0], shared=fit[1], columns=columns, slices=slices, slice=slice_,
        outputs=outputs, piece=piece, gathered=gathered, batch=batch, groups=batch_groups,
    )  # fmt: skip


def dealt(B: int, groups: int) -> tuple[int, int]:
    """The rows per group for about this number of groups, and the resulting number of groups, none of which is
    empty.
    """
    batch = ceil(B / groups)
    return batch, ceil(B / batch)


def chunks_of(sizes: Sizes, length: int) -> int:
    """The number of chunks of a row of weights of this length."""
    return ceil(length * sizes.itemsize / CHUNK)


def fitting(B: int, most: int, needed: Callable[[int], int], limits: Limits) -> tuple[int, int] | str:
    """The number of rows of the batch, a power of two up to `most`, that fit into shared memory at a time, and the
    bytes.

    Returns the reason if not even one fits.
    """
    rows = min(most, 1 << max(0, B - 1).bit_length())
    while rows > 1 and needed(rows) > limits.shared_bytes_per_block:
        rows //= 2
    if needed(rows) <= limits.shared_bytes_per_block:
        return rows, needed(rows)
    return too_large(needed(rows), limits)


def too_large(shared: int, limits: Limits) -> str:
    """The reason why there is no layout."""
    return (
        f"its weights do not fit on the chip: {shared:,} bytes of shared memory per block,"
        f" the device has {limits.shared_bytes_per_block:,}"
    )


def piece_of(sizes: Sizes) -> int:
    """The length of a vector if rows of H numbers are aligned to vectors, otherwise 1."""
    numbers = VECTOR // sizes.itemsize
    return 1 if sizes.H % numbers else numbers
