"""Regression losses (squared, absolute, and between the two), and the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import above_0, constant_like, no_legacy, two_alike
from minirnn.nn.functional.reductions import reduced
from minirnn.ops.primitives import absolute, clip, exp, log, where
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


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """``d**2 / 2`` where ``d = |x - y| <= delta``, else ``delta * (d - delta / 2)``.

    This is ``torch.nn.functional.huber_loss``. Other arguments and errors are those of `mse_loss`. Huber 1964.

    Parameters
    ----------
    delta : float
        Above 0.
    weight : array_like of the shape of `input`, optional
        Each loss is multiplied by its weight. The mean divides by the number of elements, as in torch. (In `mse_loss`
        and `l1_loss` it divides by the sum of the weights.)
    """
    check.reduction("huber_loss", reduction)
    delta = above_0("huber_loss", "delta", delta)
    x, y, dtype = two_alike("huber_loss", input, target)
    losses = Huber(delta)(x - y)
    if weight is not None:
        losses = losses * _like_losses("huber_loss", weight, losses)
    return reduced(losses, reduction).astype(dtype)


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``p * (log(p) - x)`` of log-probabilities x from probabilities p.

    This is ``torch.nn.functional.kl_div``. Where p is 0, the loss is ``-p * x = 0``, and its gradient with respect to p
    is -x, because the infinite gradient of the first term is left out; torch has NaN there. Other arguments and errors
    are those of `mse_loss`. Kullback & Leibler 1951.

    Parameters
    ----------
    input : array_like
        x, logarithms of probabilities.
    target : array_like of the shape of `input`
        p, or log(p) if `log_target`.
    reduction : {"mean", "batchmean", "sum", "none"}
        "batchmean" divides the sum by the size of the first axis, which gives the divergence of a batch. "mean" divides
        by the number of all elements, as in torch (which warns about it).
    log_target : bool
    """
    no_legacy("kl_div", size_average, reduce)
    divergence_reduction("kl_div", "reduction", reduction)
    log_target = check.flag("kl_div", "log_target", log_target)
    x, y, dtype = two_alike("kl_div", input, target)
    if log_target:
        losses = exp(y) * (y - x)
    else:
        # p log(p) has the limit 0 at p = 0. A negative p has no logarithm, and NaN stays NaN.
        log_y = where(y >= 0, log(where(y > 0, y, 1.0)), float("nan"))
        losses = y * (log_y - x)
    if reduction == "batchmean":
        return reduced(losses, "mean", x.shape[0] if x.ndim else 1).astype(dtype)
    return reduced(losses, reduction).astype(dtype)


def divergence_reduction(op: str, name: str, reduction: Any) -> str:
    """A reduction of `kl_div`. Raises ValueError for an unknown one."""
    if not isinstance(reduction, str) or reduction not in ("mean", "batchmean", "sum", "none"):
        raise ValueError(f"{op}: {name} is {shown(reduction)}\n  expected 'mean', 'batchmean', 'sum' or 'none'")
    return reduction


def _weighted(op: str, losses: Tensor, weight: Any, reduction: str) -> Tensor:
    if weight is None:
        return reduced(losses, reduction)
    w = _like_losses(op, weight, losses)
    losses = losses * w
    return losses.sum() / w.sum() if reduction == "mean" and losses.size else reduced(losses, reduction)


def _like_losses(op: str, weight: Any, losses: Tensor) -> Tensor:
    w = constant_like(op, "weight", weight, losses)
    if w.shape != losses.shape:
        raise ValueError(f"{op}: weight has shape {w.shape}\n  expected {losses.shape}, that of input")
    return w
