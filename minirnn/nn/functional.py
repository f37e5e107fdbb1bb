"""Losses and dropout as functions: what the modules of the same names call."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import random
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.ops import check
from minirnn.ops.primitives import cross_entropy
from minirnn.ops.primitives.operands import reduction_of

__all__ = ["cross_entropy", "dropout", "mse_loss"]


def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Squared error ``(x - target)**2``, averaged over all elements ("mean"), summed ("sum") or as it is ("none").

    Parameters
    ----------
    x, target : array_like
        They have one shape: nothing is broadcast, since (B, 1) against (B,) would silently give (B, B).

    Raises
    ------
    ValueError
        If the shapes differ or `reduction` is unknown.
    """
    reduction_of("mse_loss", reduction)
    x = as_tensor(x)
    target = as_tensor(target, device=None if isinstance(target, Tensor) else x.device)
    if x.shape != target.shape:
        raise ValueError(
            f"mse_loss: x has shape {x.shape}, target {target.shape}\n  expected one shape for both"
            + ("\n  likely an axis of size 1 too many: reshape one of them" if x.size == target.size else "")
        )
    error = x - target
    loss = error * error
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def dropout(x: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """``x * mask / (1 - p)``, the mask being 0 with probability `p`, else 1; `x` itself if not `training` or p = 0.

    The mask is drawn on the host from the public random stream (`minirnn.manual_seed`), in float64, so one seed drops
    the same elements on every device and in every dtype.

    Raises
    ------
    TypeError
        If `x` has no floating dtype or `p` is no number.
    ValueError
        If `p` is not in 0 .. 1.
    """
    p = probability("dropout", p)
    x = as_tensor(x)
    if x.dtype.kind != "f":
        raise TypeError(f"dropout: x has dtype {x.dtype}\n  expected float16, float32 or float64")
    if not training or p == 0:
        return x
    keep = random.generator().random(x.shape) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0
    return x * tensor(np.where(keep, scale, 0.0), device=x.device, dtype=x.dtype)


def probability(name: str, p: Any) -> float:
    """`p` as a float. Raises TypeError if it is no number, ValueError outside 0 .. 1."""
    p = check.number(name, "p", p)
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p is {p}\n  expected a probability, 0 .. 1")
    return p
