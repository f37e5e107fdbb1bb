"""Losses as modules."""

from __future__ import annotations

from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.module import Module
from minirnn.ops.primitives.operands import reduction_of


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction_of(type(self).__name__, reduction)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


class CrossEntropyLoss(_Loss):
    """``-log_softmax(scores)[target]`` in nats: `minirnn.ops.cross_entropy`.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}

    Notes
    -----
    Classes are on the LAST axis: scores (T, B, V), target (T, B). (torch wants them on axis 1.)
    """

    def forward(self, scores: Any, target: Any) -> Tensor:
        """Scores (..., V) and integers (...), 0 .. V-1 -> a loss of shape (), or (...) with reduction "none"."""
        return functional.cross_entropy(scores, target, self.reduction)


class MSELoss(_Loss):
    """``(x - target)**2``: `minirnn.nn.functional.mse_loss`.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
    """

    def forward(self, x: Any, target: Any) -> Tensor:
        """Two of one shape -> a loss of shape (), or of that shape with reduction "none"."""
        return functional.mse_loss(x, target, self.reduction)
