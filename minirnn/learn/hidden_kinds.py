"""Describes hidden cases by how their sizes differ from those that students see.

The sizes are those of every course (`exercise.HIDDEN`). They say nothing about seeds or numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minirnn.learn.exercise import PUBLIC, PUBLIC_CASES, Exercise, Sizes
from minirnn.learn.models import TRAINED_ON

AXES = {"T": "steps", "B": "samples", "I": "inputs", "H": "units"}
SEED = (0, 0)
"""Only the shapes are used."""


def about_hidden(exercise: Exercise, wrong: Sequence[Sizes], passed: bool) -> str:
    """How many of the hidden cases are right, and what kind the others are."""
    number = len(exercise.hidden_sizes)
    said = f"{number - len(wrong)} of {number} hidden checks are right"
    if not wrong or exercise.kind == "tester":  # a test chooses its own sizes
        return said
    if len(wrong) == number:
        return f"{said}; your answer is right only for the cases that you see" if passed else said
    return f"{said}; your answer is wrong {'; '.join(dict.fromkeys(kind(exercise, sizes) for sizes in wrong))}"


def kind(exercise: Exercise, sizes: Sizes) -> str:
    """How a case differs from those that students see, such as ``with more steps and one sample``."""
    said = list(by_argument(exercise, sizes) if exercise.kind == "cuda" else by_axis(exercise, sizes))
    if exercise.training and sizes in TRAINED_ON:
        said.append("another text to train on")
    if not said:
        return "with other numbers in arrays of the sizes that you see"
    *before, last = said
    return f"with {', '.join(before)} and {last}" if before else f"with {last}"


def by_axis(exercise: Exercise, sizes: Sizes) -> Iterator[str]:
    """The axes of the exercise that are longer or shorter than in all cases that students see."""
    for axis, name in AXES.items():
        seen, size = [getattr(shown, axis) for _, shown in PUBLIC_CASES], getattr(sizes, axis)
        if not min(seen) <= size <= max(seen) and uses(exercise, axis):
            yield f"one {name[:-1]}" if size == 1 else f"{'more' if size > max(seen) else 'fewer'} {name}"


def by_argument(exercise: Exercise, sizes: Sizes) -> Iterator[str]:
    """The sizes that a kernel is given and that are larger or smaller than in all cases that students see."""
    cases = [exercise.case(SEED, shown) for _, shown in PUBLIC_CASES]
    for name, size in exercise.case(SEED, sizes).items():
        seen = [int(case[name]) for case in cases if isinstance(size, np.integer)]
        if seen and not min(seen) <= size <= max(seen):
            yield f"a {'larger' if size > max(seen) else 'smaller'} {name}"


def uses(exercise: Exercise, axis: str) -> bool:
    """Whether the size of an axis changes the shapes of an exercise's inputs."""
    more = replace(PUBLIC, **{axis: getattr(PUBLIC, axis) + 1})
    return bool(shapes(exercise.case(SEED, PUBLIC)) != shapes(exercise.case(SEED, more)))


def shapes(value: Any) -> Any:
    """The shapes of all arrays, and the sizes that are numbers."""
    if isinstance(value, dict):
        return {name: shapes(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shapes(one) for one in value]
    return value if isinstance(value, int) else np.shape(value)
