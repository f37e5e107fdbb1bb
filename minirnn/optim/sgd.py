"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.ops import check
from minirnn.optim.optimizer import Optimizer, at_least_zero


class SGD(Optimizer):
    """Gradient descent, with momentum (Polyak 1964) or Nesterov's form of it (Sutskever et al. 2013).

    ::

        g = grad + weight_decay * p
        m = g in the first step, then momentum * m + g              # with momentum > 0
        p = p - lr * (g + momentum * m if nesterov else m)          # without momentum: p - lr * g

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
        The step size, 0 or more.
    momentum : float
        How much of m is kept each step, 0 or more; 0 is plain gradient descent.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    nesterov : bool
        Whether to look ahead along m; this needs momentum.
    """

    settings = ("lr", "momentum", "weight_decay", "nesterov")
    remembered = ("m",)

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(parameters)
        self.configure(lr, momentum, weight_decay, nesterov)

    def configure(self, lr: float, momentum: float, weight_decay: float, nesterov: bool) -> None:
        self.lr = at_least_zero("SGD", "lr", lr)
        self.momentum = at_least_zero("SGD", "momentum", momentum)
        self.weight_decay = at_least_zero("SGD", "weight_decay", weight_decay)
        self.nesterov = check.flag("SGD", "nesterov", nesterov)
        if self.nesterov and self.momentum == 0:
            raise ValueError("SGD: nesterov without momentum\n  expected momentum above 0, usually 0.9")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any]) -> Tensor:
        if self.weight_decay:
            g = g + self.weight_decay * p
        if self.momentum:
            m = memory["m"] = self.momentum * memory["m"] + g if "m" in memory else g
            g = g + self.momentum * m if self.nesterov else m
        return p - self.lr * g
