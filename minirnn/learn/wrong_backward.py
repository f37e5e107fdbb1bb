"""Backward passes that are wrong in ways that a weak test misses: batches, layouts, transposes, small errors.

They are made from the right outputs. With one sample, one unit or a loose tolerance most of them look right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minirnn.learn.exercise import Exercise
from minirnn.learn.wrong_numbers import GATES, Piece, pieces

Outputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Spoiled:
    """A way to spoil right outputs: its kind, a description, and the function that does it."""

    kind: str
    sentence: str
    change: Callable[[Outputs], Outputs]


def spoiled(exercise: Exercise, outputs: Mapping[str, np.ndarray]) -> Iterator[Spoiled]:
    """All ways to spoil the outputs of an exercise; `outputs` are right ones, used for their shapes."""
    for name, letters in shapes_of(exercise).items():
        if name not in outputs:
            continue
        if letters.startswith("(B"):
            yield one(name, "batch", f"{name}: its samples come in reversed order", lambda v: v[::-1])
            yield one(name, "batch", f"{name}: the last sample gets nothing", without_last)
            yield one(name, "batch", f"{name}: all samples get what the first one should", lambda v: v[:1] + 0 * v)
            yield one(name, "layout", f"{name}: its columns come in reversed order", lambda v: v[:, ::-1])
        else:
            yield from of_weights(name, letters)
        yield one(name, "small", f"{name} is too large by a thousandth", lambda v: 1.001 * v)
        yield one(name, "small", f"{name}: one number is wrong by a hundredth of the largest", one_number)


def shapes_of(exercise: Exercise) -> dict[str, str]:
    """The shapes of the outputs of the backward pass that a test looks at."""
    return getattr(exercise, "shapes", {})


def one(name: str, kind: str, sentence: str, change: Callable[[np.ndarray], np.ndarray]) -> Spoiled:
    """A spoiler that changes one output and keeps the others."""
    return Spoiled(kind, sentence, lambda outputs: {**outputs, name: change(outputs[name])})


def of_weights(name: str, letters: str) -> Iterator[Spoiled]:
    """Spoilers that move gates, the rows of x and h_prev, or their blocks."""

    def parts(value: np.ndarray, axis: int) -> list[Piece]:
        sizes = {"H": value.shape[-1] // 4, "I": value.shape[0] - value.shape[-1] // 4}
        return pieces(letters, sizes, GATES[4])[axis]

    def gates(value: np.ndarray) -> np.ndarray:
        blocks = [value[..., p.place] for p in parts(value, -1)]
        return np.concatenate([blocks[0], blocks[2], blocks[1], *blocks[3:]], axis=-1)

    def turned(value: np.ndarray) -> np.ndarray:
        fresh, rows = value.copy(), parts(value, 0)[-1].place
        for p in parts(value, 1):
            fresh[rows, p.place] = value[rows, p.place].T
        return fresh

    def rows(value: np.ndarray) -> np.ndarray:
        first, second = (value[p.place] for p in parts(value, 0))
        return np.concatenate([second, first])

    yield one(name, "layout", f"{name}: the gates ci and f are exchanged", gates)
    yield one(name, "layout", f"{name}: its units come in reversed order", lambda v: v[..., ::-1])
    if "," in letters.rstrip(",)"):
        yield one(name, "layout", f"{name}: the rows of h_prev come before those of x", rows)
        yield one(name, "transposed", f"{name}: the block of each gate for h_prev is transposed", turned)


def without_last(value: np.ndarray) -> np.ndarray:
    fresh = value.copy()
    fresh[-1] = 0
    return fresh


def one_number(value: np.ndarray) -> np.ndarray:
    fresh = value.copy()
    fresh.flat[value.size // 2] += 0.01 * np.abs(value).max()
    return fresh
