"""Random programs of primitives over tensors of many shapes, run by minirnn and by torch. For the tests in this folder.

A program is a list of numbers: each step names an op and two earlier values. Further arguments of an op (an axis,
sizes, an index) follow from the shapes, so every program runs; a step whose operands do not fit is left out in both
libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minirnn import ops

Shape = tuple[int, ...]
LIMIT = 48  # elements of a value: keeps broadcasting in bounds


@dataclass(frozen=True)
class Primitive:
    """`ours` and `theirs` take one or two operands and `k`, a number to choose an axis or the like by."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: int = 1
    fits: Callable[..., bool] = lambda *shapes: True
    smooth: bool = True


def some_axis(a: Any, k: int) -> int:
    return k % len(a.shape)


def rolled(a: Any, k: int) -> tuple[int, ...]:
    n = len(a.shape)
    return tuple((j + k) % n for j in range(n))


def broadcast_fits(a: Shape, b: Shape) -> bool:
    try:
        return prod(np.broadcast_shapes(a, b)) <= LIMIT
    except ValueError:
        return False


def matmul_fits(a: Shape, b: Shape) -> bool:
    if not a or not b or a[-1] != b[max(len(b) - 2, 0)]:
        return False
    return len(a) < 3 or len(b) < 3 or broadcast_fits(a[:-2], b[:-2])


def has_axes(a: Shape) -> bool:
    return len(a) > 0


def has_elements(a: Shape) -> bool:
    return len(a) > 0 and 0 not in a


def rows_fit(a: Shape) -> bool:
    return len(a) > 0 and a[0] > 0


def rows(a: Any, k: int) -> list[int]:
    """Row numbers with repeats and a negative one."""
    n = int(a.shape[0])
    return [k % n, -1, k % n]


def same_but_axis_0(a: Shape, b: Shape) -> bool:
    return len(a) > 0 and len(a) == len(b) and a[1:] == b[1:] and prod(a) + prod(b) <= LIMIT


def sliced(a: Any, k: int) -> Any:
    return (slice(k % 2, None), ..., None) if len(a.shape) else (..., None)


def squash(y: Any) -> Any:
    """Keeps values and derivatives of long programs in bounds."""
    return y.tanh()


def t() -> Any:
    import torch

    return torch


