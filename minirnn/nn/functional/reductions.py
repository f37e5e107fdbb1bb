"""Reductions of the losses of all elements: mean, sum, none."""

from __future__ import annotations

from minirnn.engine.tensor import Tensor


def reduced(losses: Tensor, reduction: str, count: float | None = None) -> Tensor:
    """The mean of all elements, their sum, or the losses unchanged.

    The mean divides by `count`, by default the number of elements. If that is 0, the result is NaN without a gradient,
    as in torch.
    """
    if reduction == "none":
        return losses
    total, divisor = losses.sum(), losses.size if count is None else count
    if reduction == "sum":
        return total
    return total / divisor if divisor != 0 else total * 0.0 + float("nan")
