"""Adam: steps whose size follows from running means of the gradient and of its square."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.messages import shown
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, at_least_zero


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015), as in torch: eps is added after the bias correction.

    ::

        g = grad + weight_decay * p
        m = beta1 * m + (1 - beta1) * g                  v = beta2 * v + (1 - beta2) * g * g        # both start at 0
        p = p - lr * (m / (1 - beta1**step)) / (sqrt(v / (1 - beta2**step)) + eps)

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
        The step size, 0 or more: about how far each number moves in one step.
    betas : (float, float)
        How much of the means m and v is kept each step; 0 <= beta < 1.
    eps : float
        Keeps the divisor away from 0; 0 or more.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    """

    settings = ("lr", "beta1", "beta2", "eps", "weight_decay")
    remembered = ("step", "m", "v")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"Adam: betas is {shown(betas)}\n  expected a pair of numbers")
        self.configure(lr, *betas, eps, weight_decay)

    def configure(self, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float) -> None:
        self.lr = at_least_zero("Adam", "lr", lr)
        self.beta1, self.beta2 = at_least_zero("Adam", "beta1", beta1), at_least_zero("Adam", "beta2", beta2)
        if self.beta1 >= 1 or self.beta2 >= 1:
            raise ValueError(f"Adam: betas are {beta1} and {beta2}\n  expected 0 <= beta < 1")
        self.eps = at_least_zero("Adam", "eps", eps)
        self.weight_decay = at_least_zero("Adam", "weight_decay", weight_decay)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any]) -> Tensor:
        if self.weight_decay:
            g = g + self.weight_decay * p
        step = memory["step"] = memory.get("step", 0) + 1
        m = (1 - self.beta1) * g
        v = (1 - self.beta2) * (g * g)
        if step > 1:
            m = self.beta1 * memory["m"] + m
            v = self.beta2 * memory["v"] + v
        memory["m"], memory["v"] = m, v
        # The corrections are Python numbers: two products on small scalars instead of two more on whole arrays.
        scale = self.lr / (1 - self.beta1**step)
        return p - scale * m / (sqrt(v) * (1 / math.sqrt(1 - self.beta2**step)) + self.eps)
