"""Clipping of gradients by their common norm."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor
from minirnn.ops import check
from minirnn.optim.optimizer import tensors_of


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Shrink all gradients together so that their norm, taken as one vector, is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensor
        Parameters without a gradient are passed over.
    max_norm : float
        The largest norm that is left as it is, above 0; with ``math.inf`` the norm is only measured.

    Returns
    -------
    float
        The norm before. If it is NaN or infinite, the gradients are left as they are: look at it before a step.

    Notes
    -----
    torch divides by norm + 1e-6, minirnn by the norm.

    Raises
    ------
    ValueError
        `max_norm` is not above 0.
    """
    max_norm = check.number("clip_grad_norm_", "max_norm", max_norm, finite=False)
    if max_norm <= 0:
        raise ValueError(f"clip_grad_norm_: max_norm is {max_norm}\n  expected above 0")
    with no_grad():
        owned = [(p, p.grad.detach()) for p in tensors_of("clip_grad_norm_", parameters) if p.grad is not None]
        norm = math.sqrt(sum(_sum_of_squares(g) for _, g in owned))
        if math.isfinite(norm) and norm > max_norm:
            for p, g in owned:
                p.grad = g * (max_norm / norm)
    return norm


def _sum_of_squares(g: Tensor) -> float:
    if g.dtype == np.float16:
        g = g.astype(np.float32)  # the square of 256 has no place in float16
    return float((g * g).sum())
