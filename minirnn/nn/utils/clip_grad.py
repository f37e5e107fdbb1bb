"""Clipping of gradients, by their total norm or elementwise. `minirnn.optim` has the same functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.operands import tensor_list
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.primitives import absolute, clip

EXPECTED = "Tensors, such as module.parameters()"


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Multiply all gradients by ``min(1, max_norm / (norm + 1e-6))``, where norm is their total norm, as in torch.

    Raises TypeError or ValueError if an argument does not fit, and RuntimeError if the norm is not finite, and
    `error_if_nonfinite` is set. The gradients are not changed.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Tensors without a gradient are skipped.
    max_norm : float
        0 or more; with ``math.inf`` a finite norm is only measured.
    norm_type : float or "inf"
        p of the p-norm; ``math.inf`` takes the largest absolute value.
    error_if_nonfinite : bool
        Whether a norm that is NaN or infinite raises an error. Otherwise the gradients become NaN or 0, as in torch.
    foreach
        Accepted and ignored.

    Returns
    -------
    Tensor, ()
        The norm before clipping.
    """
    op = "clip_grad_norm_"
    max_norm = check.number(op, "max_norm", max_norm, 0, finite=False)
    owners = _with_gradients(op, parameters)
    gradients = [p.grad for p in owners if p.grad is not None]
    return _as_number(_clip(op, owners, gradients, max_norm, norm_type, error_if_nonfinite), gradients)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of every gradient to -clip_value .. clip_value; NaN stays NaN."""
    op = "clip_grad_value_"
    limit = check.number(op, "clip_value", clip_value, 0, finite=False)
    with no_grad():
        for p in _with_gradients(op, parameters):
            assert p.grad is not None
            p.grad = clip(p.grad.detach(), -limit, limit)


def _with_gradients(op: str, parameters: Any) -> list[Tensor]:
    return [p for p in tensor_list(op, "parameter", parameters, EXPECTED, one=True) if p.grad is not None]


def _total_norm(op: str, tensors: list[Tensor], norm_type: Any, error_if_nonfinite: Any) -> float:
    """The norm of all Tensors, computed in float64 from the norm of each."""
    p = math.inf if norm_type == "inf" else check.number(op, "norm_type", norm_type, finite=False)
    error_if_nonfinite = check.flag(op, "error_if_nonfinite", error_if_nonfinite)
    if not tensors:
        return 0.0
    with no_grad(), np.errstate(over="ignore"):
        parts = np.array([_norm(t.detach(), p) for t in tensors if t.size], np.float64)
        total = float(np.linalg.norm(parts, p)) if parts.size else 0.0
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"{op}: the norm of {len(tensors)} gradients is {total}\n  expected a finite one\n"
            "  likely a loss that overflowed; error_if_nonfinite=False ignores it"
        )
    return total


def _clip(
    op: str, owners: list[Tensor], gradients: list[Tensor], max_norm: float, norm_type: Any, error_if_nonfinite: Any
) -> float:
    """Scale the gradients of `owners`. Returns their norm before. A student's answer may take this function's place."""
    norm = _total_norm(op, gradients, norm_type, error_if_nonfinite)
    _scale(owners, max_norm, norm)
    return norm


def _as_number(norm: float, tensors: list[Tensor]) -> Tensor:
    """A Tensor () with the dtype and device of the first Tensor."""
    with np.errstate(over="ignore"):  # float16
        return tensor(np.array(norm), device=tensors[0].device, dtype=tensors[0].dtype) if tensors else tensor(0.0)


def _norm(t: Tensor, p: float) -> float:
    """The norm of one Tensor, computed in its dtype, or in float64 if powers could overflow or underflow."""
    if t.dtype != np.float16 and p in (-math.inf, 0, 1, 2, math.inf):
        norm = _norm_within(t, p)
        if math.isfinite(norm) and (p != 2 or norm > 1e-12):
            return norm
    return _norm_within(t.astype(np.float64), p)


def _norm_within(t: Tensor, p: float) -> float:
    if math.isinf(p):
        sizes = absolute(t)
        return float(sizes.max() if p == math.inf else sizes.min())
    if p == 0:
        return float((t != 0).sum())
    if p == 2:
        return math.sqrt(float((t * t).sum()))
    return float((absolute(t) ** p).sum()) ** (1 / p)


def _scale(owners: list[Tensor], max_norm: float, norm: float) -> None:
    factor = max_norm / (norm + 1e-6)
    if factor >= 1:
        return
    with no_grad(), np.errstate(invalid="ignore"):  # infinity times 0
        for p in owners:
            assert p.grad is not None
            p.grad = p.grad.detach() * factor
