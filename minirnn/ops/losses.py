"""The cross-entropy of class scores, one node of the tape. Of each row of scores x, with the right class k::

    m = max(x)
    y = log(sum of exp(x - m)) - (x[k] - m)                         # = -log_softmax(x)[k]; no exp overflows

Backward, for the gradient dy of y::

    dx = dy * (softmax(x) - onehot(k))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.engine.operands import float_tensor
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import FusedOp
from minirnn.ops.primitives import log_softmax, put_add, softmax
from minirnn.ops.primitives.declare import op


class CrossEntropy(FusedOp):
    """The node: y of all rows, for the attribute ``target`` (...), integers in host memory."""

    kernel = "cross_entropy"

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        (x,) = inputs
        target = self.attributes["target"]
        return (-log_softmax(x)[(*np.indices(target.shape), target)],)

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        return CrossEntropyGrad(**self.attributes)(*inputs, *dy)  # type: ignore[arg-type]


class CrossEntropyGrad(FusedOp):
    """The gradient as a node. It is a function of x and dy, and is differentiated through its composition."""

    kernel = "cross_entropy_grad"

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, dy = inputs
        target = self.attributes["target"]
        ones = np.ones(target.shape, x.dtype)
        onehot = put_add(x.shape, (*np.indices(target.shape), target), ones).to(x.device)
        return (dy.reshape((*dy.shape, 1)) * (softmax(x) - onehot),)


@op(CrossEntropy, CrossEntropyGrad, method="")
def cross_entropy(x: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Cross-entropy, in nats, between class scores and the right classes.

    ``-log_softmax(x)[..., target]``, averaged over all rows (`reduction` "mean"), summed ("sum") or per row ("none").
    Raises TypeError if `target` does not hold integers, and ValueError if the shapes do not fit, a target is out of
    range, or `reduction` is unknown.

    Parameters
    ----------
    x : (..., V)
        Unnormalized scores. float16 is computed in float32.
    target : (...) integers, 0 <= target < V
    """
    x = float_tensor("cross_entropy", x)
    check.reduction("cross_entropy", reduction)
    target = integers("cross_entropy: target", target, "integers: the index of each right class").astype(np.int64)
    if x.ndim == 0 or target.shape != x.shape[:-1]:
        cause = ""
        if target.shape == x.shape:
            cause = "\n  likely one-hot: target.argmax(-1) gives the classes"
        elif x.ndim > 2 and target.shape == (x.shape[0], *x.shape[2:]):
            cause = "\n  likely scores (B, V, T), as torch has them; here the classes are the last axis"
        raise ValueError(
            f"cross_entropy: target has shape {target.shape}\n"
            f"  expected {x.shape[:-1]}, from scores {x.shape}, classes along the last axis{cause}"
        )
    classes = x.shape[-1]
    if target.size and (target.min() < 0 or target.max() >= classes):
        raise ValueError(
            f"cross_entropy: targets run from {target.min()} to {target.max()}\n  expected 0 .. {classes - 1}"
        )
    (loss,) = CrossEntropy(target=target)(x)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
