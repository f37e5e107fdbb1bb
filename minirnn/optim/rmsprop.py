"""RMSprop: the step of each value is divided by the root of the mean square of its gradients."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import at_least_zero, only_default, setting


class RMSprop(Optimizer):
    """RMSprop (Tieleman & Hinton 2012; centered: Graves 2013), as in torch: eps is added to the root.

    ::

        g = grad + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g                           # starts at 0
        a = alpha * a + (1 - alpha) * g                               # with centered; starts at 0
        d = sqrt(v - a * a if centered else v) + eps
        m = momentum * m + g / d                                      # with momentum; starts at 0
        p = p - lr * (m if momentum else g / d)
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.01)
    alpha: float = setting(at_least_zero, "How much of the means v and a is kept each step, 0 or more.", default=0.99)
    eps: float = setting(at_least_zero, default=1e-8)
    weight_decay: float = setting(at_least_zero, default=0)
    momentum: float = setting(at_least_zero, "How much of m is kept each step, 0 or more.", default=0)
    centered: bool = setting(check.flag, "Whether to divide by the deviation from the mean gradient.", default=False)
    capturable: bool = setting(only_default, default=False)
    foreach: bool | None = setting(only_default, default=None)
    maximize: bool = setting(check.flag, default=False)
    differentiable: bool = setting(only_default, default=False)

    _remembered = {"step": "step", "square_avg": "v", "momentum_buffer": "m", "grad_avg": "a"}
    _needed = ("step", "square_avg")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        alpha, momentum = group["alpha"], group["momentum"]
        p, g = with_decay(p, g, group)
        memory["step"] = memory.get("step", 0) + 1
        v = (1 - alpha) * (g * g)
        if "square_avg" in memory:
            v = alpha * memory["square_avg"] + v
        memory["square_avg"] = v
        if group["centered"]:
            a = (1 - alpha) * g
            if "grad_avg" in memory:
                a = alpha * memory["grad_avg"] + a
            memory["grad_avg"] = a
            v = v - a * a
        g = g / (sqrt(v) + group["eps"])
        if momentum:
            if "momentum_buffer" in memory:
                g = momentum * memory["momentum_buffer"] + g
            memory["momentum_buffer"] = g
        return p - group["lr"] * g
