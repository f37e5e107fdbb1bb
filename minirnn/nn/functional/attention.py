"""Attention: a mean of values, weighted by how well each key matches a query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine import operands
from minirnn.engine.operands import same_device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.functional.arguments import broadcasts, widened
from minirnn.nn.functional.layers import ZERO, dropout
from minirnn.ops.primitives import matmul, softmax, where
from minirnn.ops.primitives.shapes import swap_last


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(q @ k.T * scale + mask) @ v``: ``torch.nn.functional.scaled_dot_product_attention``.

    Parameters
    ----------
    query : (..., L, E)
    key : (..., S, E)
    value : (..., S, V)
        The leading axes broadcast.
    attn_mask : array_like that broadcasts to (..., L, S), optional
        A bool mask is True where a query may attend to a key. A floating mask is added to the scores.
    dropout_p : float
        The probability of dropping a weight. There is no argument `training`, so pass 0 in evaluation.
    is_causal : bool
        Whether query l only attends to the keys 0 .. l. It cannot be combined with `attn_mask`.
    scale : float, optional
        By default ``1 / sqrt(E)``.
    enable_gqa : bool
        Only False.

    Returns
    -------
    Tensor, (..., L, V)
        The result is zero for a query that may not attend to any key, as in torch. Vaswani et al. 2017.
    """
    op = "scaled_dot_product_attention"
    place = operands.device_of(query, key, value, attn_mask)
    tensors = operands.tensors(op, place, query=query, key=key, value=value)
    (q, dtype), (k, _), (v, _) = (widened(op, t) for t in tensors)
    if min(q.ndim, k.ndim, v.ndim) < 2 or k.shape[-1] != q.shape[-1] or v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"{op}: query has shape {q.shape}, key {k.shape}, value {v.shape}\n"
            "  expected (..., L, E), (..., S, E) and (..., S, V)"
        )
    if check.flag(op, "enable_gqa", enable_gqa):
        raise ValueError(f"{op}: enable_gqa is True\n  expected False: repeat key and value along their heads instead")
    p = check.number(op, "dropout_p", dropout_p, 0, 1, ZERO)
    E = q.shape[-1]
    factor = (1 / math.sqrt(E) if E else 1.0) if scale is None else check.number(op, "scale", scale)
    mask = _mask(op, attn_mask, check.flag(op, "is_causal", is_causal), q, k)

    scores = matmul(q * factor, swap_last(k))  # (..., L, S)
    if mask is not None:
        scores = where(mask, scores, -math.inf) if mask.dtype == np.bool_ else scores + mask
    weights = _softmax_or_zeros(scores) if mask is not None else softmax(scores, -1)
    return matmul(dropout(weights, p), v).astype(dtype)


def _softmax_or_zeros(scores: Tensor) -> Tensor:
    """softmax along the last axis, but zeros instead of NaN where all scores are minus infinity."""
    if not scores.size:
        return scores
    dead = np.isneginf(scores.numpy()).all(-1, keepdims=True)  # (..., L, 1)
    if not dead.any():
        return softmax(scores, -1)
    return where(dead, 0.0, softmax(where(dead, 0.0, scores), -1))


def _mask(op: str, attn_mask: Any, is_causal: bool, q: Tensor, k: Tensor) -> Tensor | None:
    L, S = q.shape[-2], k.shape[-2]
    if is_causal:
        if attn_mask is not None:
            raise ValueError(f"{op}: got attn_mask and is_causal\n  expected one of them")
        return as_tensor(np.tri(L, S, dtype=np.bool_), device=q.device)
    if attn_mask is None:
        return None
    mask = attn_mask if isinstance(attn_mask, Tensor) else as_tensor(attn_mask, device=q.device)
    if mask.dtype.kind not in "bf":
        raise TypeError(f"{op}: attn_mask has dtype {mask.dtype}\n  expected bool or a floating dtype")
    same_device(op, q, mask)
    expected = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), L, S)
    if not broadcasts(mask.shape, expected):
        raise ValueError(f"{op}: attn_mask has shape {mask.shape}\n  expected one that broadcasts to {expected}")
    return mask if mask.dtype == np.bool_ else mask.astype(q.dtype)
