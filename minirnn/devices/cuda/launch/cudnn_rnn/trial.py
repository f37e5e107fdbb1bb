"""The rungs of the CudnnRNN ladder tried out on a GPU: each must compute what the lowest computes, and is timed.

A trial has a layer of its own, of the wanted sizes but with few steps and random numbers, so it needs no data of the
user's and changes none. One pass is what is timed, with all that the host does for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import CompileError, CudaError, LaunchError, Limits
from minirnn.devices.cuda.launch.cudnn_rnn import passes
from minirnn.devices.cuda.launch.cudnn_rnn.choice import upper_plans
from minirnn.devices.cuda.launch.cudnn_rnn.layer import VALUES, Layer, values_of
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Plan, Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timing
from minirnn.devices.cuda.recordings import Recordings
from minirnn.devices.precision import chosen

if TYPE_CHECKING:
    from minirnn.devices.cuda.device import Cuda

RECORDED = "steps as a graph"
"""The lowest rung with its loop as a CUDA graph."""
CANDIDATES = ("steps", RECORDED, "persistent", "cluster", "tensor")
"""All candidates, the plainest first."""
STEPS = 64
"""The most steps of a trial: each costs the same."""
NUMBERS = 1 << 24
"""The most numbers in what a trial's pass keeps; with more there are fewer steps."""
BUDGET, ROUNDS = 1e-3, 4
"""Seconds of one sample, and how many samples are taken of each candidate; the shortest counts. The first round only
warms up."""
TOLERANCE = {4: 1e-3, 8: 1e-10}
"""Bytes of a number -> by how much a result may differ from the lowest rung's, beside the largest number in it. Sums of
up to 2048 products in another order, through 64 steps; a wrong formula differs by more than a hundredth."""
ROUNDED = 2e-2
"""The same where what is multiplied is rounded to TF32 or float16."""


@dataclass(frozen=True)
class Candidate:
    """A way to compute a layer: its name, its plan (None: the lowest rung), and whether its loop is recorded."""

    name: str
    plan: Plan | None = None
    recorded: bool = False


def candidates(sizes: Sizes, limits: Limits, backward: bool, graphs: bool) -> list[Candidate]:
    """The ways that there are for a layer, the plainest first. `graphs`: whether loops may be recorded."""
    found = [Candidate("steps"), *([Candidate(RECORDED, recorded=True)] if graphs else [])]
    upper = upper_plans(sizes, limits, backward).items()
    return found + [Candidate(rung, plan) for rung, plan in upper if not isinstance(plan, str)]


def tolerance_of(candidate: Candidate, sizes: Sizes) -> float:
    """How much the candidate's results may differ from the lowest rung's."""
    whole = getattr(candidate.plan, "operand", "tf32x3") == "tf32x3"
    return TOLERANCE[sizes.itemsize] if whole and chosen.precision == "ieee" else ROUNDED


