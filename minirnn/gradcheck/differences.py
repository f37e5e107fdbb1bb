"""Central differences, and the comparison of one gradient with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from minirnn.engine.tensor import next_seq
from minirnn.gradcheck.function import outputs
from minirnn.gradcheck.report import InputReport, ratio


class Along:
    """Derivatives of L = sum <v, y> along directions of argument number `k`, computed only from values of `fn`."""

    def __init__(self, fn: Any, args: Sequence[Any], k: int, vs: Sequence[np.ndarray]) -> None:
        self.fn, self.args, self.k, self.vs = fn, args, k, vs
        self.x = args[k].numpy().copy()
        self.scale = np.maximum(1.0, np.abs(self.x))

    def derivative(self, d: np.ndarray, step: float) -> float:
        """(4 D(h/2) - D(h)) / 3, where D(h) = (L(x + h d) - L(x - h d)) / 2h: the h**2 terms of the error cancel."""
        h = step / float(np.linalg.norm(d / self.scale))
        return (4 * self._central(d, h / 2) - self._central(d, h)) / 3

    def _central(self, d: np.ndarray, h: float) -> float:
        # A step may leave the domain (log, sqrt); the result is NaN then, and a smaller step is tried.
        with np.errstate(all="ignore"):
            above, below = self.values(self.x + h * d), self.values(self.x - h * d)
            # Differences first, then products, so that values that the step does not reach cancel exactly.
            return sum(float(np.sum(v * (a - b))) for v, a, b in zip(self.vs, above, below, strict=True)) / (2 * h)

    def values(self, x: np.ndarray) -> list[np.ndarray]:
        """The outputs where the argument has the values `x`. They are written into it, and taken back afterwards."""
        t = self.args[self.k]
        before = t.array, t.seq
        try:
            t.array, t.seq = t.device.asarray(np.asarray(x, np.float64)), next_seq()
            return [y.numpy() for y in outputs(self.fn, self.args)]
        finally:
            t.array, t.seq = before

    def doubt(self, d: np.ndarray, step: float, analytic: float, difference: float) -> str:
        """Why the differences may be wrong rather than the gradient `analytic`: a kink at x, or too large a step."""
        size = float(np.linalg.norm(d / self.scale))
        with np.errstate(all="ignore"):
            jumps = [self._jump(d, h / size) for h in (step, step / 2)]
            if min(map(abs, jumps)) > max(1e-4 * abs(analytic), 1e-6) and abs(jumps[1]) > 0.9 * abs(jumps[0]):
                return f"the slopes on the two sides differ by {abs(jumps[1]):.3g}: likely a kink; move the input away"
            for smaller in (step / 10, step / 100, step / 1000):
                if abs(self.derivative(d, smaller) - analytic) < 0.01 * difference or not isfinite(difference):
                    return f"with a step of {smaller:.0e} they agree better: likely steps=({smaller:.0e},) is needed"
        return ""

    def _jump(self, d: np.ndarray, h: float) -> float:
        """The slope ahead minus the slope behind. It shrinks with h, unless x is at a kink."""
        above, here, below = self.values(self.x + h * d), self.values(self.x), self.values(self.x - h * d)
        each = zip(self.vs, above, here, below, strict=True)
        return sum(float(np.sum(v * ((a - y) - (y - b)))) for v, a, y, b in each) / h


class _Found(NamedTuple):
    """A derivative along `direction`, computed both ways."""

    direction: np.ndarray
    analytic: float
    numeric: float
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance  # False for NaN


@dataclass
class Comparison:
    """How gradients are compared; the fields are arguments of `gradcheck`."""

    rtol: float
    atol: float
    steps: Sequence[float]
    max_entries: int
    directions: int
    rng: np.random.Generator

    def __call__(self, name: str, g: np.ndarray, along: Along) -> InputReport:
        """Compare the gradient `g` of the input `name` with differences."""
        sampled = g.size > self.max_entries
        found = [self._compare(g, along, d) for d in (self._random(along.scale) if sampled else _units(g.shape))]
        wrong = sum(not f.agrees for f in found)
        if not found:  # no entries
            return InputReport(name, g.shape, 0, 0, False, None, 0.0, 0.0, 0.0, self.atol)
        influence = any(f.analytic or f.numeric for f in found)  # NaN is true
        worst = max(found, key=lambda f: ratio(f.difference, f.tolerance))
        index = None
        if sampled and wrong:
            worst = self._compare(g, along, self._locate(g, along, worst.direction))
        if wrong or not sampled:
            index = tuple(int(i) for i in np.unravel_index(np.argmax(np.abs(worst.direction)), g.shape))
        doubt = along.doubt(worst.direction, min(self.steps), worst.analytic, worst.difference) if wrong else ""
        return InputReport(name, g.shape, len(found), wrong, sampled, index, *worst[1:], doubt, influence)

    def _compare(self, g: np.ndarray, along: Along, d: np.ndarray) -> _Found:
        analytic = float(np.sum(g * d))
        tries = []
        for step in self.steps:
            numeric = along.derivative(d, step)
            tolerance = self.atol + self.rtol * max(abs(analytic), abs(numeric))
            tries.append(_Found(d, analytic, numeric, abs(analytic - numeric), tolerance))
            if tries[-1].agrees:
                return tries[-1]
        return min(tries, key=lambda f: f.difference if isfinite(f.difference) else inf)

    def _random(self, scale: np.ndarray) -> Iterator[np.ndarray]:
        """Directions of length 1, measured in `scale`."""
        for _ in range(self.directions):
            d = self.rng.standard_normal(scale.shape)
            yield scale * d / np.linalg.norm(d)

    def _locate(self, g: np.ndarray, along: Along, d: np.ndarray) -> np.ndarray:
        """The direction of an entry whose gradient is wrong, found by halving a wrong direction again and again:
        log2(size) comparisons.
        """
        places = np.arange(d.size)
        while places.size > 1:
            half = places[: places.size // 2]
            part = np.zeros(d.size)
            part[half] = d.ravel()[half]
            places = places[half.size :] if self._compare(g, along, part.reshape(d.shape)).agrees else half
        return _unit(d.shape, int(places[0]))


def _unit(shape: tuple[int, ...], k: int) -> np.ndarray:
    d = np.zeros(shape)
    d.flat[k] = 1.0
    return d


def _units(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The direction of each entry."""
    return (_unit(shape, k) for k in range(int(np.prod(shape, dtype=np.int64))))
