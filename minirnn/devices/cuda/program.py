"""Programs: the launches of a layer, written down once and then run for arrays at any addresses.

The launching code runs once on paper: on a device whose driver only writes down what it gets, with addresses in memory
that does not exist. In each launch the addresses are then known as places: an array of the caller, or memory that the
code asked for, and the bytes from its start. To run the program is to ask for the memory of its results and one block
for all the rest, to add these places up, and to start the launches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.devices.cuda.arguments import addresses, moved
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, Kernel, Limits, Matrix, Module, NotRecordable, Work

PAPER = 1 << 61
"""Addresses from here on are on paper. No GPU has so much memory."""
APART = 1 << 44
"""The distance from the start of one range of memory on paper to the next."""
ALIGNED = 256
"""Bytes to which places in the block are rounded up."""
ALIGNMENT = 16
"""The alignment of the caller's arrays is the same each time, as far as kernels look at it."""

Place = tuple[int, int]
"""The number of a range of memory, and the bytes from its start. Range 0 starts at address 0."""


class Program:
    """The launches of ``work(device, numbers, arrays)``.

    Raises `NotRecordable` if `work` does anything but launches.
    """

    def __init__(self, device: Any, work: Callable[..., Any], numbers: Any, arrays: Any) -> None:
        paper = PaperDriver(device.driver)
        on_paper = object.__new__(type(device))
        on_paper.__dict__.update(device.__dict__, driver=paper, loop=paper.loop, ones=device.ones)
        on_paper.__dict__.update(rungs=Counter(), _compiled={}, _constants={})
        given: list[CudaArray | None] = []
        arrays_in(arrays, given)
        copies = iter([paper.copy_of(a, on_paper) for a in given])
        found = work(on_paper, numbers, with_arrays(arrays, lambda a: next(copies)))
        results: list[CudaArray | None] = []
        arrays_in(found, results)
        self.form = with_arrays(found, lambda a: None if a is None else Result(a))
        self.rungs, self.waits = tuple(on_paper.rungs.elements()), paper.waits
        """The rungs that it counts, and whether blocks of a kernel wait for messages."""
        own = {Result(a).number for a in results if a is not None}
        self.own = [(number, paper.sizes[number]) for number in sorted(own) if number in paper.sizes]
        """The memory of results: the number and the bytes of each."""
        place, self.rest = in_one_block(paper.events, {k: n for k, n in paper.sizes.items() if k not in own})
        """The bytes of all other memory."""
        block = self.count = paper.count
        self.parts = [
            Part(steps, repeated, lambda ptr: placed(ptr, place, block)) for steps, repeated in paper.parts if steps
        ]

    def run(self, device: Any, given: Sequence[CudaArray | None]) -> Any:
        """The results, for arrays like those with which it was written down."""
        driver = device.driver
        starts: list[int] = [0] * (self.count + 1)
        owners: list[Any] = [None] * (self.count + 1)
        for k, a in enumerate(given, 1):
            if a is not None:
                starts[k], owners[k] = a.ptr & -ALIGNMENT, a.buffer
        for number, nbytes in self.own:
            buffer = owners[number] = driver.alloc(nbytes)
            starts[number] = buffer.ptr
        rest = driver.alloc(self.rest) if self.rest else None
        starts[self.count] = rest.ptr if rest else 0
        with driver.working:
            for part in self.parts:
                if part.repeated:
                    place = tuple([starts[number] for number in part.ranges])
                    device.recordings.loop((part, place), partial(part.start, starts))
                else:
                    part.start(starts)
        if self.waits:
            device.missed.launched()
        for rung in self.rungs:
            device.rungs[rung] += 1
        return with_results(self.form, device, starts, owners)


class Part:
    """Launches one after another; `repeated` if they are a loop. `place` finds the place of an address on paper."""

    def __init__(self, noted: Sequence[tuple[Work, list[int]]], repeated: bool, place: Callable[[int], Place]) -> None:
        self.steps: list[tuple[Work, slice]] = []
        self.places: list[Place] = []
        """The places of all addresses; a step has a slice of them."""
        for work, at in noted:
            first = len(self.places)
            self.places += map(place, at)
            self.steps.append((work, slice(first, len(self.places))))
        self.repeated = repeated
        self.ranges = sorted({number for number, _ in self.places})

    def start(self, starts: Sequence[int]) -> None:
        """Run them, for ranges of memory that start here."""
        at = [starts[number] + offset for number, offset in self.places]
        for work, own in self.steps:
            work(at[own])


class Result:
    """An array of the results, as a place."""

    def __init__(self, a: CudaArray) -> None:
        self.shape, self.dtype, self.strides = a.shape, a.dtype, a.element_strides
        buffer: Any = a.buffer
        self.number: int = buffer.number
        self.offset = a.ptr - buffer.ptr


