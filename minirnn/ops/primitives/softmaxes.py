"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.elementwise import exp, float_tensor


class Softmax(Op):
    """y = exp(x) / sum exp(x)      dx = y * (dy - sum(dy * y))        sums along axis"""

    reads_inputs = False

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (y * (dy - (dy * y).sum(axis=self.axis, keepdims=True)),)


class LogSoftmax(Op):
    """y = x - log sum exp(x)       dx = dy - exp(y) * sum(dy)         sums along axis"""

    reads_inputs = False

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy - exp(y) * dy.sum(axis=self.axis, keepdims=True),)


def softmax(x: Any, axis: int = check.LAST, *, dim: int | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along `axis` (in torch: `dim`), without overflow."""
    x = float_tensor("softmax", x)
    axis = check.axis("softmax", check.axis_or_dim("softmax", axis, dim), x.ndim)
    return record(Softmax(axis), x.device, x.device.softmax(x.array, axis), (x,))


def log_softmax(x: Any, axis: int = check.LAST, *, dim: int | None = None) -> Tensor:
    """``log(softmax(x))`` along `axis` (in torch: `dim`), without overflow or underflow."""
    x = float_tensor("log_softmax", x)
    axis = check.axis("log_softmax", check.axis_or_dim("log_softmax", axis, dim), x.ndim)
    return record(LogSoftmax(axis), x.device, x.device.log_softmax(x.array, axis), (x,))
