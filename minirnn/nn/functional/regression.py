"""Regression losses: squared, absolute, and between the two."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import constant_like, no_legacy, two_alike
from minirnn.nn.functional.reductions import reduced
from minirnn.ops.primitives import absolute, clip
from minirnn.ops.primitives.declare import Primitive


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """Squared error ``(x - y)**2``: ``torch.nn.functional.mse_loss``.

    Parameters
    ----------
    input, target : array_like
        x and y, of the same shape. They do not broadcast, because (B, 1) and (B,) would silently give (B, B). Integers
        and bools take the dtype of the other argument.
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "sum", "none"}
        The mean of all elements (NaN if there are none), their sum, or the unreduced errors.
    weight : array_like of the shape of `input`, optional
        Each error is multiplied by its weight, and the mean is ``sum(weight * error) / sum(weight)``.

    Returns
    -------
    Tensor of shape (), or of that of `input` with reduction "none"
    """
    no_legacy("mse_loss", size_average, reduce)
    check.reduction("mse_loss", reduction)
    x, y, dtype = two_alike("mse_loss", input, target)
    error = x - y
    return _weighted("mse_loss", error * error, weight, reduction).astype(dtype)


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """Absolute error ``|x - y|``, with derivative 0 where both are equal: ``torch.nn.functional.l1_loss``.

    The arguments and errors are those of `mse_loss`.
    """
    no_legacy("l1_loss", size_average, reduce)
    check.reduction("l1_loss", reduction)
    x, y, dtype = two_alike("l1_loss", input, target)
    return _weighted("l1_loss", absolute(x - y), weight, reduction).astype(dtype)


class Huber(Primitive, uses="clip", reads="x"):
    """l = c * (e - c / 2), where c is e held between -delta and delta        de = dl * c

    Between the bounds this is e**2 / 2, outside it is delta * (|e| - delta / 2).
    """

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def forward(self, device: Any, e: Any) -> Any:
        c = device.clip(e, -self.delta, self.delta)
        return device.multiply(c, device.subtract(e, device.multiply(c, 0.5)))

    def backward(self, dl: Tensor, l: Tensor, e: Tensor) -> tuple[Tensor]:  # noqa: E741
        return (dl * clip(e, -self.delta, self.delta),)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """``d**2 / (2 * beta)`` where ``d = |x - y| < beta``, else ``d - beta / 2``.

    This is ``torch.nn.functional.smooth_l1_loss``. Other arguments and errors are those of `mse_loss`. Girshick 2015.

    Parameters
    ----------
    beta : float
        0 or more; with 0 it is `l1_loss`.
    """
    no_legacy("smooth_l1_loss", size_average, reduce)
    check.reduction("smooth_l1_loss", reduction)
    beta = check.number("smooth_l1_loss", "beta", beta, 0)
    x, y, dtype = two_alike("smooth_l1_loss", input, target)
    losses = Huber(beta)(x - y) / beta if beta > 0 else absolute(x - y)
    return reduced(losses, reduction).astype(dtype)


def _weighted(op: str, losses: Tensor, weight: Any, reduction: str) -> Tensor:
    if weight is None:
        return reduced(losses, reduction)
    w = constant_like(op, "weight", weight, losses)
    if w.shape != losses.shape:
        raise ValueError(f"{op}: weight has shape {w.shape}\n  expected {losses.shape}, that of input")
    losses = losses * w
    return losses.sum() / w.sum() if reduction == "mean" and losses.size else reduced(losses, reduction)