class PaperDriver:
    """A driver that writes down its work: `parts`, the steps between loops, and loops."""

    prepares = False

    def __init__(self, driver: Driver) -> None:
        self.driver, self.name = driver, driver.name
        self.limits: Limits = driver.limits
        self.parts: list[tuple[list[tuple[Work, list[int]]], bool]] = [([], False)]
        self.events: list[tuple[int, bool]] = []
        """Memory that was asked for (True) and freed (False), in order."""
        self.sizes: dict[int, int] = {}
        self.count = 1
        self.waits = False

    def copy_of(self, a: CudaArray | None, device: Any) -> CudaArray | None:
        """An array of the caller on paper, with the same alignment."""
        buffer = PaperBuffer(self)
        if a is None:
            return None
        return CudaArray(device, buffer, a.shape, a.dtype, a.element_strides, buffer.ptr + a.ptr % ALIGNMENT)

    def alloc(self, nbytes: int) -> PaperBuffer:
        return PaperBuffer(self, nbytes)

    def note(self, work: Work, at: list[int]) -> None:
        self.parts[-1][0].append((work, at))

    def loop(self, work: Callable[[], None]) -> None:
        self.parts.append(([], True))
        work()
        self.parts.append(([], False))

    def d2d(self, to: int, ptr: int, nbytes: int) -> None:
        if nbytes:
            self.note(self.driver.prepared_d2d(nbytes), [to, ptr])

    def memset(self, ptr: int, byte: int, nbytes: int) -> None:
        if nbytes:
            self.note(self.driver.prepared_memset(byte, nbytes), [ptr])

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        a, b, c = (Matrix(m.ptr, m.rows, m.cols, m.ld, m.dtype, m.transposed, m.stride) for m in (a, b, c))
        self.note(self.driver.prepared_gemm(a, b, c, beta, batch), [a.ptr, b.ptr, c.ptr])

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> PaperModule:
        return PaperModule(self, self.driver.module(source, name, options))

    def h2d(self, ptr: int, host: np.ndarray) -> None:
        raise NotRecordable(f"{self.name}: a copy from the host is not a launch")


class PaperModule:
    def __init__(self, paper: PaperDriver, module: Module) -> None:
        self.paper, self.module = paper, module

    def function(self, name: str) -> PaperKernel:
        return PaperKernel(self.paper, self.module.function(name))


class PaperKernel:
    def __init__(self, paper: PaperDriver, kernel: Kernel) -> None:
        self.paper, self.kernel, self.name = paper, kernel, kernel.name
        self.max_resident_blocks = kernel.max_resident_blocks

    def __call__(self, *args: Any, cooperative: bool = False, **threads: Any) -> None:
        self.paper.waits |= cooperative
        args = tuple([moved(arg, lambda ptr: ptr) for arg in args])  # which keep no memory alive
        work = self.kernel.prepared(*args, cooperative=cooperative, **threads)
        self.paper.note(work, [ptr for arg in args for ptr in addresses(arg)])


class PaperBuffer:
    """Memory on paper, of an array of the caller (None) or of this size."""

    def __init__(self, paper: PaperDriver, nbytes: int | None = None) -> None:
        self.paper, self.number = paper, paper.count
        self.ptr, self.nbytes = PAPER + paper.count * APART, nbytes or 0
        paper.count += 1
        if nbytes is not None:
            paper.sizes[self.number] = nbytes
            paper.events.append((self.number, True))

    def __del__(self) -> None:
        if self.number in self.paper.sizes:
            self.paper.events.append((self.number, False))


def placed(ptr: int, rest: dict[int, int], block: int) -> Place:
    """The place of an address; `rest` has the places of ranges in the block, which is range number `block`."""
    if ptr < PAPER:
        return 0, ptr
    number = (ptr - PAPER + APART // 2) // APART  # a view may begin before the start of its array
    offset = ptr - PAPER - number * APART
    return (block, rest[number] + offset) if number in rest else (number, offset)


def in_one_block(events: Sequence[tuple[int, bool]], sizes: dict[int, int]) -> tuple[dict[int, int], int]:
    """A place for each range in one block, and the size of the block. Ranges that are freed leave their place to later
    ones.
    """
    place: dict[int, int] = {}
    free: list[Place] = []  # (bytes, place)
    total = 0
    for number, asked in events:
        if number not in sizes:
            continue
        nbytes = -(-sizes[number] // ALIGNED) * ALIGNED
        if not asked:
            free.append((nbytes, place[number]))
            continue
        fits = [hole for hole in free if hole[0] >= nbytes]
        if fits:
            hole = min(fits)
            free.remove(hole)
            place[number] = hole[1]
            if hole[0] > nbytes:
                free.append((hole[0] - nbytes, hole[1] + nbytes))
        else:
            place[number], total = total, total + nbytes
    return place, total


# ---- arrays in tuples, named tuples, lists and dictionaries


def arrays_in(tree: Any, found: list[CudaArray | None]) -> None:
    """Append all arrays in it, in order; None counts as one."""
    for a in tree.values() if type(tree) is dict else tree:
        if type(a) is CudaArray or a is None:
            found.append(a)
        elif a:
            arrays_in(a, found)


def with_arrays(tree: Any, other: Callable[[CudaArray | None], Any]) -> Any:
    """The same with ``other(array)`` for each array."""
    if tree is None or type(tree) is CudaArray:
        return other(tree)
    if type(tree) is dict:
        return {name: with_arrays(a, other) for name, a in tree.items()}
    inside = [with_arrays(a, other) for a in tree]
    return type(tree)._make(inside) if hasattr(tree, "_make") else type(tree)(inside)


def with_results(form: Any, device: Any, starts: Sequence[int], owners: Sequence[Any]) -> Any:
    """The same with an array for each `Result`."""
    kind = type(form)
    inside: list[Any] = []
    for a in form.values() if kind is dict else form:
        if type(a) is Result:
            n = a.number
            inside.append(CudaArray(device, owners[n], a.shape, a.dtype, a.strides, starts[n] + a.offset))
        else:
            inside.append(a if a is None else with_results(a, device, starts, owners))
    if kind is dict:
        return dict(zip(form, inside, strict=True))
    return inside if kind is list else tuple.__new__(kind, inside)
