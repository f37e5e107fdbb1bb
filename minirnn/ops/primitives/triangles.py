"""Lower and upper triangles of matrices: tril and triu. Attention uses them to mask later positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import where

__all__ = ["tril", "triu"]


def _triangle(op: str, x: Any, diagonal: int, lower: bool) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(
            f"{op}: the Tensor has shape {x.shape}\n  expected a matrix, or a batch of them: two axes or more"
        )
    rows, columns = x.shape[-2:]
    k = min(max(check.integer(op, "diagonal", diagonal), -rows - 1), columns)  # beyond these nothing changes
    inside = np.tri(rows, columns, k, dtype=np.bool_) if lower else ~np.tri(rows, columns, k - 1, dtype=np.bool_)
    return where(leaf(x.device, x.device.asarray(inside)), x, leaf(x.device, x.device.full((), 0, x.dtype)))


@op(where)
def tril(x: Any, diagonal: int = 0) -> Tensor:
    """`x` with zeros above a diagonal of its last two axes: the main one, or the one `diagonal` places to the right.

    Raises
    ------
    ValueError
        If there are fewer than two axes.
    TypeError
        If `diagonal` is not an integer.
    """
    return _triangle("tril", x, diagonal, lower=True)


@op(where)
def triu(x: Any, diagonal: int = 0) -> Tensor:
    """`x` with zeros below a diagonal of its last two axes. The arguments and errors are those of `tril`."""
    return _triangle("triu", x, diagonal, lower=False)
