"""Recording repeated loops of launches, so that they are started as one launch.

A step of a small recurrent layer takes the GPU less time than the host needs to start it. A recording (on a GPU: a CUDA
graph) costs the host one start for the whole loop. It contains the addresses of all arrays, so it is valid only for
calls with the same ones. In training they repeat, because freed memory is reused in the same order.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, LaunchError, NotRecordable, Recording
from minirnn.devices.precision import chosen

VARIABLE = "MINIRNN_CUDA_GRAPHS"
KEPT = 64
"""The number of recordings, and loops seen once, that are remembered; the least recently used is dropped first."""
ONCE, NEVER = "seen once", "not to be recorded"
"""The states of a loop without a recording."""


class Recordings:
    """The loops of one device.

    Attributes
    ----------
    enabled : bool
        Whether loops are recorded at all; initially the value of ``MINIRNN_CUDA_GRAPHS``, 1 or 0. If it is not set, a
        GPU records until a loop cannot be recorded; the simulator, which would gain nothing, does not.
    counts : collections.Counter
        How often a loop ran launch by launch ("plain"), was "recorded", and was run from its recording ("replayed").
    """

    def __init__(self, driver: Driver, enabled: bool | None = None) -> None:
        self.driver = driver
        self.enabled = from_environment(driver.limits.simulated) if enabled is None else enabled
        self._asked_for = bool(os.environ.get(VARIABLE))
        self.counts: Counter[str] = Counter()
        self._known: OrderedDict[Hashable, Recording | str] = OrderedDict()
        self._lock = threading.Lock()

    def run(
        self, name: str, numbers: Sequence[Hashable], arrays: Sequence[CudaArray | None], work: Callable[[], None]
    ) -> None:
        """Run `work()`, or its recording if there is one.

        Parameters
        ----------
        name, numbers, arrays
            Everything that `work` depends on: the name of the loop, its sizes and attributes, and every array it reads
            or writes. `work` itself creates no arrays and reads no results from the device.
        work : callable
            Launches kernels and products. The first time it runs; the second time it is recorded.
        """
        if not self.enabled:
            work()
            return
        places = tuple([None if a is None else (a.ptr, a.shape, a.element_strides, a.dtype) for a in arrays])
        key = name, chosen.precision, *numbers, places
        recording = self._find(name, key, work)
        if recording is None:
            self.counts["plain"] += 1
            work()
        else:
            self.counts["replayed"] += 1
            recording()

    def _find(self, name: str, key: Hashable, work: Callable[[], None]) -> Recording | None:
        with self._lock:
            if key not in self._known:
                self._known[key] = ONCE
                while len(self._known) > KEPT:
                    self._forget(self._known.popitem(last=False)[1])
                return None
            self._known.move_to_end(key)
            if self._known[key] == ONCE:
                self._known[key] = self._record(name, work)
            found = self._known[key]
            return None if isinstance(found, str) else found

    def _record(self, name: str, work: Callable[[], None]) -> Recording | str:
        try:
            recording = self.driver.record(work)
        except NotRecordable:
            return NEVER
        except LaunchError as error:
            if not self._asked_for:  # a program that works without recordings must not fail
                self.enabled = False
                warnings.warn(f"CUDA graphs are off from here on: {name} cannot be recorded: {error}", stacklevel=2)
                return NEVER
            raise LaunchError(f"{name} cannot be recorded: {error}\n  launch by launch: {VARIABLE}=0") from error
        self.counts["recorded"] += 1
        return recording

    @staticmethod
    def _forget(found: Recording | str) -> None:
        if not isinstance(found, str):
            found.close()

    def clear(self) -> None:
        """Forget all loops."""
        with self._lock:
            while self._known:
                self._forget(self._known.popitem()[1])


def from_environment(simulated: bool) -> bool:
    """Raises ValueError if ``MINIRNN_CUDA_GRAPHS`` is neither 1 nor 0."""
    said = os.environ.get(VARIABLE) or ("0" if simulated else "1")
    if said not in ("0", "1"):
        raise ValueError(f"{VARIABLE} is {said!r}\n  expected 1 or 0")
    return said == "1"
