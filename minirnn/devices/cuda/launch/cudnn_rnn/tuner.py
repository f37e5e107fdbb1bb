"""Which rung of the CudnnRNN ladder computes a layer on a GPU: the one that was the fastest when all were timed on it.

The first layer of a class (mode, sizes, dtype, pass) is the occasion for a trial (`trial.py`) of some milliseconds a
rung; the result is kept in the process and on disk (`timings.py`), so a class is timed once for a GPU, a driver, a
compiler and a version of the kernels. ``MINIRNN_TUNE=0`` forbids that: then a rule chooses (`choice.py`).
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from minirnn.devices.cuda.driver import LaunchError, OutOfDeviceMemory
from minirnn.devices.cuda.launch.cudnn_rnn import trial
from minirnn.devices.cuda.launch.cudnn_rnn.choice import Choice, choose
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timing, Timings
from minirnn.devices.precision import chosen

if TYPE_CHECKING:
    from minirnn.devices.cuda.device import Cuda

VARIABLE = "MINIRNN_TUNE"
MARGIN = 1.03
"""A candidate must be faster than the plainer ones by this factor: two runs shall not choose by chance."""
REMEMBERED = 1024
"""How many choices are remembered, by exact sizes, before all are looked up anew."""


class Tuner:
    """Chooses for one device.

    Attributes
    ----------
    enabled : bool
        Whether rungs are timed; at first what ``MINIRNN_TUNE`` says: 1 or 0, by default 1.
    timings : Timings or None
        What is kept on disk; None in the simulator, where nothing is timed.
    """

    def __init__(self, device: Cuda) -> None:
        self.device = device
        self.enabled = from_environment()
        driver = device.driver
        self.timings = None if driver.limits.simulated else Timings(driver.about)
        self._known: dict[str, Timing] = {}
        self._choices: dict[tuple[object, ...], Choice] = {}
        self._no_room: set[str] = set()
        self._lock = threading.RLock()

    def choice(self, sizes: Sizes, backward: bool, may_time: bool = True) -> Choice:
        """The rung for a layer: what `device.cudnn_rnn_rung` asks for, or the fastest, or by rule.

        Without `may_time` the fastest is known only if it was timed before.

        Raises
        ------
        LaunchError
            If a rung that is tried brings down the GPU's context, or if an earlier launch has failed.
        """
        device = self.device
        limits, wanted = device.driver.limits, device.cudnn_rnn_rung
        key = sizes, backward, wanted, self.enabled, device.recordings.enabled, self._rounds()
        found = self._choices.get(key)
        if found is not None:
            return found
        timing, by_time = None, wanted is None and self.enabled and sizes.T > 1 and self.timings is not None
        if by_time:
            timing = self.timing(sizes, backward) or (self._time(sizes, backward) if may_time else None)
        found = choose(sizes, limits, backward, wanted) if timing is None else self._fastest(sizes, backward, timing)
        if timing is not None or not by_time:
            if len(self._choices) >= REMEMBERED:
                self._choices.clear()
            self._choices[key] = found
        return found

    def timing(self, sizes: Sizes, backward: bool) -> Timing | None:
        """What was timed for the class of this layer, here or by another process. Nothing is timed now."""
        return self.known(self.class_of(sizes, backward))

    def known(self, name: str) -> Timing | None:
        """What was timed for the class of this name."""
        if self.timings is None:
            return None
        if name not in self._known:
            self._known.update({n: t for n, t in self.timings.read().items() if n not in self._known})
        return self._known.get(name)

    def class_of(self, sizes: Sizes, backward: bool) -> str:
        """Layers of one class share a timing: T and B count by their next power of two (up to 64 and 1024), H and P by
        their next multiple of 32."""
        projected = f" P{_next_32(sizes.P)}" if sizes.P != sizes.H else ""
        rounding = " tf32" if self._rounds() else ""
        number = "float16" if sizes.operand == "float16" else f"float{8 * sizes.itemsize}"
        graphs = "" if self.device.recordings.enabled else " without graphs"
        return (
            f"{sizes.mode} {'backward' if backward else 'forward'} T{_power(sizes.T, trial.STEPS)}"
            f" B{_power(sizes.B, 1024)} H{_next_32(sizes.H)}{projected} D{sizes.D} {number}"
            f"{rounding}{graphs}"
        )

    def _rounds(self) -> bool:
        """Whether the library's products round to TF32."""
        return chosen.precision == "tf32"

    def keep(self, name: str, timing: Timing) -> None:
        """Keep what was timed for the class of this name, here and on disk."""
        assert self.timings is not None
        self._known[name] = timing
        self.timings.put(name, timing)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside, no other thread and no other process times."""
        assert self.timings is not None
        self.device.missed.look()  # what failed before is nobody's fault here
        with self._lock, self.timings.alone():
            yield

    def can_time(self) -> bool:
        """Whether this device has a clock, and is not recording."""
        driver = self.device.driver
        return self.timings is not None and driver.seconds is not None and not driver.recording

    def _time(self, sizes: Sizes, backward: bool) -> Timing | None:
        """The result of a trial; None if there can be none now."""
        name = self.class_of(sizes, backward)
        if not self.can_time() or name in self._no_room:
            return None
        assert self.timings is not None
        with self.alone():
            found = self.timing(sizes, backward)  # another thread or process may have done it meanwhile
            if found is not None:
                return found
            classwide = replace(sizes, T=_power(sizes.T, trial.STEPS))
            bad = self.timings.lost_in(name)
            try:
                found = trial.timed(self.device, classwide, backward, lambda c: self._watched(name, c), bad)
            except OutOfDeviceMemory:
                self._no_room.add(name)
                return None
            for candidate, reason in found.dropped.items():
                warnings.warn(
                    f"{self.device}: the rung {candidate!r} of CudnnRNN is not used for {name}: {reason}",
                    RuntimeWarning,
                    stacklevel=2,
                )
            self.keep(name, found)
            return found

    @contextmanager
    def _watched(self, name: str, candidate: str) -> Iterator[None]:
        """The candidate is marked on disk, for good if the process or the GPU's context does not survive."""
        assert self.timings is not None
        self.timings.mark(name, candidate)
        try:
            yield
        except LaunchError:
            raise  # the context is lost
        except BaseException:
            self.timings.unmark(name, candidate)
            raise
        self.timings.unmark(name, candidate)

    def _fastest(self, sizes: Sizes, backward: bool, timing: Timing) -> Choice:
        device, best = self.device, None
        for candidate in trial.candidates(sizes, device.driver.limits, backward, device.recordings.enabled):
            seconds = timing.seconds.get(candidate.name)
            if seconds is not None and (best is None or seconds * MARGIN < best[0]):
                best = seconds, candidate
        if best is None:  # the file knows other candidates than this layer has
            return Choice("steps", "none of the rungs that were timed can be had")
        chosen = best[1]
        as_a_graph = "as a graph, " if chosen.recorded else ""
        reason = f"{as_a_graph}the fastest of {len(timing.seconds)} that were timed on this GPU"
        rung = "steps" if chosen.plan is None else chosen.name
        return Choice(rung, reason, chosen.plan, chosen.recorded or chosen.plan is not None)


def _power(n: int, most: int) -> int:
    return min(1 << max(n - 1, 0).bit_length(), most)


def _next_32(n: int) -> int:
    return -(-n // 32) * 32


def from_environment() -> bool:
    """Raises ValueError if ``MINIRNN_TUNE`` is neither 1 nor 0."""
    said = os.environ.get(VARIABLE) or "1"
    if said not in ("0", "1"):
        raise ValueError(f"{VARIABLE} is {said!r}\n  expected 1 or 0")
    return said == "1"
