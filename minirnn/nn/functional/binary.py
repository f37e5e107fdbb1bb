"""Binary cross-entropy of probabilities, and of their scores before the sigmoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import broadcasts, constant_like, no_legacy, two_alike
from minirnn.nn.functional.reductions import reduced
from minirnn.ops.primitives import absolute, clip, exp, log, log1p, relu, sigmoid, where
from minirnn.ops.softplus import log_one_plus_exp

_SMALLEST = float(np.float32(1e-12))  # torch rounds this to float32 in every dtype


def _log_from_minus_100(x: Tensor) -> Tensor:
    """``max(log(x), -100)``. Otherwise a single wrong prediction of probability 1 would make the loss infinite."""
    return clip(where(x > 0, log(where(x > 0, x, 1.0)), -math.inf), -100.0, None)


class BinaryCrossEntropy(Op):
    """l = -(y * log(x) + (1 - y) * log(1 - x))     dx = dl * (x - y) / (x * (1 - x)),  dy = dl * (log(1 - x) - log(x))

    Logarithms are at least -100 and the divisor at least 1e-12, as in torch.
    """

    def backward(self, dl: Tensor, loss: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor | None]:
        dx = dl * ((x - y) / clip(x * (1 - x), _SMALLEST, None))
        return dx, dl * (_log_from_minus_100(1 - x) - _log_from_minus_100(x)) if y.requires_grad else None


BINARY_CROSS_ENTROPY = BinaryCrossEntropy()


class OfScores(Op):
    """l = max(x, 0) - x * y + log(1 + exp(-|x|))      dx = dl * (sigmoid(x) - y),  dy = -dl * x"""

    def backward(self, dl: Tensor, loss: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor | None]:
        return dl * (sigmoid(x) - y), -dl * x if y.requires_grad else None


OF_SCORES = OfScores()


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """``-(y * log(x) + (1 - y) * log(1 - x))`` of probabilities x: ``torch.nn.functional.binary_cross_entropy``.

    Both logarithms are at least -100. For scores, `binary_cross_entropy_with_logits` is more accurate.

    Parameters
    ----------
    input : array_like
        x, probabilities, 0 .. 1.
    target : array_like of the shape of `input`
        y, usually 0 or 1.
    weight : array_like that broadcasts to the shape of `input`, optional
        A factor for each loss; the mean still divides by the number of elements.
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "sum", "none"}
    """
    op = "binary_cross_entropy"
    no_legacy(op, size_average, reduce)
    check.reduction(op, reduction)
    x, y, dtype = two_alike(op, input, target)
    w = _factor(op, "weight", weight, x)
    values = x.numpy()
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            f"{op}: input runs from {values.min()} to {values.max()}\n  expected probabilities, 0 .. 1\n"
            "  likely scores: binary_cross_entropy_with_logits takes these"
        )
    p, q = x.detach(), y.detach()
    value = -(q * _log_from_minus_100(p) + (1 - q) * _log_from_minus_100(1 - p))
    losses = record(BINARY_CROSS_ENTROPY, x.device, value.array, (x, y))
    return reduced(losses if w is None else losses * w, reduction).astype(dtype)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Tensor:
    """``-(p * y * log(s) + (1 - y) * log(1 - s))`` with ``s = sigmoid(x)``, computed from x without overflow.

    It is ``torch.nn.functional.binary_cross_entropy_with_logits``, in the stable form
    ``p * y * log(1 + exp(-x)) + (1 - y) * log(1 + exp(x))``, without p ``max(x, 0) - x * y + log(1 + exp(-|x|))``.

    Parameters
    ----------
    input : array_like
        x, scores of any size.
    target : array_like of the shape of `input`
        y, usually 0 or 1.
    weight : array_like that broadcasts to the shape of `input`, optional
        A factor for each loss; the mean still divides by the number of elements.
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "sum", "none"}
    pos_weight : array_like that broadcasts to the shape of `input`, optional
        p, the weight of positive targets. Values above 1 improve recall.
    """
    op = "binary_cross_entropy_with_logits"
    no_legacy(op, size_average, reduce)
    check.reduction(op, reduction)
    x, y, dtype = two_alike(op, input, target)
    w, p = _factor(op, "weight", weight, x), _factor(op, "pos_weight", pos_weight, x)
    if p is None:
        scores, answers = x.detach(), y.detach()
        value = relu(scores) - scores * answers + log1p(exp(-absolute(scores)))
        losses = record(OF_SCORES, x.device, value.array, (x, y))
    else:
        losses = y * log_one_plus_exp(-x) * p + (1 - y) * log_one_plus_exp(x)
    return reduced(losses if w is None else losses * w, reduction).astype(dtype)


def _factor(op: str, name: str, value: Any, x: Tensor) -> Tensor | None:
    """A weight that broadcasts to the shape of `x`. Raises ValueError if it does not."""
    if value is None:
        return None
    w = constant_like(op, name, value, x)
    if not broadcasts(w.shape, x.shape):
        raise ValueError(
            f"{op}: {name} has shape {w.shape}\n  expected one that broadcasts to {x.shape}, that of input"
        )
    return w
