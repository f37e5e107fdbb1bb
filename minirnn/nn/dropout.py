"""Dropout: zeros at random places, while training."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.arguments import not_in_place
from minirnn.nn.functional.layers import ZERO
from minirnn.nn.module import Module


class Dropout(Module):
    """``y = x * mask / (1 - p)`` with a mask of zeros (probability p) and ones; ``y = x`` in evaluation.

    Parameters
    ----------
    p : float
        0 <= p <= 1. Scaling by 1 / (1 - p) keeps the mean, so that evaluation needs no change (Srivastava et al. 2014,
        "inverted" form).
    inplace : bool
        Only False: no Tensor is written into.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = check.number("Dropout", "p", p, 0, 1, ZERO)
        self.inplace = not_in_place("Dropout", inplace)

    def forward(self, input: Any) -> Tensor:
        """Any shape, any floating dtype. The mask comes from the public random stream, the same on every device."""
        return functional.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
