"""Adadelta: steps in the units of the parameters, by two running means of squares."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import at_least_zero, only_default, setting, share


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012), with the step size `lr` that torch adds, 1 by default.

    ::

        g = grad + weight_decay * p
        v = rho * v + (1 - rho) * g * g                               # starts at 0
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d                               # starts at 0
        p = p - lr * d
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, "Factor of each step, 0 or more.", default=1.0)
    rho: float = setting(share, "How much of the means v and u is kept each step, 0 .. 1.", default=0.9)
    eps: float = setting(
        at_least_zero,
        "Lets the first steps be more than 0 and keeps the divisor away from it; 0 or more.",
        default=1e-6,
    )
    weight_decay: float = setting(at_least_zero, default=0)
    foreach: bool | None = setting(only_default, default=None)
    _: KW_ONLY
    capturable: bool = setting(only_default, default=False)
    maximize: bool = setting(check.flag, default=False)
    differentiable: bool = setting(only_default, default=False)

    _remembered = {"step": "step", "square_avg": "v", "acc_delta": "u"}
    _needed = ("step", "square_avg", "acc_delta")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        rho, eps = group["rho"], group["eps"]
        p, g = with_decay(p, g, group)
        memory["step"] = memory.get("step", 0) + 1
        v = (1 - rho) * (g * g)
        if "square_avg" in memory:
            v = rho * memory["square_avg"] + v
        u = memory.get("acc_delta")
        d = (math.sqrt(eps) if u is None else sqrt(u + eps)) / sqrt(v + eps) * g
        moved = (1 - rho) * (d * d)
        memory["square_avg"], memory["acc_delta"] = v, moved if u is None else rho * u + moved
        return p - group["lr"] * d
