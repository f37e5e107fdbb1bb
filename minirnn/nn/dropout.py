"""Dropout: sets random elements to zero in training."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.layers import ZERO
from minirnn.nn.options import WithOptions, declared, option


@declared
class Dropout(WithOptions):
    """``y = x * mask / (1 - p)`` with a mask of zeros (probability p) and ones; ``y = x`` in evaluation.

    Parameters
    ----------
    p : float
        0 <= p <= 1. Scaling by 1 / (1 - p) keeps the mean, so that evaluation needs no change (Srivastava et al. 2014,
        "inverted" form).
    inplace : bool
        Write the result into the input.
    """

    p: float = option(0.5, check.number, 0, 1, ZERO)
    inplace: bool = option(False, check.flag)

    def forward(self, input: Any) -> Tensor:
        """Any shape and floating dtype. The mask is from the public random stream and the same on every device."""
        return functional.dropout(input, self.p, self.training, self.inplace)
