"""Losses as modules. Each stores its options and calls the function of `nn.functional`."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.messages import shown
from minirnn.nn import functional
from minirnn.nn.functional.arguments import ANY_INTEGER, above_0, no_legacy
from minirnn.nn.functional.regression import divergence_reduction
from minirnn.nn.options import WithOptions, calls, declared, option


def _old(module: str, name: str, value: Any) -> None:
    no_legacy(module, **{name: value})


def _reduction(module: str, name: str, value: Any) -> str:
    return check.reduction(module, value)


def _weight(module: str, name: str, value: Any) -> Tensor | None:
    if isinstance(value, str):
        raise TypeError(
            f"{module}: {name} is {shown(value)}\n  expected numbers\n  likely reduction={shown(value)} is meant"
        )
    weight = None if value is None else as_tensor(value)
    if weight is not None and weight.dtype.kind != "f":
        raise TypeError(f"{module}: {name} has dtype {weight.dtype}\n  expected float16, float32 or float64")
    return weight


class _Loss(WithOptions):
    reduction: str

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss () of two Tensors of one shape, or of scores and classes; single losses for reduction "none"."""
        return self._call(input, target)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


@declared
class _OfClasses(_Loss):
    weight: Any = option(None, _weight, buffer=True)
    size_average: Any = option(None, _old, kept=False)
    ignore_index: int = option(-100, check.integer, *ANY_INTEGER)
    reduce: Any = option(None, _old, kept=False)
    reduction: str = option("mean", _reduction)


@calls(functional.cross_entropy)
class CrossEntropyLoss(_OfClasses):
    """``-log_softmax(scores)[target]`` in nats, classes on axis 1: `minirnn.nn.functional.cross_entropy`.

    It takes scores (B, C, ...) and classes (B, ...) or probabilities (B, C, ...), and returns (), or (B, ...)
    unreduced.

    Parameters
    ----------
    weight : (C,), optional
        A factor for each class.
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    ignore_index : int
        Targets with this index are ignored.
    reduction : {"mean", "sum", "none"}
    label_smoothing : float
        0 .. 1.

    Notes
    -----
    For scores (T, B, C) and targets (T, B) of a recurrent network, write
    ``loss(scores.reshape(-1, C), target.reshape(-1))`` as in torch, or use `minirnn.ops.cross_entropy`, whose classes
    are on the last axis.
    """

    label_smoothing: float = option(0.0, check.number, 0, 1)


@calls(functional.nll_loss)
class NLLLoss(_OfClasses):
    """``-log_probs[target]``, classes on axis 1: `minirnn.nn.functional.nll_loss`.

    It takes log-probabilities (B, C, ...) and classes (B, ...), and returns (), or (B, ...) unreduced. The parameters
    are those of `CrossEntropyLoss`, without `label_smoothing`.
    """


@declared
class _Weighted(_Loss):
    weight: Any = option(None, _weight, buffer=True)
    size_average: Any = option(None, _old, kept=False)
    reduce: Any = option(None, _old, kept=False)
    reduction: str = option("mean", _reduction)


@calls(functional.binary_cross_entropy)
class BCELoss(_Weighted):
    """``-(y * log(x) + (1 - y) * log(1 - x))`` of probabilities: `minirnn.nn.functional.binary_cross_entropy`.

    Parameters
    ----------
    weight : array_like that broadcasts to the shape of the input, optional
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "sum", "none"}
    """


@calls(functional.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_Weighted):
    """`BCELoss` of ``sigmoid(x)``, without overflow: `minirnn.nn.functional.binary_cross_entropy_with_logits`.

    Parameters
    ----------
    weight, size_average, reduce, reduction
        As for `BCELoss`.
    pos_weight : array_like that broadcasts to the shape of the input, optional
        A factor for positive targets.
    """

    pos_weight: Any = option(None, _weight, buffer=True)


@declared
class _Unweighted(_Loss):
    size_average: Any = option(None, _old, kept=False)
    reduce: Any = option(None, _old, kept=False)
    reduction: str = option("mean", _reduction)


@calls(functional.mse_loss)
class MSELoss(_Unweighted):
    """``(x - y)**2``: `minirnn.nn.functional.mse_loss`.

    Parameters
    ----------
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "sum", "none"}
    """


@calls(functional.l1_loss)
class L1Loss(_Unweighted):
    """``|x - y|``: `minirnn.nn.functional.l1_loss`. The parameters are those of `MSELoss`."""


@calls(functional.smooth_l1_loss)
class SmoothL1Loss(_Unweighted):
    """Squared below `beta`, absolute above: `minirnn.nn.functional.smooth_l1_loss`.

    Parameters
    ----------
    size_average, reduce, reduction
        As for `MSELoss`.
    beta : float
        0 or more.
    """

    beta: float = option(1.0, check.number, 0)


@calls(functional.huber_loss)
class HuberLoss(_Loss):
    """Squared up to `delta`, absolute above: `minirnn.nn.functional.huber_loss`.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
    delta : float
        Above 0.
    """

    reduction: str = option("mean", _reduction)
    delta: float = option(1.0, above_0)


@calls(functional.kl_div)
class KLDivLoss(_Unweighted):
    """``p * (log(p) - x)`` of log-probabilities x and probabilities p: `minirnn.nn.functional.kl_div`.

    Parameters
    ----------
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    reduction : {"mean", "batchmean", "sum", "none"}
        "batchmean" is the divergence of a batch; "mean" divides by the number of all elements.
    log_target : bool
        Whether targets are log(p).
    """

    reduction: str = option("mean", divergence_reduction)
    log_target: bool = option(False, check.flag)


@calls(functional.ctc_loss)
class CTCLoss(_Loss):
    """Minus the log-probability of a sequence of labels at unknown times: `minirnn.nn.functional.ctc_loss`.

    Parameters
    ----------
    blank : int
        The class of the blank, which adds no label.
    reduction : {"mean", "sum", "none"}
        For "mean" each loss is first divided by its target's length.
    zero_infinity : bool
        Whether infinite losses of targets that are too long become 0.
    """

    blank: int = option(0, check.integer, 0)
    reduction: str = option("mean", _reduction)
    zero_infinity: bool = option(False, check.flag)

    def forward(  # type: ignore[override]
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """The loss: (T, B, C) or (T, C), targets (B, S) or concatenated, lengths (B,) -> (), or (B,) unreduced."""
        return self._call(log_probs, targets, input_lengths, target_lengths)
