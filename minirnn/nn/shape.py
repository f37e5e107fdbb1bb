"""Identity, Flatten and Unflatten: modules without arithmetic, for use in a Sequential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
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
        first, last = (_axis("Flatten", name, getattr(self, name), x) for name in ("start_dim", "end_dim"))
        if first > last:
            raise ValueError(
                f"Flatten: start_dim is {self.start_dim}, end_dim {self.end_dim}\n"
                f"  expected start_dim to come first, for an input of shape {x.shape}"
            )
        middle = math.prod(x.shape[first : last + 1])
        return x.reshape(*x.shape[:first], middle, *x.shape[last + 1 :])


class Unflatten(Module):
    """Splits one axis into several, in C order: torch.nn.Unflatten.

    Parameters
    ----------
    dim : int
        The axis. (Torch's named axes are not supported.)
    unflattened_size : tuple of int
        The sizes of the new axes. One may be -1, and is then computed from the others.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        self.dim = check.integer("Unflatten", "dim", dim, -64)
        if not isinstance(unflattened_size, (tuple, list)) or not unflattened_size:
            raise TypeError(f"Unflatten: unflattened_size is {shown(unflattened_size)}\n  expected a tuple of integers")
        sizes = [check.integer("Unflatten", "unflattened_size", n, -1) for n in unflattened_size]
        if sizes.count(-1) > 1:
            raise ValueError(f"Unflatten: unflattened_size is {tuple(sizes)}\n  expected at most one -1")
        self.unflattened_size = tuple(sizes)

    def forward(self, input: Any) -> Tensor:
        """Raises ValueError if there is no such axis, or its length is not the product of the sizes."""
        x = as_tensor(input)
        axis = _axis("Unflatten", "dim", self.dim, x)
        length, known = x.shape[axis], math.prod(n for n in self.unflattened_size if n != -1)
        fits = length == known if -1 not in self.unflattened_size else known and length % known == 0
        if not fits:
            raise ValueError(
                f"Unflatten: axis {self.dim} of an input of shape {x.shape} has the length {length}\n"
                f"  expected the product of unflattened_size = {self.unflattened_size}"
            )
        sizes = [length // known if n == -1 else n for n in self.unflattened_size]
        return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _axis(module: str, name: str, axis: int, x: Tensor) -> int:
    n = max(x.ndim, 1)  # a number is flattened to one element
    if not -n <= axis < n:
        raise ValueError(f"{module}: {name} is {axis}, input has shape {x.shape}\n  expected {-n} .. {n - 1}")
    return axis % n
