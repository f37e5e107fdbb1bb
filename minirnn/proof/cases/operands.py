"""Random inputs for primitives and functions, away from kinks and poles.

Operands of `absolute`, `relu`, `maximum` and the like are far from ties, those of `log`, `sqrt`, `divide` and `power`
are positive. `normal` to `between` draw an array of a shape; `one` to `table` draw all inputs for three sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.proof.case import Arrays

INDEX = np.array([[0, 2], [1, 1]])

Sizes = tuple[int, int, int]
Shape = tuple[int, ...]
Draw = Callable[[Shape, np.random.Generator], np.ndarray]
Make = Callable[[Sizes, np.random.Generator], Arrays]


def normal(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(shape)


def positive(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.5, 2, shape)


def probability(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.1, 0.9, shape)


def away_from_zero(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1, 1], shape) * rng.uniform(0.3, 1.5, shape)


def distinct(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Along axis 1 all entries differ by at least 1/16, in every dtype."""
    return rng.permuted(np.broadcast_to(np.arange(shape[1])[:, None] / 16, shape), axis=1)


def spread(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """From -1 to 1 along axis 2, in any order: no row has equal numbers."""
    return rng.permuted(np.broadcast_to(np.linspace(-1, 1, shape[2]), shape), axis=2)


def whole(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers, many of them equal."""
    return rng.integers(-2, 3, shape).astype(float)


def below_one(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Factors whose products neither grow nor vanish fast."""
    return rng.choice([-1, 1], shape) * rng.uniform(0.8, 1.2, shape)


def between(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Numbers at least 0.1 away from integers and half-integers."""
    return rng.integers(-3, 4, shape) + rng.uniform(0.1, 0.4, shape)


# ---- all inputs of a call


def one(draw: Draw = normal) -> Make:
    """A single operand of all sizes."""
    return lambda sizes, rng: {"a": draw(sizes, rng)}


def two(draw: Draw = normal, draw_other: Draw | None = None) -> Make:
    """Two operands of all sizes."""
    return lambda sizes, rng: {"a": draw(sizes, rng), "b": (draw_other or draw)(sizes, rng)}


def with_row(draw: Draw = normal, draw_row: Draw = normal) -> Make:
    """An operand of all sizes and a row."""
    return lambda sizes, rng: {"a": draw(sizes, rng), "b": draw_row(sizes[2:], rng)}


def with_positive_column(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": normal(sizes, rng), "b": positive((sizes[1], 1), rng)}


def two_apart(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    a = normal(sizes, rng)
    return {"a": a, "b": a + away_from_zero(sizes, rng)}


def near_or_far(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """Two operands whose entries differ, but not by 0 or 1."""
    a = normal(sizes, rng)
    return {"a": a, "b": a + away_from_zero(sizes, rng) * rng.choice([0.5, 4], sizes)}


def normals(of: Callable[[int, int, int], dict[str, Shape]], weights: str = "") -> Make:
    """Normal numbers of the shapes ``of(p, q, r)``; those named in `weights` are divided by the root of r."""
    return lambda sizes, rng: {
        name: normal(shape, rng) * (sizes[2] ** -0.5 if name in weights else 1) for name, shape in of(*sizes).items()
    }


matrices = normals(lambda p, q, r: {"a": (p, q, r), "b": (r, q + 2)}, "b")
batches = normals(lambda p, q, r: {"a": (p, q, r), "b": (p, r, q + 1)}, "b")
with_matrix_and_row = normals(lambda p, q, r: {"a": (p, q, r), "b": (5, r), "c": (5,)}, "b")
with_scale_and_shift = normals(lambda p, q, r: {"a": (p, q, r), "b": (r,), "c": (r,)})
queries_keys_values = normals(lambda p, q, r: {"q": (p, q, r), "k": (p, q + 1, r), "v": (p, q + 1, 3)})
table = normals(lambda p, q, r: {"a": (p + 2, r)})
"""At least three rows, for `INDEX`."""
added_rows = normals(lambda p, q, r: {"a": (*INDEX.shape, r)})


# ---- other constants of a call


def labels(a: Any) -> np.ndarray:
    """A class for every row of the last axis."""
    rows = int(np.prod(a.shape[:-1]))
    return (np.arange(rows) * 7 % a.shape[-1]).reshape(a.shape[:-1])


def classes(a: Any) -> np.ndarray:
    """A class for every row along axis 1, some of them 0."""
    shape = (a.shape[0], *a.shape[2:])
    return (np.arange(int(np.prod(shape))) * 5 % a.shape[1]).reshape(shape)


def weights(a: Any) -> np.ndarray:
    return (1 + np.arange(a.shape[1]) % 4 / 4).astype(a.dtype)


def choice(a: Any) -> np.ndarray:
    """A condition: every third element."""
    return np.arange(int(np.prod(a.shape))).reshape(a.shape) % 3 == 0


def places(a: Any) -> np.ndarray:
    """For each element of `a` an index along axis 1, many of them equal."""
    return np.arange(int(np.prod(a.shape))).reshape(a.shape) * 7 % 5 % a.shape[1]


def turned(a: Any) -> np.ndarray:
    """Indices along axis 1, each once."""
    return np.broadcast_to(np.arange(a.shape[1])[::-1, None], a.shape)
