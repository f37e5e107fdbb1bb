"""norm: the p-norm of vectors, for any p. Where a norm is 0, its gradient is 0 times the one that arrives."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.operands import float_tensor, is_number
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.arithmetic import power
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.elementwise import absolute, choose, sqrt, where
from minirnn.ops.primitives.extremes import amax, amin
from minirnn.ops.primitives.reductions import sum as total
from minirnn.ops.primitives.statistics import squarable

__all__ = ["norm"]
from minirnn.ops.primitives.rounding import Flat

Axes = int | tuple[int, ...] | None


@op(absolute, power, sqrt, where, total, amax, amin, "equal", "multiply")
def norm(
    x: Any,
    p: float | str | None = "fro",
    axis: Axes = None,
    keepdims: bool | None = None,
    *,
    dim: Axes = None,
    keepdim: bool | None = None,
    dtype: Any = None,
) -> Tensor:
    """``sum(|x| ** p) ** (1 / p)`` over `axis` (an int, a tuple, or None for all).

    - ``p=2``, ``p="fro"`` (the default) or None: the root of the sum of squares;
    - ``p=1``: the sum of the absolute values; ``p=inf``, ``p=-inf``: the largest and the smallest of them;
    - ``p=0``: the number of elements that are not 0, with a gradient of 0; any other number: the formula.

    A vector of zeros has the gradient 0, or NaN where NaN or infinity arrives. Equal largest values share the gradient
    equally. float16 is computed in float32, and float32 in float64 where powers would leave its range. `dim` and
    `keepdim` are torch's names for `axis` and `keepdims`. Raises TypeError if `x` does not have a float dtype, or `p`
    is not a number, and ValueError if `p` is an unknown string. There is no nuclear norm, because it needs singular
    values.
    """
    if isinstance(p, str) and p in ("inf", "-inf"):
        p = float(p)
    if p is None or (isinstance(p, str) and p == "fro"):
        p = 2.0
    if isinstance(p, str):
        raise ValueError(
            f"norm: p is {shown(p)}\n  expected a number or 'fro'; norms of singular values are not supported"
        )
    if isinstance(p, np.generic):
        p = p.item()
    if not is_number(p) or isinstance(p, bool):
        raise TypeError(f"norm: p is {shown(p)}\n  expected a number or 'fro'")
    x = float_tensor("norm", x if dtype is None else float_tensor("norm", x).astype(dtype))
    axes = check.axes("norm", axis, x.ndim, dim, scalar=True) or tuple(range(x.ndim))
    kept = check.kept("norm", keepdims, keepdim)
    wide = squarable(x, axes) if p == 2 else x.astype(np.float64 if p not in (0, 1, inf, -inf) else x.dtype)
    if wide.dtype == np.float16:
        wide = wide.astype(np.float32)
    return _norm(wide, float(p), axes, kept).astype(x.dtype)


def _norm(x: Tensor, p: float, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if p == 2:
        squares = (x * x).sum(axis=axes, keepdims=keepdims)
        zero = squares == 0
        return choose(zero, squares * 0.0, sqrt(choose(zero, 1.0, squares)))
    if p == 0:
        count = (x != 0).astype(x.dtype)
        return record(Flat(), x.device, count.array, (x,)).sum(axis=axes, keepdims=keepdims)
    size = absolute(x)
    if p == 1:
        return size.sum(axis=axes, keepdims=keepdims)
    if abs(p) == inf:
        return (amax if p > 0 else amin)(size, axes, keepdims)
    if p % 1 == 0 and p > 0:
        powers = size ** int(p)
    else:  # at 0 a derivative of |x| ** p of some order would be infinite
        zero = size == 0
        powers = where(zero, size * 0.0 + (0.0 if p > 0 else inf), where(zero, 1.0, size) ** p)
    total = powers.sum(axis=axes, keepdims=keepdims)
    nothing = (total == 0) | (total == inf)
    hidden = where(total == inf, 0.0, total) * 0.0  # so that NaN and infinity pass in the backward pass
    return where(nothing, total.detach() ** (1 / p) + hidden, where(nothing, 1.0, total) ** (1 / p))