def shortened(sizes: Sizes) -> Sizes:
    """The sizes of the trial for a layer."""
    each = len(VALUES["lstm"]) * sizes.B * sizes.H * sizes.D
    return replace(sizes, T=max(2, min(sizes.T, STEPS, NUMBERS // max(each, 1))))


class Trial:
    """A layer to try rungs with.

    Parameters
    ----------
    device : Cuda
        The GPU.
    sizes : Sizes
        Those of the layer that is asked for; the trial's are `shortened`.
    backward : bool
        Which pass.
    """

    def __init__(self, device: Cuda, sizes: Sizes, backward: bool) -> None:
        self.device, self.sizes, self.backward = device, shortened(sizes), backward
        s, rng, dtype = self.sizes, np.random.default_rng(0), np.dtype(f"f{sizes.itemsize}")

        def draw(*shape: int, size: float = 1.0) -> CudaArray:
            return device.asarray((rng.standard_normal(shape) * 0.5 * size).astype(dtype))

        small = min(1.0, s.P**-0.5)  # so that sums are of size 1
        weights = [self._weights(draw, small) for _ in range(s.D)]
        ends = 1 + (np.arange(s.B) + s.T - 1) % s.T  # the first row is a whole one
        lengths = device.asarray(ends.astype(np.int32))
        self.layers = [Layer(device, s, d, lengths, ends, weights[d]) for d in range(s.D)]
        cell = s.mode == "lstm"
        self.x, self.h0 = draw(s.T, s.B, s.H), draw(s.D, s.B, s.P)
        self.c0 = draw(s.D, s.B, s.H) if cell else None
        self.dy, self.dh = draw(s.T, s.B, s.D * s.P), draw(s.D, s.B, s.P)
        self.dc = draw(s.D, s.B, s.H) if cell else None
        self.kept = values_of(device.empty((s.D * s.T * len(VALUES[s.mode]) * s.B * s.H,), dtype), s)
        if backward:
            self.y = self._forward(None)[0]

    def _weights(self, draw: Callable[..., CudaArray], small: float) -> tuple[Any, ...]:
        """W (None: as with skip_input), R, Wp, bW, bR of one direction."""
        s = self.sizes
        projection = draw(s.P, s.H, size=small) if s.P != s.H else None
        return None, draw(s.G * s.H, s.P, size=small), projection, draw(s.G * s.H), draw(s.G * s.H)

    def run(self, plan: Plan | None) -> tuple[CudaArray | None, ...] | None:
        """The results of one pass; None: the device refuses the plan."""
        found = self._backward(plan) if self.backward else self._forward(plan)
        return found or None

    def _forward(self, plan: Plan | None) -> tuple[Any, ...]:
        s, device = self.sizes, self.device
        y = device.empty((s.T, s.B, s.D * s.P), self.x.dtype)
        c = None if self.c0 is None else device.contiguous(self.c0, always=True)
        h_n = passes.forward(self.layers, self.x, self.h0, c, self.kept, y, plan)
        return () if h_n is None else (y, h_n, c)

    def _backward(self, plan: Plan | None) -> tuple[Any, ...]:
        device = self.device
        dh, dc = (None if a is None else device.contiguous(a, always=True) for a in (self.dh, self.dc))
        assert dh is not None
        found = passes.backward(self.layers, self.kept, self.y, self.dy, dh, dc, plan)
        return () if found is None else (dh, dc, *(gradients.da for gradients in found))

    def record(self, recordings: Recordings | None) -> None:
        """From here on loops are recorded there, or not at all."""
        for layer in self.layers:
            layer.recordings = recordings

    def values(self, plan: Plan | None) -> list[np.ndarray] | None:
        """The results of one pass in host memory. Raises what went wrong on the GPU meanwhile."""
        found = self.run(plan)
        self.device.synchronize()
        return None if found is None else [self.device.to_numpy(a) for a in found if a is not None]


def timed(device: Cuda, sizes: Sizes, backward: bool, watched: Callable[[str], AbstractContextManager[Any]],
          known_bad: dict[str, str]) -> Timing:  # fmt: skip
    """Try the candidates for a layer.

    Parameters
    ----------
    device, sizes, backward
        Of the layer, and which pass.
    watched : callable
        Gives a context for trying the candidate of that name, if it is one of the upper rungs.
    known_bad : dict
        Candidates that must not be run, and why.

    Raises
    ------
    LaunchError
        If a candidate has brought the GPU's context down: nothing can be computed in this process any more.
    OutOfDeviceMemory
        If there is no room for the trial.
    """
    trial = Trial(device, sizes, backward)
    expected = trial.values(None)
    assert expected is not None
    usable: list[tuple[Candidate, Recordings | None]] = []
    dropped = dict(known_bad)
    for candidate in candidates(trial.sizes, device.driver.limits, backward, device.recordings.enabled):
        if candidate.name in dropped:
            continue
        recordings = Recordings(device.driver, enabled=True) if candidate.recorded else None
        trial.record(recordings)
        with watched(candidate.name) if candidate.plan else nullcontext():
            reason = _tried(trial, candidate, expected, tolerance_of(candidate, sizes), recordings)
        if reason is None:
            usable.append((candidate, recordings))
        elif reason:
            dropped[candidate.name] = reason
    seconds = _seconds(trial, usable)
    for candidate, recordings in usable:  # many runs later, once more
        trial.record(recordings)
        with watched(candidate.name) if candidate.plan else nullcontext():
            if reason := _tried(trial, candidate, expected, tolerance_of(candidate, sizes), recordings):
                dropped[candidate.name] = reason
        if recordings is not None:
            recordings.clear()
    return Timing(trial.sizes.T, {name: t for name, t in seconds.items() if name not in dropped}, dropped)


def _tried(
    trial: Trial, candidate: Candidate, expected: list[np.ndarray], tolerance: float, recordings: Recordings | None
) -> str | None:
    """None if the candidate computes what it should, else why not; "" if it cannot be had."""
    try:
        for _ in range(1 if recordings is None else 3):  # the third time comes from the recording
            found = trial.values(candidate.plan)
            if found is None:
                return ""
            worst = max(map(difference, found, expected))
            if not worst <= tolerance:
                return f"its results differ from those of steps by {worst:.1e} of the largest; allowed {tolerance:.0e}"
    except (CudaError, CompileError) as error:
        try:
            trial.device.driver.synchronize()
        except LaunchError as lost:
            raise LaunchError(
                f"the rung {candidate.name!r} of CudnnRNN failed when it was tried, and the GPU's context is lost:"
                f" {lost}\n  start Python anew: it is noted, and this rung is not tried again"
            ) from error
        return str(error)
    if recordings is not None and not recordings.counts["replayed"]:
        return ""
    return None


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, beside the largest expected number or 1; NaN if something is not finite."""
    if not found.size:
        return 0.0
    largest = max(1.0, float(np.abs(expected).max()))
    return float(np.abs(found.astype("f8") - expected).max()) / largest


def _seconds(trial: Trial, usable: list[tuple[Candidate, Recordings | None]]) -> dict[str, float]:
    """Seconds of one pass of each candidate."""

    def work_of(candidate: Candidate, recordings: Recordings | None) -> Callable[[], None]:
        def work() -> None:
            trial.record(recordings)
            trial.run(candidate.plan)

        return work

    return seconds_in_turns(trial.device, {c.name: work_of(c, recordings) for c, recordings in usable})


def seconds_in_turns(device: Cuda, works: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Seconds of each work, by its name. They take turns, so that a change of clocks meets all of them."""
    clock = device.driver.seconds
    assert clock is not None
    calls, best = dict.fromkeys(works, 1), dict.fromkeys(works, float("inf"))
    for number in range(ROUNDS):
        for name, work in works.items():
            n = calls[name]

            def repeated(work: Callable[[], None] = work, n: int = n) -> None:
                for _ in range(n):
                    work()

            device.synchronize()
            each = clock(repeated) / n
            calls[name] = int(min(max(BUDGET / max(each, 1e-9), 1), 100))
            if number:
                best[name] = min(best[name], each)
    return best
