"""NAdam: Adam that looks ahead along its mean of gradients, as Nesterov's momentum does."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, only_default, two_betas


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

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups of them (see `Optimizer`).
    lr : float
        The step size, 0 or more.
    betas : (float, float)
        How much of the means m and v is kept each step; 0 <= beta < 1.
    eps : float
        Keeps the divisor away from 0; 0 or more.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    momentum_decay : float
        How fast mu grows from beta1 / 2 to beta1, 0 or more.
    decoupled_weight_decay : bool
        Whether weight decay shrinks the parameters themselves, as in `AdamW`.
    maximize : bool
        Whether to climb: the gradient is taken with the other sign.
    foreach, capturable, differentiable
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
        "momentum_decay": at_least_zero,
        "decoupled_weight_decay": check.flag,
        "maximize": check.flag,
        "foreach": only_default,
        "capturable": only_default,
        "differentiable": only_default,
    }
    remembered = {"step": "step", "mu_product": "M", "exp_avg": "m", "exp_avg_sq": "v"}
    needed = ("step", "mu_product", "exp_avg", "exp_avg_sq")

    betas, beta1, beta2 = Setting("betas"), Setting("betas", 0), Setting("betas", 1)
    eps, weight_decay, momentum_decay = Setting("eps"), Setting("weight_decay"), Setting("momentum_decay")
    decoupled_weight_decay, maximize = Setting("decoupled_weight_decay"), Setting("maximize")

    def __init__(
        self,
        params: Params,
        lr: float = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 0.004,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["momentum_decay"]
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            if group["decoupled_weight_decay"]:
                p = (1 - lr * group["weight_decay"]) * p
            else:
                g = g + group["weight_decay"] * p
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
