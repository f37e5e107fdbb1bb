"""A step along a line that satisfies the strong Wolfe conditions: less loss, and less slope.

The method is that of Nocedal and Wright, Numerical Optimization, section 3.5. The interpolation and its safeguards are
those of minFunc (Mark Schmidt), as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from minirnn.engine.tensor import Tensor


class Point(NamedTuple):
    """A point on the line."""

    t: float
    """The distance along the direction."""
    loss: float
    gradient: Tensor
    slope: float
    """The gradient along the direction."""


def between(a: Point, b: Point, low: float, high: float) -> float:
    """The minimum within low .. high of the cubic through two points with their slopes."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    d2 = sqrt(square)
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(
    at: Callable[[float], Point],
    t: float,
    start: Point,
    reach: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[Point, int]:
    """A point of ``loss <= start.loss + c1 * t * start.slope`` and ``|slope| <= c2 * |start.slope|``, if there is one.

    Parameters
    ----------
    at : function of t
        Computes the loss and its gradient there.
    t : float
        The first try.
    start : Point
        The point with t = 0.
    reach : float
        The largest value in the direction: pieces shorter than ``tolerance / reach`` are not divided.
    most : int
        The largest number of tries after the first one.

    Returns
    -------
    Point, int
        The best point, and how often `at` was called.
    """

    def too_high(p: Point) -> bool:
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    before, p, tries = start, at(t), 0
    low, high, done = start, p, False
    while tries < most:  # continue until a minimum is between two points
        if too_high(p) or (tries > 1 and p.loss >= before.loss):
            low, high = before, p
            break
        if flat(p):
            return p, tries + 1
        if p.slope >= 0:
            low, high = before, p
            break
        further = between(before, p, p.t + 0.01 * (p.t - before.t), 10 * p.t)
        before, p, tries = p, at(further), tries + 1
        low, high = start, p
    if low.loss > high.loss:
        low, high = high, low
    stuck = False
    while not done and tries < most:  # and divide the piece between them
        first, last = sorted((low.t, high.t))
        if (last - first) * reach < tolerance:
            break
        t, eps = between(low, high, first, last), 0.1 * (last - first)
        close = min(last - t, t - first) < eps
        if close and (stuck or t >= last or t <= first):
            t, close = (last - eps if abs(t - last) < abs(t - first) else first + eps), False
        stuck = close
        p, tries = at(t), tries + 1
        if too_high(p) or p.loss >= low.loss:
            low, high = (low, p) if low.loss <= p.loss else (p, low)
            continue
        done = flat(p)
        if not done and p.slope * (high.t - low.t) >= 0:
            high = low
        low = p
    return low, tries + 1
