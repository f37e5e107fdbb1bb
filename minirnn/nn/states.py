"""Initial states of cells: zeros by default, checked when given."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.ops import check


def zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros of a shape on the device and of the dtype of `like`."""
    return tensor(np.zeros(shape, like.dtype), device=like.device)


def inputs(module: str, x: Any, letters: str, I: int, like: Tensor) -> Tensor:
    """`x` as a Tensor with the axes `letters` (such as ``"T B I"``), the last of which has the size `I`.

    Arrays take the device of `like`, the parameters.
    """
    x = as_tensor(x, device=None if isinstance(x, Tensor) else like.device)
    sizes = check.rank(module, "inputs", x.shape, letters)
    check.shape(module, "inputs", x.shape, letters.replace(" ", ", "), (*sizes[:-1], I), "input_size")
    return x


def state(module: str, name: str, value: Any, B: int, H: int, like: Tensor) -> Tensor:
    """A state (B, H), zeros if None.  Raises ValueError for another shape."""
    if value is None:
        return zeros((B, H), like)
    if isinstance(value, tuple):
        raise TypeError(
            f"{module}: {name} is a tuple of {len(value)}\n  expected (B, H) = {(B, H)}\n"
            "  a pair (c, h) is what LSTM cells take"
        )
    value = as_tensor(value, device=None if isinstance(value, Tensor) else like.device)
    check.shape(module, name, value.shape, "B, H", (B, H), f"inputs with B = {B} and num_units or hidden_size = {H}")
    return value
