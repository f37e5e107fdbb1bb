"""Derivatives of any order of a loss along given directions, by the tape and by differences. For the tests here."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minirnn as mr

Arrays = Sequence[np.ndarray]


def loss(outputs: Sequence[Any], weights: Sequence[Any]) -> Any:
    """A loss that is not linear in the outputs, so that its second derivatives include those of the op."""
    terms = [(y * w + y * y * 0.3).sum() for y, w in zip(outputs, weights, strict=True)]
    return sum(terms[1:], terms[0])


def dot(gs: Sequence[Any], vs: Sequence[Any]) -> Any:
    terms = [(g * v).sum() for g, v in zip(gs, vs, strict=True)]
    return sum(terms[1:], terms[0])


def derivatives(
    function: Callable[..., Any], device: str, values: Arrays, weights: Arrays, directions: Sequence[Arrays], order: int
) -> list[np.ndarray]:
    """Order 1: the gradient of the loss; 2: that of <gradient, directions[0]>; and so on. Order 0: the loss."""
    place = lambda arrays: [mr.tensor(a, device=device) for a in arrays]  # noqa: E731
    inputs = [mr.tensor(v, order > 0, device) for v in values]
    scalar = loss(list(function(*inputs)), place(weights))
    if order == 0:
        return [scalar.numpy()]
    for k in range(order - 1):
        scalar = dot(mr.grad(scalar, inputs, create_graph=True), place(directions[k]))
    return [g.numpy() for g in mr.grad(scalar, inputs)]


def along(function: Callable[[Arrays], list[np.ndarray]], values: Arrays, direction: Arrays) -> list[np.ndarray]:
    """Derivative of `function` along a direction by central differences, extrapolated from steps h and h/2."""

    def central(h: float) -> list[np.ndarray]:
        up = function([v + h * d for v, d in zip(values, direction, strict=True)])
        down = function([v - h * d for v, d in zip(values, direction, strict=True)])
        return [(u - w) / (2 * h) for u, w in zip(up, down, strict=True)]

    return [(4 * fine - coarse) / 3 for fine, coarse in zip(central(1e-4), central(2e-4), strict=True)]


DIFFERENCES = (1e-8, "float64, extrapolated central differences: 1e-16 / step rounding, (10 * step)**4 truncation")