def scattered_torch(a: Any, k: int) -> Any:
    zeros = t().zeros((4, *a.shape[1:]), dtype=a.dtype)
    index = t().tensor([(j + k) % 4 // 2 for j in range(a.shape[0])], dtype=t().int64)
    return zeros.index_add(0, index, a)


def scattered_ours(a: Any, k: int) -> Any:
    return ops.put_add((4, *a.shape[1:]), [(j + k) % 4 // 2 for j in range(a.shape[0])], a)


def halves(n: int) -> list[int]:
    return [n // 2, n - n // 2]


PRIMITIVES: dict[str, Primitive] = {
    "tanh": Primitive(lambda a, k: a.tanh(), lambda a, k: a.tanh()),
    "sigmoid": Primitive(lambda a, k: a.sigmoid(), lambda a, k: a.sigmoid()),
    "exp": Primitive(lambda a, k: squash(a).exp(), lambda a, k: squash(a).exp()),
    "log": Primitive(lambda a, k: (a * a + 1.0).log(), lambda a, k: (a * a + 1.0).log()),
    "sqrt": Primitive(lambda a, k: (a * a + 0.5).sqrt(), lambda a, k: (a * a + 0.5).sqrt()),
    "negative": Primitive(lambda a, k: -a, lambda a, k: -a),
    "number": Primitive(lambda a, k: 2.0 - a * 0.5, lambda a, k: 2.0 - a * 0.5),
    "power": Primitive(lambda a, k: squash(a) ** (k % 4), lambda a, k: squash(a) ** (k % 4)),
    "relu": Primitive(lambda a, k: a.relu(), lambda a, k: a.relu(), smooth=False),
    "absolute": Primitive(lambda a, k: abs(a), lambda a, k: abs(a), smooth=False),
    "clip": Primitive(lambda a, k: a.clip(-0.7, 0.9), lambda a, k: a.clamp(-0.7, 0.9), smooth=False),
    "softmax": Primitive(
        lambda a, k: a.softmax(some_axis(a, k)), lambda a, k: a.softmax(some_axis(a, k)), fits=has_axes
    ),
    "log_softmax": Primitive(
        lambda a, k: a.log_softmax(some_axis(a, k)), lambda a, k: a.log_softmax(some_axis(a, k)), fits=has_axes
    ),
    "sum": Primitive(
        lambda a, k: squash(a.sum(axis=some_axis(a, k), keepdims=k % 2 == 0)),
        lambda a, k: squash(a.sum(some_axis(a, k), keepdim=k % 2 == 0)),
        fits=has_axes,
    ),
    "mean": Primitive(lambda a, k: a.mean(), lambda a, k: a.mean(), fits=lambda a: 0 not in a),
    "max": Primitive(
        lambda a, k: a.max(axis=some_axis(a, k), keepdims=k % 2 == 0),
        lambda a, k: a.amax(some_axis(a, k), keepdim=k % 2 == 0),
        fits=has_elements,
        smooth=False,
    ),
    "flatten": Primitive(lambda a, k: a.reshape(a.size), lambda a, k: a.reshape(a.numel())),
    "transpose": Primitive(lambda a, k: a.transpose(rolled(a, k)), lambda a, k: a.permute(rolled(a, k))),
    "broadcast_to": Primitive(
        lambda a, k: a.broadcast_to((k % 3, *a.shape)),
        lambda a, k: a.expand((k % 3, *a.shape)),
        fits=lambda a: prod(a) * 2 <= LIMIT,
    ),
    "getitem": Primitive(lambda a, k: a[sliced(a, k)], lambda a, k: a[sliced(a, k)]),
    "rows": Primitive(lambda a, k: a[rows(a, k)], lambda a, k: a[rows(a, k)], fits=rows_fit),
    "flip": Primitive(lambda a, k: ops.flip(a, some_axis(a, k)), lambda a, k: a.flip(some_axis(a, k)), fits=has_axes),
    "put_add": Primitive(scattered_ours, scattered_torch, fits=has_axes),
    "split": Primitive(
        lambda a, k: a.split(halves(a.shape[0]))[k % 2].tanh(),
        lambda a, k: a.split(halves(a.shape[0]))[k % 2].tanh(),
        fits=has_axes,
    ),
    "expand_dims": Primitive(lambda a, k: ops.expand_dims(a, 0), lambda a, k: a.unsqueeze(0)),
    "add": Primitive(lambda a, b, k: a + b, lambda a, b, k: a + b, 2, broadcast_fits),
    "subtract": Primitive(lambda a, b, k: a - b, lambda a, b, k: a - b, 2, broadcast_fits),
    "multiply": Primitive(lambda a, b, k: squash(a) * b, lambda a, b, k: squash(a) * b, 2, broadcast_fits),
    "divide": Primitive(lambda a, b, k: a / (b * b + 1.0), lambda a, b, k: a / (b * b + 1.0), 2, broadcast_fits),
    "power of two": Primitive(
        lambda a, b, k: (a * a + 0.5) ** squash(b), lambda a, b, k: (a * a + 0.5) ** squash(b), 2, broadcast_fits
    ),
    "maximum": Primitive(
        lambda a, b, k: ops.maximum(a, b), lambda a, b, k: t().maximum(a, b), 2, broadcast_fits, smooth=False
    ),
    "minimum": Primitive(
        lambda a, b, k: ops.minimum(a, b), lambda a, b, k: t().minimum(a, b), 2, broadcast_fits, smooth=False
    ),
    "where": Primitive(
        lambda a, b, k: ops.where(a > b, a, b * 2.0),
        lambda a, b, k: t().where(a > b, a, b * 2.0),
        2,
        broadcast_fits,
        smooth=False,
    ),
    "matmul": Primitive(lambda a, b, k: squash(a) @ squash(b), lambda a, b, k: squash(a) @ squash(b), 2, matmul_fits),
    "concat": Primitive(
        lambda a, b, k: ops.concat([a, b, a][k % 2 :]), lambda a, b, k: t().cat([a, b, a][k % 2 :]), 2, same_but_axis_0
    ),
    "stack": Primitive(
        lambda a, b, k: ops.stack([a, b], len(a.shape)),
        lambda a, b, k: t().stack([a, b], len(a.shape)),
        2,
        lambda a, b: a == b and prod(a) * 2 <= LIMIT,
    ),
}


@dataclass(frozen=True)
class Program:
    """Shapes of the inputs, and steps (op, operand, operand, k); operands count from the newest value back."""

    shapes: tuple[Shape, ...]
    steps: tuple[tuple[str, int, int, int], ...]

    def run(self, inputs: list[Any], which: str) -> Any:
        """A scalar made of the last value and of all others."""
        values = list(inputs)
        for name, i, j, k in self.steps:
            primitive = PRIMITIVES[name]
            chosen = [values[-1 - i % len(values)], values[-1 - j % len(values)]][: primitive.operands]
            if primitive.fits(*[tuple(a.shape) for a in chosen]):
                values.append(getattr(primitive, which)(*chosen, k))
        total = (values[-1] * values[-1]).sum()
        for y in values:
            total = total + squash(y).sum() * 0.3
        return total


SIZES = st.sampled_from([0, 1, 1, 2, 2, 3, 3])
SHAPES = st.lists(st.lists(SIZES, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)


def programs(smooth: bool, longest: int = 8) -> st.SearchStrategy[Program]:
    names = sorted(name for name, p in PRIMITIVES.items() if p.smooth or not smooth)
    place = st.integers(0, 5)
    step = st.tuples(st.sampled_from(names), place, place, st.integers(0, 5))
    return st.builds(Program, SHAPES, st.lists(step, min_size=longest // 2, max_size=longest).map(tuple))
