"""The functions of the layers linear, embedding and dropout; and one_hot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.arguments.messages import shown
from minirnn.engine import operands, random
from minirnn.engine.tensor import Tensor, as_tensor, leaf, tensor
from minirnn.nn.functional.arguments import returned, source
from minirnn.ops import primitives


def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """``x @ weight.T + bias`` along the last axis: ``torch.nn.functional.linear``.

    Parameters
    ----------
    input : (..., I)
    weight : (O, I), or (I,) for a result without the last axis
    bias : (O,), or () for a weight (I,), optional

    Returns
    -------
    Tensor, (..., O) or (...)
    """
    given = dict(input=input, weight=weight) | ({} if bias is None else dict(bias=bias))
    x, w, *rest = operands.tensors("linear", **given)
    if w.ndim not in (1, 2):
        raise ValueError(f"linear: weight has shape {w.shape}\n  expected (O, I) or (I,)")
    I, out = w.shape[-1], w.shape[:-1]
    if x.ndim == 0 or x.shape[-1] != I:
        cause = "\n  likely weight is transposed" if x.ndim and w.ndim == 2 and x.shape[-1] == w.shape[0] else ""
        raise ValueError(
            f"linear: input has shape {x.shape}\n  expected (..., I) with I = {I}, from weight {w.shape}{cause}"
        )
    rows = math.prod(x.shape[:-1])
    # One matrix product; for (T, B, I), matmul would compute one for each t.
    y = x.reshape(rows, I) @ (w.T if w.ndim == 2 else w)
    for b in rest:
        if b.shape != out and b.shape != ():
            raise ValueError(f"linear: bias has shape {b.shape}\n  expected {out}, from weight {w.shape}")
        y = y + b
    return y.reshape((*x.shape[:-1], *out))


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table, ``weight[input]``: ``torch.nn.functional.embedding``, with torch's order of the arguments.

    Raises TypeError if `input` are not integers, and ValueError if an id or `padding_idx` has no row, `weight` is not a
    matrix, or one of the last four differs from its default.

    Parameters
    ----------
    input : integers (...), 0 .. V-1
    weight : (V, I)
    padding_idx : int, optional
        The row that gets no gradient, so that it does not change. A negative number counts from the end.
    max_norm, norm_type, scale_grad_by_freq, sparse
        Only torch's defaults are supported, because reading never changes rows, and gradients are dense.

    Returns
    -------
    Tensor, (..., I)
    """
    only_defaults("embedding", max_norm, scale_grad_by_freq, sparse)
    if isinstance(input, Tensor) and input.dtype.kind == "f" and _is_whole(weight):
        raise TypeError(
            f"embedding: input has dtype {input.dtype}\n  expected integers\n"
            "  likely exchanged: torch's order is (input, weight)"
        )
    w = as_tensor(weight)
    ids = integers("embedding: input", input)
    y = primitives.embedding(w, ids)
    if padding_idx is None:
        return y
    row = padding_row("embedding", padding_idx, w.shape[0])
    return primitives.where((ids == row)[..., None], y.detach(), y)


def _is_whole(value: Any) -> bool:
    return getattr(value, "dtype", None) is not None and value.dtype.kind in "iu"


def only_defaults(op: str, max_norm: Any, scale_grad_by_freq: Any, sparse: Any) -> None:
    """Raise ValueError for options of torch's embeddings that minirnn does not support."""
    if max_norm is not None:
        raise ValueError(
            f"{op}: max_norm is {shown(max_norm)}\n  expected None: it would rewrite rows of the table while reading"
            " them\n  rescale them after the optimizer's step instead"
        )
    if check.flag(op, "scale_grad_by_freq", scale_grad_by_freq):
        raise ValueError(f"{op}: scale_grad_by_freq is True\n  expected False: gradients are true sums here")
    if check.flag(op, "sparse", sparse):
        raise ValueError(f"{op}: sparse is True\n  expected False: all gradients are dense here")


def padding_row(op: str, padding_idx: Any, V: int) -> int:
    """`padding_idx` as a row 0 .. V-1. Raises TypeError if it is not an integer, ValueError if there is no such row."""
    return check.integer(op, "padding_idx", padding_idx, -V, V - 1, f", of V = {V} rows") % V


ZERO = ", the probability of a zero"
"""The meaning of a dropout's probability, for messages."""


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``x * mask / (1 - p)``, where the mask is 0 with probability `p`, else 1; `x` itself if not `training` or p = 0.

    The mask is drawn on the host from the public random stream (`minirnn.manual_seed`), in float64, so one seed drops
    the same elements on every device and in every dtype. Srivastava et al. 2014, "inverted" form.
    """
    p = check.number("dropout", "p", p, 0, 1, ZERO)
    x = as_tensor(source("dropout", input, inplace))
    if x.dtype.kind != "f":
        raise TypeError(f"dropout: input has dtype {x.dtype}\n  expected float16, float32 or float64")
    if not check.flag("dropout", "training", training) or p == 0:
        return returned(input, x, inplace)
    keep = random.generator().random(x.shape) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0
    y = x * tensor(np.where(keep, scale, 0.0), device=x.device, dtype=x.dtype)
    return returned(input, y, inplace)


def one_hot(input: Any, num_classes: int = -1) -> Tensor:
    """Zeros with a 1 at each index along a new last axis, int64: ``torch.nn.functional.one_hot``.

    Parameters
    ----------
    input : integers (...), 0 or more
    num_classes : int
        The size C of the new axis; -1 means one more than the largest index.

    Returns
    -------
    Tensor, (..., C), int64, on the device of `input`
    """
    ids = integers("one_hot: input", input)
    C = check.integer("one_hot", "num_classes", num_classes, -1)
    if not ids.size and C < 1:
        raise ValueError(
            f"one_hot: input has shape {ids.shape}, which contains no index, and num_classes is {C}\n"
            "  expected num_classes of 1 or more, because there are no indices to infer it from"
        )
    C = int(ids.max()) + 1 if C == -1 else C
    if ids.size and (ids.min() < 0 or ids.max() >= C):
        raise ValueError(f"one_hot: indices run from {ids.min()} to {ids.max()}\n  expected 0 .. {C - 1}")
    place = operands.device_of(input) or as_tensor(0).device
    return leaf(place, place.asarray((ids[..., None] == np.arange(C)).astype(np.int64)))
