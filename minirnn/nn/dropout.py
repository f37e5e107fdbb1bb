"""Dropout: zeros at random places, while training."""

from __future__ import annotations

from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.module import Module


class Dropout(Module):
    """``y = x * mask / (1 - p)`` with a mask of zeros (probability p) and ones; ``y = x`` in evaluation.

    Parameters
    ----------
    p : float
        0 <= p <= 1. Scaling by 1 / (1 - p) keeps the mean, so that evaluation needs no change (Srivastava et al. 2014,
        "inverted" form).
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = functional.probability("Dropout", p)

    def forward(self, x: Any) -> Tensor:
        """Any shape, any floating dtype. The mask comes from the public random stream, the same on every device."""
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
