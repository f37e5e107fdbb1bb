"""Adam, with steps whose size follows from running means of the gradient and of its square, and AdamW."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives import maximum, sqrt
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import Setting, at_least_zero, only_default, setting, two_betas


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015), as in torch: eps is added after the bias correction.

    ::

        g = grad + weight_decay * p                                   # decoupled: p = p - lr * weight_decay * p instead
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g                           # both start at 0
        vmax = the largest v so far                                   # with amsgrad; without it vmax = v
        p = p - lr * (m / (1 - beta1**step)) / (sqrt(vmax / (1 - beta2**step)) + eps)
    """

    params: InitVar[Params]
    lr: float = setting(
        at_least_zero, "The step size, 0 or more: about how far each value moves in one step.", default=0.001
    )
    betas: tuple[float, float] = setting(two_betas, default=(0.9, 0.999))
    eps: float = setting(at_least_zero, default=1e-8)
    weight_decay: float = setting(at_least_zero, default=0)
    amsgrad: bool = setting(check.flag, "Whether to divide by the largest v so far (Reddi et al. 2018).", default=False)
    _: KW_ONLY
    foreach: bool | None = setting(only_default, default=None)
    maximize: bool = setting(check.flag, default=False)
    capturable: bool = setting(only_default, default=False)
    differentiable: bool = setting(only_default, default=False)
    fused: bool | None = setting(only_default, default=None)
    decoupled_weight_decay: bool = setting(check.flag, default=False)
    beta1, beta2 = Setting(name="betas", part=0), Setting(name="betas", part=1)

    _remembered = {"step": "step", "exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "vmax"}
    _needed = ("step", "exp_avg", "exp_avg_sq")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        p, g = with_decay(p, g, group)
        step = memory.get("step", 0) + 1
        kernel = None if group["amsgrad"] else p.device.kernel("adam")
        if kernel is not None:
            m, v = (memory[name].array if step > 1 else None for name in ("exp_avg", "exp_avg_sq"))
            settings = {"step": step, "lr": lr, "beta1": beta1, "beta2": beta2, "eps": group["eps"]}
            new = [leaf(p.device, a) for a in kernel(p.array, g.array, m, v, **settings)]
            memory["step"], memory["exp_avg"], memory["exp_avg_sq"] = step, new[1], new[2]
            return new[0]
        m = (1 - beta1) * g
        v = (1 - beta2) * (g * g)
        if step > 1:
            m = beta1 * memory["exp_avg"] + m
            v = beta2 * memory["exp_avg_sq"] + v
        memory["step"], memory["exp_avg"], memory["exp_avg_sq"] = step, m, v
        if group["amsgrad"]:
            largest = memory.get("max_exp_avg_sq")
            v = memory["max_exp_avg_sq"] = v if largest is None else maximum(largest, v)
        # The corrections are Python numbers, which saves two products on whole arrays.
        scale = lr / (1 - beta1**step)
        return p - scale * m / (sqrt(v) * (1 / math.sqrt(1 - beta2**step)) + group["eps"])


def is_decoupled(optimizer: str, name: str, value: Any) -> bool:
    """Always True."""
    if not check.flag(optimizer, name, value):
        raise ValueError(f"{optimizer}: {name} is False\n  expected True; without it, it is Adam")
    return True


class AdamW(Adam):
    """AdamW (Loshchilov & Hutter 2019): `Adam` with decoupled weight decay, 0.01 by default.

    ::

        p = p - lr * weight_decay * p                                 # instead of g = grad + weight_decay * p
        the rest as in Adam

    The decay does not pass through m and v, so each number shrinks by the same factor.
    """

    weight_decay: float = setting(
        at_least_zero, "How much each parameter is shrunk per step, times `lr`; 0 or more.", default=0.01
    )
    decoupled_weight_decay: bool = setting(is_decoupled, default=True, init=False)
