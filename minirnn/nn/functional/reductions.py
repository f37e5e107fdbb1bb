"""Reductions of the losses of all elements: mean, sum, none."""

from __future__ import annotations

from minirnn.engine.tensor import Tensor


def mean_of(total: Tensor, divisor: float) -> Tensor:
    """``total / divisor``, or NaN without a gradient if the divisor is 0, for example for an empty batch."""
    return total / divisor if divisor != 0 else total * 0.0 + float("nan")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean of all elements, their sum, or the losses unchanged. The mean of no elements is NaN, as in torch."""
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else mean_of(losses.sum(), losses.size)
