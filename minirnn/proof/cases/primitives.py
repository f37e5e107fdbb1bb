"""Cases of the primitives: one line for each call, or one for several ops with the same signature."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from inspect import signature
from itertools import product
from math import prod
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.ops.primitives.declare import DECLARED
from minirnn.proof.case import Case
from minirnn.proof.cases.operands import (
    INDEX,
    Make,
    Sizes,
    added_rows,
    away_from_zero,
    batches,
    below_one,
    between,
    choice,
    distinct,
    labels,
    matrices,
    one,
    places,
    positive,
    spread,
    table,
    turned,
    two,
    two_apart,
    whole,
    with_positive_column,
    with_row,
)
from minirnn.proof.tolerance import ACTIVATION, Count

SIZES = ((1, 1, 2), (2, 3, 4), (3, 37, 66))
"""The rows are single, or shorter than a warp; the last size has more elements than a block has threads."""
ELEMENTWISE = 2 + 2 * ACTIVATION
Row = tuple[Any, Make, int | str]
"""The call, its inputs, and the number of summands of the longest sum, forward or backward: a number, those of a "row",
or "all"."""


def cases() -> Iterator[Case]:
    """All cases of the primitives, at all sizes."""
    for (name, row), sizes in product({**VALUES, **TRUTHS}.items(), SIZES):
        yield case(name, row, sizes, has_gradient=name in VALUES)


def case(name: str, row: Row, sizes: Sizes, group: str = "primitives", has_gradient: bool = True) -> Case:
    """One primitive, or one function of another group, at one size."""
    call, make, summands = row
    n = {"row": sizes[2], "all": prod(sizes)}[summands] if isinstance(summands, str) else summands
    count = Count(n + ELEMENTWISE, f"n + {ELEMENTWISE}, n = {n} summands", 4, "4")
    return Case(
        group,
        name,
        "x".join(map(str, sizes)),
        lambda *xs: [last(call(*xs))],
        partial(make, sizes),
        ("y",),
        count,
        count.twice(),
        step=1e-3 if has_gradient else 0.0,
        has_definition=False,
        quick=sizes == (2, 3, 4),
    )


def last(y: Any) -> Any:
    """The output, or the last of several parts."""
    return y[-1] if isinstance(y, (list, tuple)) else y


def alike(make: Make, summands: int | str, *names: str) -> dict[str, Row]:
    """Ops that take only these inputs."""
    return {name: (getattr(ops, name), make, summands) for name in names}


UNARY = {d: f.__name__ for f, d in reversed(DECLARED.items()) if d.nodes and [*signature(f).parameters] == ["x"]}
"""The ops of one Tensor. They need no row below, unless their inputs are special."""

VALUES: dict[str, Row] = {
    # elementwise
    **alike(one(), 0, *sorted({*UNARY.values()} - {"sign"}), "square"),
    **alike(one(positive), 0, "log", "sqrt", "log1p"),
    **alike(one(positive), 2, "reciprocal", "rsqrt"),
    **alike(one(away_from_zero), 0, "relu", "absolute"),
    **alike(with_row(), 0, "add", "subtract"),
    **alike(with_row(), "all", "multiply"),
    **alike(with_positive_column, "all", "divide"),
    **alike(with_row(positive), "all", "power"),
    **alike(two_apart, 0, "maximum", "minimum"),
    "tan": (lambda a: ops.tan(a * 0.3), one(), 4),
    "floor": (lambda a: a - ops.floor(a), one(between), 2),
    "ceil": (lambda a: a - ops.ceil(a), one(between), 2),
    "round": (lambda a: a - ops.round(a), one(between), 2),
    "trunc": (lambda a: a - ops.trunc(a), one(between), 2),
    "remainder": (lambda a: ops.remainder(a, 8.0), one(), 0),
    "where": (lambda a, b: ops.where(choice(a), a, b), two(), 0),
    "masked_fill": (lambda a: ops.masked_fill(a, choice(a), -2.0), one(), 0),
    "clip": (lambda a: ops.clip(a, -0.2, 0.2), one(away_from_zero), 0),
    "clamp": (lambda a: ops.clamp(a, -0.2, 0.2), one(away_from_zero), 0),
    "clamp between Tensors": (lambda a, b: ops.clamp(a, max=b), two_apart, 0),
    "clamp_min": (lambda a: ops.clamp_min(a, 0.2), one(away_from_zero), 0),
    "clamp_max": (lambda a: ops.clamp_max(a, 0.2), one(away_from_zero), 0),
    "to": (lambda a: ops.to(ops.to(a, "cpu"), a.device), one(), 0),
    "astype": (lambda a: ops.astype(a * 2, a.dtype), one(), 0),
    # along axes
    **alike(one(), "all", "sum", "mean"),
    **alike(one(), "row", "softmax", "log_softmax"),
    "sum of an axis": (lambda a: ops.sum(a, axis=1), one(), "all"),
    "max": (lambda a: ops.max(a, axis=1), one(distinct), 0),
    "max with indices": (lambda a: ops.max(a, dim=1).values, one(distinct), 0),
    "min": (lambda a: ops.min(a, axis=1), one(distinct), 0),
    "min with indices": (lambda a: ops.min(a, dim=1).values, one(distinct), 0),
    "amax": (lambda a: ops.amax(a, 1), one(distinct), 0),
    "amin": (lambda a: ops.amin(a, 1), one(distinct), 0),
    "sort": (lambda a: ops.sort(a, 1).values, one(distinct), 0),
    "topk": (lambda a: ops.topk(a, 2, 1).values if a.shape[1] > 1 else a, one(distinct), 0),
    "cumsum": (lambda a: ops.cumsum(a, 2), one(), "row"),
    "cumprod": (lambda a: ops.cumprod(a, 1), one(below_one), "all"),
    "prod": (lambda a: ops.prod(a, 1), one(below_one), "all"),
    "diff": (ops.diff, one(), 2),
    "var": (lambda a: ops.var(a, 2), one(), "all"),
    "std": (lambda a: ops.std(a, 2), one(spread), "all"),
    "var_mean": (lambda a: ops.var_mean(a, 2), one(), "all"),
    "logsumexp": (lambda a: ops.logsumexp(a, 2), one(), "row"),
    "norm": (lambda a: ops.norm(a, dim=2), one(away_from_zero), "row"),
    "norm with p = 3": (lambda a: ops.norm(a, 3, 2), one(away_from_zero), "row"),
    "cross_entropy": (lambda a: ops.cross_entropy(a, labels(a)), one(), "all"),
    # products
    **alike(matrices, "all", "matmul"),
    **alike(batches, "all", "bmm"),
    "einsum": (lambda a, b: ops.einsum("pqr,rs->psq", a, b), matrices, "all"),
    "mm": (lambda a, b: ops.mm(a[0], b), matrices, "all"),
    "mv": (lambda a, b: ops.mv(a[0], b), with_row(), "all"),
    "dot": (lambda a, b: ops.dot(a[0, 0], b), with_row(), "all"),
    "outer": (lambda a, b: ops.outer(a[0, 0], b), with_row(), "all"),
    # shapes
    **alike(one(), 0, "tril", "matrix_transpose"),
    "reshape": (lambda a: ops.reshape(a, (-1, 2)), one(), 0),
    "view": (lambda a: ops.view(a, -1, 2), one(), 0),
    "flatten": (lambda a: ops.flatten(a, 1), one(), 0),
    "unflatten": (lambda a: ops.unflatten(a, 0, (1, -1)), one(), 0),
    "transpose": (lambda a: ops.transpose(a, (2, 0, 1)), one(), 0),
    "permute": (lambda a: ops.permute(a, 2, 0, 1), one(), 0),
    "swapaxes": (lambda a: ops.swapaxes(a, 0, 2), one(), 0),
    "movedim": (lambda a: ops.movedim(a, 0, 2), one(), 0),
    "t": (lambda a: ops.t(a[0]), one(), 0),
    "expand_dims": (lambda a: ops.expand_dims(a, 1), one(), 0),
    "unsqueeze": (lambda a: ops.unsqueeze(a, -1), one(), 0),
    "squeeze": (lambda a: ops.squeeze(a[:, :1], 1), one(), 0),
    "broadcast_to": (lambda a: ops.broadcast_to(a, (3, *a.shape)), one(), 3),
    "expand": (lambda a: ops.expand(a[:, :1], -1, 3, -1), one(), 3),
    "expand_as": (lambda a: ops.expand_as(a[:1], a), one(), 2),
    "tile": (lambda a: ops.tile(a, 2), one(), 2),
    "repeat": (lambda a: ops.repeat(a, 1, 2, 2), one(), 4),
    "triu": (lambda a: ops.triu(a, 1), one(), 0),
    # pieces
    "concat": (lambda a, b: ops.concat([a, b], 1), two(), 0),
    "stack": (lambda a, b: ops.stack([a, b], 1), two(), 0),
    "split": (lambda a: ops.split(a, 2, 2), one(), 0),
    "chunk": (lambda a: ops.chunk(a, 2, 2), one(), 0),
    "unbind": (lambda a: ops.unbind(a, 1), one(), 0),
    "narrow": (lambda a: ops.narrow(a, 2, 1, 1), one(), 0),
    "flip": (lambda a: ops.flip(a, 1), one(), 0),
    "roll": (lambda a: ops.roll(a, 1, 2), one(), 0),
    "getitem": (lambda a: a[:, ::2, 1:], one(), 0),
    "getitem of an array": (lambda a: a[INDEX], table, 2),
    "embedding": (lambda a: ops.embedding(a, INDEX), table, 2),
    "put_add": (lambda a: ops.put_add((3, a.shape[2]), (INDEX,), a), added_rows, 2),
    "gather": (lambda a: ops.gather(a, 1, places(a)), one(), "all"),
    "take_along_axis": (lambda a: ops.take_along_axis(a, places(a), 1), one(), "all"),
    "take_along_dim": (lambda a: ops.take_along_dim(a, places(a), 1), one(), "all"),
    "scatter": (lambda a, b: ops.scatter(a, 1, turned(a), b), two(), 0),
    "scatter_add": (lambda a, b: ops.scatter_add(a, 1, places(a), b), two(), "all"),
    "index_select": (lambda a: ops.index_select(a, 2, [1, 0, 1]), one(), 3),
}  # fmt: skip
"""The primitives with a gradient."""

TRUTHS: dict[str, Row] = {
    **alike(with_row(whole, whole), 0, "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    **alike(with_row(whole, whole), 0, "logical_and", "logical_or", "logical_xor"),
    **alike(one(whole), 0, "logical_not", "sign"),
    **alike(one(), 0, "isnan", "isinf", "isfinite"),
    "bitwise_and": (lambda a, b: (a > 0) & (b > 0), with_row(whole, whole), 0),
    "bitwise_or": (lambda a, b: (a > 0) | (b > 0), with_row(whole, whole), 0),
    "bitwise_xor": (lambda a, b: (a > 0) ^ (b > 0), with_row(whole, whole), 0),
    "bitwise_not": (lambda a, b: ~(a > b), with_row(whole, whole), 0),
    "floor_divide": (lambda a: ops.floor_divide(a, 2.0), one(whole), 0),
    "argmax": (lambda a: ops.argmax(a, axis=1), one(distinct), 0),
    "argmin": (lambda a: ops.argmin(a, 1), one(distinct), 0),
    "argsort": (lambda a: ops.argsort(a, 1), one(distinct), 0),
    "any": (lambda a: ops.any(a, 1), one(whole), 0),
    "all": (lambda a: ops.all(a, 1), one(whole), 0),
    "count_nonzero": (lambda a: ops.count_nonzero(a, 1), one(whole), 0),
    "sum of integers": (lambda a: ops.sum(ops.astype(a, np.int64)), one(whole), 0),
    "astype of integers": (lambda a: ops.astype(a, np.int64), one(whole), 0),
}
"""The primitives without a gradient."""
