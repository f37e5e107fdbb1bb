"""Cases of the primitives: one line each, with torch's own beside ours.

Operands are away from kinks and poles: `absolute`, `relu`, `maximum` and the like far from ties, `log`, `sqrt`,
`divide` and `power` with positive ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.verify.case import Arrays, Case
from minirnn.verify.tolerance import ACTIVATION, Count

SIZES = ((1, 1, 2), (2, 3, 4), (3, 37, 66))
"""Rows of 1, rows of less than a warp, and more elements than a block has threads."""
INDEX = np.array([[0, 2], [1, 1]])
ELEMENTWISE = 2 + 2 * ACTIVATION

Sizes = tuple[int, int, int]


def cases() -> Iterator[Case]:
    """All cases of the primitives, at all sizes."""
    for name, (ours, theirs, make, summands) in {**VALUES, **TRUTHS}.items():
        for sizes in SIZES:
            yield case(name, ours, theirs, make, summands, sizes)


def case(name: str, ours: Any, theirs: Any, make: Any, summands: Callable[[Sizes], int], sizes: Sizes) -> Case:
    n = summands(sizes)
    count = Count(n + ELEMENTWISE, f"n + {ELEMENTWISE}, n = {n} summands", 4, "4")
    return Case(
        "primitives",
        name,
        "x".join(map(str, sizes)),
        lambda *xs: several(ours(*xs)),
        partial(make, sizes),
        ("y",),
        count,
        count.twice(),
        lambda *xs: several(theirs(*xs)),
        step=0.0 if name in TRUTHS else 1e-3,
        has_definition=False,
        quick=sizes == (2, 3, 4),
    )


def several(y: Any) -> list[Any]:
    """One output, also of what returns several parts."""
    return [y[-1] if isinstance(y, (list, tuple)) else y]


# ---- operands; every maker takes (sizes, rng)


def one(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.standard_normal(sizes)}


def one_positive(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.uniform(0.5, 2, sizes)}


def one_away_from_zero(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.choice([-1, 1], sizes) * rng.uniform(0.3, 1.5, sizes)}


def one_distinct(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """Along axis 1 all entries differ by 1/16 and more, in every dtype."""
    p, q, r = sizes
    return {"a": rng.permuted(np.broadcast_to(np.arange(q)[:, None] / 16, sizes), axis=1)}


def two(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.standard_normal(sizes), "b": rng.standard_normal(sizes)}


def with_row(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.standard_normal(sizes), "b": rng.standard_normal(sizes[2])}


def with_positive_column(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.standard_normal(sizes), "b": rng.uniform(0.5, 2, (sizes[1], 1))}


def positive_and_row(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    return {"a": rng.uniform(0.5, 2, sizes), "b": rng.standard_normal(sizes[2])}


def two_apart(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    a = rng.standard_normal(sizes)
    return {"a": a, "b": a + rng.choice([-1, 1], sizes) * rng.uniform(0.3, 1.5, sizes)}


def matrices(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    p, q, r = sizes
    return {"a": rng.standard_normal(sizes), "b": rng.standard_normal((r, q + 2)) * r**-0.5}


def rows(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """At least three rows, for `INDEX`."""
    return {"a": rng.standard_normal((sizes[0] + 2, sizes[2]))}


def added_rows(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """A row for every entry of `INDEX`."""
    return {"a": rng.standard_normal((2, 2, sizes[2]))}


def whole(sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """Whole numbers, many of them equal."""
    return {"a": rng.integers(-2, 3, sizes).astype(float), "b": rng.integers(-2, 3, sizes[2]).astype(float)}


# ---- the primitives


def none(_: Sizes) -> int:
    return 0


def size(sizes: Sizes) -> int:
    return sizes[0] * sizes[1] * sizes[2]


def pair(_: Sizes) -> int:
    return 2


def last(sizes: Sizes) -> int:
    return sizes[2]


def torch_function(path: str, *more: Any, **options: Any) -> Callable[..., Any]:
    """The function of torch of that name, looked up when it is called."""

    def call(*xs: Any) -> Any:
        import torch

        found: Any = torch
        for name in path.split("."):
            found = getattr(found, name)
        return found(*xs, *more, **options)

    return call


def labels(a: Any) -> np.ndarray:
    """A class for every row of the last axis."""
    rows = int(np.prod(a.shape[:-1]))
    return (np.arange(rows) * 7 % a.shape[-1]).reshape(a.shape[:-1])


def torch_cross_entropy(a: Any) -> Any:
    import torch

    flat = a.reshape(-1, a.shape[-1])
    return torch.nn.functional.cross_entropy(flat, torch.tensor(labels(a)).reshape(-1))


def torch_scatter_add(a: Any) -> Any:
    import torch

    return torch.zeros((3, a.shape[2]), dtype=a.dtype).index_put((torch.tensor(INDEX),), a, accumulate=True)


def torch_choice(a: Any, b: Any) -> Any:
    import torch

    return torch.where(torch.tensor(choice(a)), a, b)


def choice(a: Any) -> np.ndarray:
    """A condition: every third element."""
    return np.arange(int(np.prod(a.shape))).reshape(a.shape) % 3 == 0


f = torch_function
Row = tuple[Any, Any, Any, Callable[[Sizes], int]]

VALUES: dict[str, Row] = {
    "add": (ops.add, f("add"), with_row, none),
    "subtract": (ops.subtract, f("sub"), with_row, none),
    "multiply": (ops.multiply, f("mul"), with_row, size),
    "divide": (ops.divide, f("div"), with_positive_column, size),
    "power": (ops.power, f("pow"), positive_and_row, size),
    "maximum": (ops.maximum, f("maximum"), two_apart, none),
    "minimum": (ops.minimum, f("minimum"), two_apart, none),
    "where": (lambda a, b: ops.where(choice(a), a, b), torch_choice, two, none),
    "clip": (lambda a: ops.clip(a, -0.2, 0.2), f("clamp", -0.2, 0.2), one_away_from_zero, none),
    "negative": (ops.negative, f("neg"), one, none),
    "identity": (ops.identity, f("clone"), one, none),
    "exp": (ops.exp, f("exp"), one, none),
    "log": (ops.log, f("log"), one_positive, none),
    "sqrt": (ops.sqrt, f("sqrt"), one_positive, none),
    "tanh": (ops.tanh, f("tanh"), one, none),
    "sigmoid": (ops.sigmoid, f("sigmoid"), one, none),
    "relu": (ops.relu, f("relu"), one_away_from_zero, none),
    "absolute": (ops.absolute, f("abs"), one_away_from_zero, none),
    "sum": (ops.sum, f("sum"), one, size),
    "sum of an axis": (lambda a: ops.sum(a, axis=1), f("sum", 1), one, size),
    "mean": (ops.mean, f("mean"), one, size),
    "max": (lambda a: ops.max(a, axis=1), f("amax", 1), one_distinct, none),
    "matmul": (ops.matmul, f("matmul"), matrices, size),
    "softmax": (ops.softmax, f("softmax", -1), one, last),
    "log_softmax": (ops.log_softmax, f("log_softmax", -1), one, last),
    "cross_entropy": (lambda a: ops.cross_entropy(a, labels(a)), torch_cross_entropy, one, size),
    "reshape": (lambda a: ops.reshape(a, (-1, 2)), f("reshape", (-1, 2)), one, none),
    "transpose": (lambda a: ops.transpose(a, (2, 0, 1)), f("permute", (2, 0, 1)), one, none),
    "broadcast_to": (
        lambda a: ops.broadcast_to(a, (3, *a.shape)), lambda a: a.expand(3, *a.shape), one, lambda sizes: 3
    ),
    "expand_dims": (lambda a: ops.expand_dims(a, 1), f("unsqueeze", 1), one, none),
    "squeeze": (lambda a: ops.squeeze(a[:, :1], 1), lambda a: a[:, :1].squeeze(1), one, none),
    "flip": (lambda a: ops.flip(a, 1), f("flip", (1,)), one, none),
    "concat": (lambda a, b: ops.concat([a, b], 1), lambda a, b: f("cat")([a, b], 1), two, none),
    "stack": (lambda a, b: ops.stack([a, b], 1), lambda a, b: f("stack")([a, b], 1), two, none),
    "split": (lambda a: ops.split(a, 2, 2), f("tensor_split", 2, 2), one, none),
    "getitem": (lambda a: a[:, ::2, 1:], lambda a: a[:, ::2, 1:], one, none),
    "getitem of an array": (lambda a: a[INDEX], lambda a: a[INDEX], rows, pair),
    "embedding": (lambda a: ops.embedding(a, INDEX), lambda a: a[INDEX], rows, pair),
    "scatter_add": (lambda a: ops.scatter_add((3, a.shape[2]), (INDEX,), a), torch_scatter_add, added_rows, pair),
    "to": (lambda a: ops.to(ops.to(a, "cpu"), a.device), f("clone"), one, none),
    "astype": (lambda a: ops.astype(a * 2, a.dtype), lambda a: a * 2, one, none),
}  # fmt: skip
"""Name -> ours, torch's, operands, number of summands of the longest sum, forward or backward."""

TRUTHS: dict[str, Row] = {
    "equal": (ops.equal, f("eq"), whole, none),
    "not_equal": (ops.not_equal, f("ne"), whole, none),
    "less": (ops.less, f("lt"), whole, none),
    "less_equal": (ops.less_equal, f("le"), whole, none),
    "greater": (ops.greater, f("gt"), whole, none),
    "greater_equal": (ops.greater_equal, f("ge"), whole, none),
    "sign": (lambda a, b: ops.sign(a), lambda a, b: f("sign")(a).detach(), whole, none),
    "argmax": (lambda a: ops.argmax(a, axis=1), f("argmax", 1), one_distinct, none),
    "astype of integers": (lambda a, b: ops.astype(a, np.int64), lambda a, b: a.long(), whole, none),
}
"""Those without a gradient."""
