"""softmax, log_softmax and softmin along an axis that must be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import one_dim, widened
from minirnn.ops import primitives


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along `dim`, without overflow: ``torch.nn.functional.softmax``.

    Parameters
    ----------
    input : array_like of a floating dtype
    dim : int
        The axis. `axis` is minirnn's name for it. If it is missing, torch guesses it and warns. Here that is an error.
    dtype : dtype, optional
        The dtype to convert `input` to beforehand.
    """
    return _along("softmax", primitives.softmax, input, dim, axis, dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``log(softmax(x))`` along `dim`, without overflow or underflow: ``torch.nn.functional.log_softmax``.

    The arguments and errors are those of `softmax`.
    """
    return _along("log_softmax", primitives.log_softmax, input, dim, axis, dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``softmax(-x)`` along `dim`: ``torch.nn.functional.softmin``. The arguments and errors are those of `softmax`."""
    return _along("softmin", lambda x, k: primitives.softmax(-x, k), input, dim, axis, dtype)


def _along(op: str, function: Callable[[Tensor, int], Tensor], input: Any, dim: Any, axis: Any, dtype: Any) -> Tensor:
    k = one_dim(op, dim, axis)
    x, made_of = widened(op, input if dtype is None else primitives.astype(input, dtype))
    return function(x, k).astype(made_of)
