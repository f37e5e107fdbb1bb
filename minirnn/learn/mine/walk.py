"""Exercise 2 in place of the walk over the tape.

The exercise covers sums and products of numbers. Any tape can be written with these two: a node is the sum of products
of its inputs with numbers that stand for the derivatives (`Slope`). The learner's function can therefore walk the tape
of a whole network unchanged. Its floats are objects that add and multiply like floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from minirnn.learn.mine.answers import Answer


class Gradient:
    """A gradient of any kind. It can be added to another gradient or to zero, and multiplied by a `Slope`."""

    __array_ufunc__ = None

    def __init__(self, value: Any, add: Callable[[Any, Any], Any]) -> None:
        self.value, self.add = value, add

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Gradient):
            return Gradient(self.add(self.value, other.value), self.add)
        return self if other == 0 else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        """The product with the value of a variable, for which the walk uses a plain number. The result is
        never used.
        """
        return NotImplemented if isinstance(other, Slope) else 0.0

    __rmul__ = __mul__


class Slope:
    """The derivative of a node with respect to one of its inputs."""

    __array_ufunc__ = None

    def __init__(self, times: Callable[[Any], Any]) -> None:
        self.times = times

    def __mul__(self, gradient: Any) -> Any:
        return self.times(gradient) if isinstance(gradient, Gradient) or gradient else 0.0

    __rmul__ = __mul__


def walk(answer: Answer, device: Any, count: int, nodes: Any, seeds: Any, back: Any, add: Any) -> Any:
    """The gradients of all variables, by the learner's ``backward(tape, values)``."""
    if not seeds or not all(parents for _, parents in nodes):
        return NotImplemented
    made = {k for k, _ in nodes}
    number = {k: place for place, k in enumerate(k for k in range(count) if k not in made)}
    values: list[Any] = [0.0] * len(number)
    tape: list[tuple[str, int, tuple[int, ...]]] = []

    def slope(times: Callable[[Any], Any]) -> int:
        values.append(Slope(times))
        return len(values) - 1

    slopes = {k: [slope(one) for one in slopes_of(k, parents, back, add)] for k, parents in nodes}
    starts = [(r, slope(partial(start, seed, add))) for r, seed in seeds]

    def entry(name: str, *operands: int) -> int:
        values.append(0.0)
        tape.append((name, len(values) - 1, operands))
        return len(values) - 1

    def total(products: list[int]) -> int:
        last = products[0]
        for other in products[1:]:
            last = entry("add", last, other)
        return last

    for k, parents in nodes:
        products = [entry("mul", number[p], s) for p, s in zip(parents, slopes[k], strict=True)]
        number[k] = total(products)
    total([entry("mul", number[r], s) for r, s in starts])
    found = answer(tape, values)
    return [g.value if isinstance(g := found[number[k]], Gradient) else None for k in range(count)]


def start(seed: Any, add: Any, one: Any) -> Gradient:
    """The initial gradient of the pass, in place of the exercise's 1."""
    return Gradient(seed, add)


def slopes_of(k: int, parents: list[int], back: Any, add: Any) -> list[Callable[[Any], Any]]:
    """Functions that turn the gradient of node k into those of `parents`, one each. `back` is called once for all."""
    sent: dict[Any, Any] = {}

    def times(p: int, gradient: Gradient) -> Any:
        if gradient not in sent:
            sent[gradient] = back(k, gradient.value)
        return Gradient(sent[gradient][p], add) if p in sent[gradient] else 0.0

    return [partial(times, p) for p in parents]
