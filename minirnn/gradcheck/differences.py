"""Central differences, and the comparison of one gradient with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from minirnn.engine.tensor import tensor
from minirnn.gradcheck.function import outputs
from minirnn.gradcheck.report import InputReport, ratio


class Along:
    """Derivatives of L = sum <v, y> along directions of argument number `k`, computed only from values of `fn`."""

    def __init__(self, fn: Any, args: Sequence[Any], k: int, vs: Sequence[np.ndarray]) -> None:
        self.fn, self.args, self.k, self.vs = fn, args, k, vs
        self.x = args[k].numpy()
        self.scale = np.maximum(1.0, np.abs(self.x))

    def derivative(self, d: np.ndarray, step: float) -> float:
        """(4 D(h/2) - D(h)) / 3, where D(h) = (L(x + h d) - L(x - h d)) / 2h: the h**2 terms of the error cancel."""
        h = step / float(np.linalg.norm(d / self.scale))
        return (4 * self._central(d, h / 2) - self._central(d, h)) / 3

    def _central(self, d: np.ndarray, h: float) -> float:
        # A step may leave the domain (log, sqrt); the result is NaN then, and a smaller step is tried.
        with np.errstate(all="ignore"):
            above, below = self._values(self.x + h * d), self._values(self.x - h * d)
            # Differences first, then products, so that values that the step does not reach cancel exactly.
            return sum(float(np.sum(v * (a - b))) for v, a, b in zip(self.vs, above, below, strict=True)) / (2 * h)

    def _values(self, x: np.ndarray) -> list[np.ndarray]:
        args = list(self.args)
        args[self.k] = tensor(x, requires_grad=True, device=self.args[self.k].device, dtype=np.float64)
        return [y.numpy() for y in outputs(self.fn, args)]


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
        worst = max(found, key=lambda f: ratio(f.difference, f.tolerance))
        index = None
        if sampled and wrong:
            worst = self._compare(g, along, self._locate(g, along, worst.direction))
        if wrong or not sampled:
            index = tuple(int(i) for i in np.unravel_index(np.argmax(np.abs(worst.direction)), g.shape))
        return InputReport(name, g.shape, len(found), wrong, sampled, index, *worst[1:])

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
