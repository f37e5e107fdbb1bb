"""``log(1 + exp(x))`` without overflow."""

from __future__ import annotations

from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import absolute, exp, log1p, relu, sigmoid


class Softplus(Op):
    """y = log(1 + exp(x))      dx = dy * sigmoid(x)"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * sigmoid(x),)


SOFTPLUS = Softplus()


def log_one_plus_exp(x: Tensor) -> Tensor:
    """``log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))``, without overflow, and exact where it is small.

    It is a separate op because ``max`` and ``|x|`` have kinks at 0, where their combination is smooth.
    """
    constant = x.detach()
    y = relu(constant) + log1p(exp(-absolute(constant)))
    return record(SOFTPLUS, x.device, y.array, (x,))
