"""NAdam: Adam with a look ahead along the mean of the gradients, as in Nesterov's momentum."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import Setting, at_least_zero, only_default, setting, two_betas


class NAdam(Optimizer):
    """NAdam (Dozat 2016), as in torch.

    ::

        g = grad + weight_decay * p                                   # decoupled: p = p - lr * weight_decay * p instead
        mu_k = beta1 * (1 - 0.96**(k * momentum_decay) / 2)           # for k = step and step + 1
        M = mu_1 * mu_2 * ... * mu_step
        m = beta1 * m + (1 - beta1) * g                               # both start at 0
        v = beta2 * v + (1 - beta2) * g * g
        d = sqrt(v / (1 - beta2**step)) + eps
        p = p - lr * ((1 - mu_step) / (1 - M) * g + mu_(step+1) / (1 - M * mu_(step+1)) * m) / d
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.002)
    betas: tuple[float, float] = setting(two_betas, default=(0.9, 0.999))
    eps: float = setting(at_least_zero, default=1e-8)
    weight_decay: float = setting(at_least_zero, default=0)
    momentum_decay: float = setting(
        at_least_zero, "How fast mu grows from beta1 / 2 to beta1, 0 or more.", default=0.004
    )
    decoupled_weight_decay: bool = setting(check.flag, default=False)
    _: KW_ONLY
    foreach: bool | None = setting(only_default, default=None)
    maximize: bool = setting(check.flag, default=False)
    capturable: bool = setting(only_default, default=False)
    differentiable: bool = setting(only_default, default=False)
    beta1, beta2 = Setting(name="betas", part=0), Setting(name="betas", part=1)

    _remembered = {"step": "step", "mu_product": "M", "exp_avg": "m", "exp_avg_sq": "v"}
    _needed = ("step", "mu_product", "exp_avg", "exp_avg_sq")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["momentum_decay"]
        p, g = with_decay(p, g, group)
        step = memory.get("step", 0) + 1
        mu = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        product = memory.get("mu_product", 1.0) * mu
        m, v = (1 - beta1) * g, (1 - beta2) * (g * g)
        if step > 1:
            m = beta1 * memory["exp_avg"] + m
            v = beta2 * memory["exp_avg_sq"] + v
        memory.update(step=step, mu_product=product, exp_avg=m, exp_avg_sq=v)
        d = sqrt(v * (1 / (1 - beta2**step))) + group["eps"]
        towards_g, towards_m = lr * (1 - mu) / (1 - product), lr * mu_next / (1 - product * mu_next)
        return p - (towards_g * g + towards_m * m) / d
