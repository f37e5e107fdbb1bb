"""Losses as modules. Each stores its options and calls the function of `nn.functional`, whose page explains them.

In all of them, `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are torch's old names for it, and
passing one is an error.
"""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.regression import divergence_reduction
from minirnn.nn.options import WithOptions, calls


class _Loss(WithOptions):
    reduction: str

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss () of two Tensors of one shape, or of scores and classes; single losses for reduction "none"."""
        return self._call(input, target)


@calls(functional.cross_entropy, inputs=2)
class CrossEntropyLoss(_Loss):
    """``-log_softmax(scores)[target]`` in nats, classes on axis 1: `minirnn.nn.functional.cross_entropy`.

    It takes scores (B, C, ...) and classes (B, ...) or probabilities (B, C, ...), and returns (), or (B, ...)
    unreduced. For scores (T, B, C) and targets (T, B) of a recurrent network, write ``loss(scores.reshape(-1, C),
    target.reshape(-1))`` as in torch, or use `minirnn.ops.cross_entropy`, whose classes are on the last axis.
    """


@calls(functional.nll_loss, inputs=2)
class NLLLoss(_Loss):
    """``-log_probs[target]``, classes on axis 1: `minirnn.nn.functional.nll_loss`.

    It takes log-probabilities (B, C, ...) and classes (B, ...), and returns (), or (B, ...) unreduced.
    """


@calls(functional.binary_cross_entropy, inputs=2)
class BCELoss(_Loss):
    """``-(y * log(x) + (1 - y) * log(1 - x))`` of probabilities: `minirnn.nn.functional.binary_cross_entropy`."""


@calls(functional.binary_cross_entropy_with_logits, inputs=2)
class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of ``sigmoid(x)``, without overflow: `minirnn.nn.functional.binary_cross_entropy_with_logits`."""


@calls(functional.mse_loss, inputs=2, without=("weight",))
class MSELoss(_Loss):
    """``(x - y)**2``: `minirnn.nn.functional.mse_loss`."""


@calls(functional.l1_loss, inputs=2, without=("weight",))
class L1Loss(_Loss):
    """``|x - y|``: `minirnn.nn.functional.l1_loss`."""


@calls(functional.smooth_l1_loss, inputs=2, beta=(check.number, 0))
class SmoothL1Loss(_Loss):
    """Squared below `beta` (0 or more), absolute above: `minirnn.nn.functional.smooth_l1_loss`."""


@calls(functional.huber_loss, inputs=2, without=("weight",))
class HuberLoss(_Loss):
    """Squared up to `delta` (above 0), absolute above: `minirnn.nn.functional.huber_loss`."""


@calls(functional.kl_div, inputs=2, reduction=(divergence_reduction,))
class KLDivLoss(_Loss):
    """``p * (log(p) - x)`` of log-probabilities x and probabilities p: `minirnn.nn.functional.kl_div`.

    The reduction "batchmean" is the divergence of a batch; "mean" divides by the number of all elements.
    """


@calls(functional.ctc_loss, inputs=4)
class CTCLoss(_Loss):
    """Minus the log-probability of a sequence of labels at unknown times: `minirnn.nn.functional.ctc_loss`.

    For the reduction "mean" each loss is first divided by its target's length.
    """

    def forward(  # type: ignore[override]
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """The loss: (T, B, C) or (T, C), targets (B, S) or concatenated, lengths (B,) -> (), or (B,) unreduced."""
        return self._call(log_probs, targets, input_lengths, target_lengths)
