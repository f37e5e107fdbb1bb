"""Random programs of primitives over tensors of many shapes, run by minirnn and by torch. For the tests in this folder.

A program is a list of numbers: each step names an op and two earlier values. Further arguments of an op (an axis,
sizes, an index) follow from the shapes, so every program runs; a step whose operands do not fit is left out in both
libraries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

Shape = tuple[int, ...]
LIMIT = 48  # elements of a value: keeps broadcasting in bounds


@dataclass(frozen=True)
class Primitive:
    """`call` takes the library, minirnn or torch, one or two operands, and `k`, a number to choose an axis by."""

    call: Callable[..., Any]
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


def scattered(lib: Any, a: Any, k: int) -> Any:
    index = lib.tensor([(j + k) % 4 // 2 for j in range(a.shape[0])], dtype=lib.int64)
    return lib.zeros((4, *a.shape[1:]), dtype=a.dtype, device=a.device).index_add(0, index, a)


def halves(n: int) -> list[int]:
    return [n // 2, n - n // 2]


def one(call: Any, fits: Any = lambda a: True, smooth: bool = True) -> Primitive:
    return Primitive(call, 1, fits, smooth)


def two(call: Any, fits: Any = broadcast_fits, smooth: bool = True) -> Primitive:
    return Primitive(call, 2, fits, smooth)


PRIMITIVES: dict[str, Primitive] = {
    "tanh": one(lambda lib, a, k: a.tanh()),
    "sigmoid": one(lambda lib, a, k: a.sigmoid()),
    "exp": one(lambda lib, a, k: squash(a).exp()),
    "log": one(lambda lib, a, k: (a * a + 1.0).log()),
    "sqrt": one(lambda lib, a, k: (a * a + 0.5).sqrt()),
    "negative": one(lambda lib, a, k: -a),
    "number": one(lambda lib, a, k: 2.0 - a * 0.5),
    "power": one(lambda lib, a, k: squash(a) ** (k % 4)),
    "relu": one(lambda lib, a, k: a.relu(), smooth=False),
    "absolute": one(lambda lib, a, k: abs(a), smooth=False),
    "clip": one(lambda lib, a, k: a.clamp(-0.7, 0.9), smooth=False),
    "softmax": one(lambda lib, a, k: a.softmax(some_axis(a, k)), has_axes),
    "log_softmax": one(lambda lib, a, k: a.log_softmax(some_axis(a, k)), has_axes),
    "sum": one(lambda lib, a, k: squash(a.sum(some_axis(a, k), keepdim=k % 2 == 0)), has_axes),
    "mean": one(lambda lib, a, k: a.mean(), lambda a: 0 not in a),
    "max": one(
        lambda lib, a, k: a.amax(some_axis(a, k), keepdim=k % 2 == 0), lambda a: len(a) > 0 and 0 not in a, smooth=False
    ),
    "flatten": one(lambda lib, a, k: a.reshape(a.numel())),
    "transpose": one(lambda lib, a, k: a.permute(rolled(a, k))),
    "broadcast_to": one(lambda lib, a, k: a.expand((k % 3, *a.shape)), lambda a: prod(a) * 2 <= LIMIT),
    "getitem": one(lambda lib, a, k: a[sliced(a, k)]),
    "rows": one(lambda lib, a, k: a[rows(a, k)], lambda a: len(a) > 0 and a[0] > 0),
    "flip": one(lambda lib, a, k: a.flip(some_axis(a, k)), has_axes),
    "index_add": one(scattered, has_axes),
    "split": one(lambda lib, a, k: a.split(halves(a.shape[0]))[k % 2].tanh(), has_axes),
    "unsqueeze": one(lambda lib, a, k: a.unsqueeze(0)),
    "add": two(lambda lib, a, b, k: a + b),
    "subtract": two(lambda lib, a, b, k: a - b),
    "multiply": two(lambda lib, a, b, k: squash(a) * b),
    "divide": two(lambda lib, a, b, k: a / (b * b + 1.0)),
    "power of two": two(lambda lib, a, b, k: (a * a + 0.5) ** squash(b)),
    "maximum": two(lambda lib, a, b, k: lib.maximum(a, b), smooth=False),
    "minimum": two(lambda lib, a, b, k: lib.minimum(a, b), smooth=False),
    "where": two(lambda lib, a, b, k: lib.where(a > b, a, b * 2.0), smooth=False),
    "matmul": two(lambda lib, a, b, k: squash(a) @ squash(b), matmul_fits),
    "concat": two(lambda lib, a, b, k: lib.cat([a, b, a][k % 2 :]), same_but_axis_0),
    "stack": two(lambda lib, a, b, k: lib.stack([a, b], len(a.shape)), lambda a, b: a == b and prod(a) * 2 <= LIMIT),
}


@dataclass(frozen=True)
class Program:
    """Shapes of the inputs, and steps (op, operand, operand, k); operands count from the newest value back."""

    shapes: tuple[Shape, ...]
    steps: tuple[tuple[str, int, int, int], ...]

    def run(self, inputs: list[Any], lib: Any) -> Any:
        """A scalar made of the last value and of all others."""
        values = list(inputs)
        for name, i, j, k in self.steps:
            primitive = PRIMITIVES[name]
            chosen = [values[-1 - i % len(values)], values[-1 - j % len(values)]][: primitive.operands]
            if primitive.fits(*[tuple(a.shape) for a in chosen]):
                values.append(primitive.call(lib, *chosen, k))
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
