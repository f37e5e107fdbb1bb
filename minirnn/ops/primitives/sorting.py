"""sort, argsort, topk: sorted elements and their original indices.

`gather` reads the sorted elements, so the gradient of each element goes back to its original place. Sorting is always
stable, so equal elements keep their order. NaN is larger than all numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.extremes import ValuesAndIndices
from minirnn.ops.primitives.gathering import gather

__all__ = ["argsort", "sort", "topk"]


def _order(op: str, x: Tensor, axis: Any, dim: Any, descending: bool) -> tuple[int, Tensor]:
    """The axis, and the original indices of the sorted elements."""
    k = check.axis(op, axis, x.ndim, dim, scalar=True)
    if not x.ndim:
        return 0, leaf(x.device, x.device.full((), 0, np.int64))
    return k, leaf(x.device, x.device.argsort(x.array, k, bool(descending)))


@op("argsort")
def argsort(
    x: Any, axis: int = check.LAST, descending: bool = False, stable: bool = True, *, dim: int | None = None
) -> Tensor:
    """The indices that sort the elements along `axis`, int64; no gradient.

    The order is stable even if `stable` is False. `dim` is torch's name for `axis`.
    """
    x = as_tensor(x)
    return _order("argsort", x, axis, dim, descending)[1]


@op("argsort", gather)
def sort(
    x: Any, axis: int = check.LAST, descending: bool = False, stable: bool = True, *, dim: int | None = None
) -> ValuesAndIndices:
    """The sorted elements along `axis` and their original indices, as a named tuple ``(values, indices)``.

    The order is stable even if `stable` is False. NaN is larger than all numbers. `dim` is torch's name for `axis`.
    """
    x = as_tensor(x)
    k, indices = _order("sort", x, axis, dim, descending)
    return ValuesAndIndices(gather(x, k, indices), indices)


@op("argsort", gather)
def topk(
    x: Any, k: int, axis: int = check.LAST, largest: bool = True, sorted: bool = True, *, dim: int | None = None
) -> ValuesAndIndices:
    """The `k` largest (or smallest) elements along `axis` and their indices, as a named tuple ``(values, indices)``.

    They are sorted even if `sorted` is False. Of equal elements, the first ones are taken. NaN is larger than all
    numbers. `dim` is torch's name for `axis`.
    """
    x = as_tensor(x)
    k = check.integer("topk", "k", k)
    axis, indices = _order("topk", x, axis, dim, largest)
    k = check.integer("topk", "k", k, 0, x.shape[axis] if x.ndim else 1, f", along axis {axis} of shape {x.shape}")
    if x.ndim:
        indices = indices[(*[slice(None)] * axis, slice(0, k))]
    return ValuesAndIndices(gather(x, axis, indices), indices)
