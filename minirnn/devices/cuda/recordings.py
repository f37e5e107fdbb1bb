"""Recorded work: a layer whose launches were written down once, and loops over time as CUDA graphs.

To start a small recurrent layer takes Python longer than the GPU needs to compute it: plans, views of arrays and
arguments of kernels are made anew at each call. So a pass of a layer is a `Program` (`program.py`) from its second call
on: the list of its launches, into which only addresses are put. A loop in it, with a launch or two per step, becomes a
CUDA graph when it comes again with the same addresses, which costs the host one start. In training addresses repeat,
because freed memory is reused in the same order.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, LaunchError, NotRecordable, Recording, RefusedLaunch
from minirnn.devices.cuda.program import ALIGNMENT, Program, arrays_in
from minirnn.devices.precision import chosen

VARIABLE = "MINIRNN_CUDA_GRAPHS"
KEPT = 64
"""The number of graphs, and loops seen once, that are remembered; the least recently used is dropped first."""
PROGRAMS = 256
"""The same for programs, which hold no memory of the GPU."""
LAUNCHES = 100_000
"""The number of launches in all programs. One takes about 3 KB of the host's memory."""
ONCE, NEVER = "seen once", "not to be recorded"
"""The states of work without a recording."""


class Recordings:
    """The recorded work of one device.

    Attributes
    ----------
    enabled : bool
        Whether anything is recorded; initially the value of ``MINIRNN_CUDA_GRAPHS``, 1 or 0. If it is not set, a
        GPU records; the simulator, which would gain nothing, does not.
    counts : collections.Counter
        How often a layer ran launch by launch ("plain"), was "recorded", and ran from its program ("replayed"); and how
        often a loop was recorded as a graph ("graphs") and started as one ("loops").
    """

    def __init__(self, driver: Driver, enabled: bool | None = None) -> None:
        self.driver = driver
        self.enabled = from_environment(driver.limits.simulated) if enabled is None else enabled
        self._asked_for = bool(os.environ.get(VARIABLE))
        self.counts: Counter[str] = Counter()
        self._programs: OrderedDict[Hashable, Program | str] = OrderedDict()
        self._graphs: OrderedDict[Hashable, Recording | str] = OrderedDict()
        self._lock, self._launches = threading.Lock(), 0

    def run(self, device: Any, work: Callable[..., Any], numbers: Hashable, arrays: Any) -> Any:
        """``work(device, numbers, arrays)``, or its program if it has one.

        Parameters
        ----------
        device : Cuda
        work : callable
            Launches kernels and products, and returns arrays in tuples, lists and dictionaries. It changes none of
            `arrays`, reads no results from the device, and depends on nothing but `numbers`, the shapes of `arrays`,
            the rung that is asked for, and the precision.
        numbers : hashable
        arrays : tuples and lists of CudaArray or None
        """
        if not self.enabled:
            return work(device, numbers, arrays)
        if not self.driver.prepares:
            self.counts["plain"] += 1
            return work(device, numbers, arrays)
        given: list[CudaArray | None] = []
        arrays_in(arrays, given)
        key = (
            work, numbers, device.cudnn_rnn_rung, chosen.precision,
            *[a if a is None else (a.shape, a.element_strides, a.dtype, a.ptr % ALIGNMENT) for a in given],
        )  # fmt: skip
        program = self._programs.get(key)
        if program is None:  # its kernels are compiled now
            self._remember(key, ONCE)
        else:
            program = self._written_down(device, work, numbers, arrays) if program is ONCE else program
            self._remember(key, program)
        if not isinstance(program, Program):
            self.counts["plain"] += 1
            return work(device, numbers, arrays)
        try:
            found = program.run(device, given)
        except RefusedLaunch:  # launch by launch, the lowest rung takes over
            self._remember(key, ONCE)
            return work(device, numbers, arrays)
        self.counts["replayed"] += 1
        return found

    def _written_down(self, device: Any, work: Callable[..., Any], numbers: Hashable, arrays: Any) -> Program | str:
        try:
            found = Program(device, work, numbers, arrays)
        except NotRecordable:
            return NEVER
        self.counts["recorded"] += 1
        return found

    def _remember(self, key: Hashable, program: Program | str) -> None:
        with self._lock:
            before = self._programs.get(key)
            if before is not program:
                self._launches += launches(program) - launches(before)
                self._programs[key] = program
            self._programs.move_to_end(key)
            while len(self._programs) > PROGRAMS or self._launches > LAUNCHES and len(self._programs) > 1:
                self._launches -= launches(self._programs.popitem(last=False)[1])

    def loop(self, key: Hashable, work: Callable[[], None]) -> None:
        """Run the `work()` of a loop, which depends only on `key`, or its graph if there is one."""
        graph = self._graph(key, work)
        if graph is None:
            work()
        else:
            self.counts["loops"] += 1
            graph()

    def _graph(self, key: Hashable, work: Callable[[], None]) -> Recording | None:
        with self._lock:
            if key not in self._graphs:
                self._graphs[key] = ONCE
                while len(self._graphs) > KEPT:
                    self._forget(self._graphs.popitem(last=False)[1])
                return None
            self._graphs.move_to_end(key)
            if self._graphs[key] == ONCE:
                self._graphs[key] = self._record(work)
            found = self._graphs[key]
            return None if isinstance(found, str) else found

    def _record(self, work: Callable[[], None]) -> Recording | str:
        try:
            recording = self.driver.record(work)
        except LaunchError as error:
            if not self._asked_for:  # a program that works without recordings must not fail
                self.enabled = False
                warnings.warn(f"CUDA graphs are off from here on: a loop cannot be recorded: {error}", stacklevel=2)
                return NEVER
            raise LaunchError(f"a loop cannot be recorded: {error}\n  launch by launch: {VARIABLE}=0") from error
        self.counts["graphs"] += 1
        return recording

    @staticmethod
    def _forget(found: Recording | str) -> None:
        if not isinstance(found, str):
            found.close()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._programs.clear()
            while self._graphs:
                self._forget(self._graphs.popitem()[1])


def launches(program: Program | str | None) -> int:
    return sum(len(part.steps) for part in program.parts) if isinstance(program, Program) else 0


def from_environment(simulated: bool) -> bool:
    """Raises ValueError if ``MINIRNN_CUDA_GRAPHS`` is neither 1 nor 0."""
    said = os.environ.get(VARIABLE) or ("0" if simulated else "1")
    if said not in ("0", "1"):
        raise ValueError(f"{VARIABLE} is {said!r}\n  expected 1 or 0")
    return said == "1"
