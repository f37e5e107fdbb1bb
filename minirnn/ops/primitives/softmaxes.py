"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.arguments.host_array import float_dtype
from minirnn.engine.operands import float_tensor
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.declare import Along, op
from minirnn.ops.primitives.elementwise import exp
from minirnn.ops.primitives.reductions import summed
from minirnn.ops.primitives.shapes import Reshape

__all__ = ["softmax", "log_softmax"]


class Softmax(Along, uses="softmax", reads="y"):
    """y = exp(x) / sum exp(x)      dx = y * (dy - sum(dy * y))        sums along axis"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (y * (dy - summed(dy * y, self.axis)),)


class LogSoftmax(Along, uses="log_softmax", reads="y"):
    """y = x - log sum exp(x)       dx = dy - exp(y) * sum(dy)         sums along axis"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy - exp(y) * summed(dy, self.axis),)


@op(Softmax)
def softmax(x: Any, axis: int = check.LAST, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along `axis` (torch: `dim`), without overflow, in `dtype` if one is given."""
    return _along("softmax", Softmax, x, axis, dim, dtype)


@op(LogSoftmax)
def log_softmax(x: Any, axis: int = check.LAST, *, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``log(softmax(x))`` along `axis` (torch: `dim`), without overflow or underflow, in `dtype` if one is given."""
    return _along("log_softmax", LogSoftmax, x, axis, dim, dtype)


def _along(op: str, kind: type[Along], x: Any, axis: int, dim: int | None, dtype: Any) -> Tensor:
    x = float_tensor(op, x if dtype is None else as_tensor(x).astype(float_dtype(op, dtype)))
    k = check.axis(op, axis, x.ndim, dim, scalar=True)
    return kind(k)(x) if x.ndim else Reshape(())(kind(0)(Reshape((1,))(x)))
