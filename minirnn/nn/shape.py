"""Identity and Flatten: modules without arithmetic, for use in a Sequential."""

from __future__ import annotations

import math
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.module import Module
from minirnn.nn.options import WithOptions, declared, option


class Identity(Module):
    """``y = x``: torch.nn.Identity. Arguments are accepted and ignored, so that it can replace any module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        """The input, unchanged."""
        return input


@declared
class Flatten(WithOptions):
    """Merges the axes `start_dim` .. `end_dim` into one, in C order: torch.nn.Flatten.

    Parameters
    ----------
    start_dim, end_dim : int
        By default all axes but the first, the batch: (B, ...) -> (B, n).
    """

    start_dim: int = option(1, check.integer, -64)
    end_dim: int = option(-1, check.integer, -64)

    def forward(self, input: Any) -> Tensor:
        """Raises ValueError if there are no such axes, or they come in the wrong order."""
        x = as_tensor(input)
        n = max(x.ndim, 1)  # a number is flattened to one element
        for name, axis in (("start_dim", self.start_dim), ("end_dim", self.end_dim)):
            if not -n <= axis < n:
                raise ValueError(f"Flatten: {name} is {axis}, input has shape {x.shape}\n  expected {-n} .. {n - 1}")
        first, last = self.start_dim % n, self.end_dim % n
        if first > last:
            raise ValueError(
                f"Flatten: start_dim is {self.start_dim}, end_dim {self.end_dim}\n"
                f"  expected start_dim to come first, for an input of shape {x.shape}"
            )
        middle = math.prod(x.shape[first : last + 1])
        return x.reshape(*x.shape[:first], middle, *x.shape[last + 1 :])
