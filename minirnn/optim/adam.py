"""Adam: steps whose size follows from running means of the gradient and of its square."""

from __future__ import annotations

import math
from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives import maximum, sqrt
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, only_default, two_betas


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015), as in torch: eps is added after the bias correction.

    ::

        g = grad + weight_decay * p                                   # decoupled: p = p - lr * weight_decay * p instead
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g                           # both start at 0
        vmax = the largest v so far                                   # with amsgrad; without it vmax = v
        p = p - lr * (m / (1 - beta1**step)) / (sqrt(vmax / (1 - beta2**step)) + eps)

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups of them (see `Optimizer`).
    lr : float
        The step size, 0 or more: about how far each number moves in one step.
    betas : (float, float)
        How much of the means m and v is kept each step; 0 <= beta < 1.
    eps : float
        Keeps the divisor away from 0; 0 or more.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    amsgrad : bool
        Whether to divide by the largest v so far (Reddi et al. 2018).
    maximize : bool
        Whether to climb: the gradient is taken with the other sign.
    decoupled_weight_decay : bool
        Whether weight decay shrinks the parameters themselves, as in `AdamW`.
    foreach, capturable, differentiable, fused
        As torch has them; only their defaults, None and False.

    Raises
    ------
    TypeError, ValueError
        A parameter or a setting is none.
    """

    settings = {
        "lr": at_least_zero,
        "betas": two_betas,
        "eps": at_least_zero,
        "weight_decay": at_least_zero,
        "amsgrad": check.flag,
        "maximize": check.flag,
        "foreach": only_default,
        "capturable": only_default,
        "differentiable": only_default,
        "fused": only_default,
        "decoupled_weight_decay": check.flag,
    }
    remembered = {"step": "step", "exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "vmax"}
    needed = ("step", "exp_avg", "exp_avg_sq")

    betas, beta1, beta2 = Setting("betas"), Setting("betas", 0), Setting("betas", 1)
    eps, weight_decay, amsgrad = Setting("eps"), Setting("weight_decay"), Setting("amsgrad")
    maximize, decoupled_weight_decay = Setting("maximize"), Setting("decoupled_weight_decay")

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                p = (1 - lr * group["weight_decay"]) * p
            else:
                g = g + group["weight_decay"] * p
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
        # The corrections are Python numbers: two products on small scalars instead of two more on whole arrays.
        scale = lr / (1 - beta1**step)
        return p - scale * m / (sqrt(v) * (1 / math.sqrt(1 - beta2**step)) + group["eps"])
