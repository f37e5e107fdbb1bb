"""Checks of the input of a recurrent layer, a sequence in any of three layouts."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.states import check_place, exchanged
from minirnn.ops.primitives import expand_dims, transpose


def time_major(
    name: str, input: Any, like: Tensor, I: int, H: int, batch_first: bool, lengths: Any
) -> tuple[Tensor, bool]:
    """The input as a Tensor (T, B, I) with the dtype and device of `like`, and whether it has a batch axis.

    Raises TypeError or ValueError if a shape, the dtype or the device does not fit, T is 0, or `lengths` are given
    without a batch.
    """
    letters = "(B, T, I)" if batch_first else "(T, B, I)"
    x = input if isinstance(input, Tensor) else as_tensor(input, device=like.device)
    if x.device is not like.device or x.dtype != like.dtype:
        check_place(name, "input", x, like.dtype, like.device)
    batched = x.ndim == 3
    if x.ndim not in (2, 3):
        raise ValueError(f"{name}: input has shape {x.shape}\n  expected {letters}, or (T, I) without a batch")
    if x.shape[-1] != I:
        swapped = "\n  likely features and time are exchanged" if I in x.shape else ""
        if not swapped and x.shape[-1] == H:
            swapped = f"\n  {exchanged(name, ('input_size', 'hidden_size'))}"
        raise ValueError(f"{name}: input has shape {x.shape}\n  expected {I} (I = input_size) at its end{swapped}")
    if not batched:
        if lengths is not None:
            raise ValueError(f"{name}: lengths were given for an input of shape {x.shape}\n  expected {letters}")
        x = expand_dims(x, 1)
    elif batch_first:
        x = transpose(x, (1, 0, 2))
    if not x.shape[0]:
        check.positive(name, "T", 0, "input")
    return x, batched
