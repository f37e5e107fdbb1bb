"""Adagrad: the step of each value is divided by the root of the sum of its squared gradients."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import at_least_zero, only_default, setting


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011).

    ::

        g = grad + weight_decay * p
        s = s + g * g                                                 # starts at initial_accumulator_value
        p = p - lr / (1 + (step - 1) * lr_decay) * g / (sqrt(s) + eps)
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.01)
    lr_decay: float = setting(at_least_zero, "How fast the step size itself falls, 0 or more.", default=0)
    weight_decay: float = setting(at_least_zero, default=0)
    initial_accumulator_value: float = setting(
        at_least_zero, "Where the sum s starts, 0 or more; the same for all groups, as in torch.", default=0
    )
    eps: float = setting(at_least_zero, default=1e-10)
    foreach: bool | None = setting(only_default, default=None)
    _: KW_ONLY
    maximize: bool = setting(check.flag, default=False)
    differentiable: bool = setting(only_default, default=False)
    fused: bool | None = setting(only_default, default=None)

    _remembered = {"step": "step", "sum": "s"}
    _needed = ("step", "sum")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        p, g = with_decay(p, g, group)
        step = memory["step"] = memory.get("step", 0) + 1
        before = memory.get("sum", self.defaults["initial_accumulator_value"])
        s = memory["sum"] = before + g * g
        rate = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        return p - rate * g / (sqrt(s) + group["eps"])
