"""Choosing elements: by a mask, by repetition, along a diagonal, at random. torch has these functions, TensorFlow's ops
do not need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.arguments.messages import shown
from minirnn.arguments.names import accepts
from minirnn.engine import random
from minirnn.engine.operands import float_tensor
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.ops.primitives.arithmetic import multiply
from minirnn.ops.primitives.declare import method
from minirnn.ops.primitives.gathering import index_select, scatter_add
from minirnn.ops.primitives.indexing import getitem
from minirnn.ops.primitives.views import movedim

__all__ = ["bernoulli", "diagonal", "index_add", "masked_select", "multinomial", "nonzero", "repeat_interleave"]


@method
@accepts()
def nonzero(t: Any, as_tuple: bool = False) -> Any:
    """The indices of nonzero elements, (N, axes) of int64; with `as_tuple`, a Tensor (N,) for each axis. No
    gradient.
    """
    x = as_tensor(t)
    a = x.detach().numpy()
    if check.flag("nonzero", "as_tuple", as_tuple):
        return tuple(tensor(places, device=x.device) for places in np.atleast_1d(a).nonzero())
    return tensor(np.argwhere(a), device=x.device)


@method
@accepts()
def masked_select(x: Any, mask: Any) -> Tensor:
    """The elements of `x` where `mask` is true, in one axis. Both broadcast. Gradients go back to the places of the
    elements.
    """
    x = as_tensor(x)
    mask = np.asarray(mask.numpy() if isinstance(mask, Tensor) else mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"masked_select: mask has dtype {mask.dtype}\n  expected bool, such as x > 0")
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return getitem(x.broadcast_to(shape), (np.broadcast_to(mask, shape),))


@method
@accepts()
def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element of `x` repeated along `dim` the given number of times. Without `dim`, `x` is flattened first.

    `output_size`, which torch uses to avoid a synchronization, must be the size of the result.
    """
    x = as_tensor(x)
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    times = integers("repeat_interleave: repeats", repeats)
    n = x.shape[dim]
    if times.size not in (1, n) or times.ndim > 1 or (times < 0).any():
        raise ValueError(
            f"repeat_interleave: repeats is {shown(times.tolist())}\n  expected one number of 0 or more, or {n}"
        )
    places = np.repeat(np.arange(n), times)
    if output_size is not None and output_size != len(places):
        raise ValueError(f"repeat_interleave: output_size is {shown(output_size)}\n  expected {len(places)}")
    return index_select(x, dim, places)


@method
@accepts()
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements ``x[.., i, i + offset]`` of the axes `dim1` and `dim2`, which become the last axis of the result."""
    x = as_tensor(x)
    axes = [check.axis("diagonal", dim, x.ndim) for dim in (dim1, dim2)]
    if axes[0] == axes[1]:
        raise ValueError(f"diagonal: dim1 and dim2 are {shown(dim1)} and {shown(dim2)}\n  expected two axes")
    offset = check.integer("diagonal", "offset", offset)
    rows, columns = (x.shape[k] for k in axes)
    i = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    moved = movedim(x, tuple(axes), (-2, -1))
    return getitem(moved, (Ellipsis, i - min(offset, 0), i + max(offset, 0)))


@method
@accepts()
def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Tensor:
    """`x` with ``alpha * source[k]`` added at ``index[k]`` along `dim`. Repeated indices add up.

    Raises what `scatter_add` raises.
    """
    x, source = as_tensor(x), as_tensor(source)
    k = check.axis("index_add", dim, x.ndim, scalar=True)
    places = integers("index_add: index", index).reshape(-1)
    if source.ndim != x.ndim or source.ndim and source.shape[k] != len(places):
        raise ValueError(
            f"index_add: source has shape {source.shape}, index {places.shape}\n"
            f"  expected the axes of {x.shape}, and as many along axis {k} as there are indices"
        )
    shape = [1] * x.ndim
    shape[k : k + 1] = [len(places)] if x.ndim else []
    return scatter_add(x, k, np.broadcast_to(places.reshape(shape), source.shape), multiply(source, alpha))


@method
@accepts(input="p")
def bernoulli(p: Any, *, generator: Any = None) -> Tensor:
    """1 with probability `p`, else 0, for each element of `p`, in its dtype. No gradient.

    Raises ValueError if a probability is not in 0 .. 1.
    """
    t = float_tensor("bernoulli", p)
    probabilities = t.detach().numpy()
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError("bernoulli: p has values outside of 0 .. 1\n  expected probabilities")
    drawn = random.generator("bernoulli", generator).random(t.shape) < probabilities
    return tensor(drawn, device=t.device, dtype=t.dtype)


@method
@accepts(input="probs")
def multinomial(probs: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to `probs`, (K,) or (B, K). The result is int64, (num_samples,) or
    (B, ..).

    Raises ValueError if a weight is negative or not finite, all are 0, or too few are above 0 to draw without
    `replacement`.
    """
    t = as_tensor(probs)
    num_samples = check.integer("multinomial", "num_samples", num_samples, 1)
    p = np.atleast_2d(t.numpy().astype(np.float64))
    if t.ndim not in (1, 2) or not np.isfinite(p).all() or (p < 0).any() or not (p.sum(-1) > 0).all():
        raise ValueError(
            f"multinomial: probs has shape {t.shape}, values {shown(p.tolist())}\n"
            "  expected weights (K,) or (B, K) of 0 or more, not all 0"
        )
    if not replacement and ((p > 0).sum(-1) < num_samples).any():
        raise ValueError(
            f"multinomial: num_samples is {num_samples}\n  expected no more than there are weights above 0"
        )
    stream = random.generator("multinomial", generator)
    rows = [stream.choice(p.shape[1], num_samples, replacement, row / row.sum()) for row in p]
    return tensor(np.array(rows, np.int64).reshape(*t.shape[:-1], num_samples), device=t.device)
