"""RMSprop: each number's step is divided by the root of the mean square of its gradients."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, only_default


class RMSprop(Optimizer):
    """RMSprop (Tieleman & Hinton 2012; centered: Graves 2013), as in torch: eps is added to the root.

    ::

        g = grad + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g                           # starts at 0
        a = alpha * a + (1 - alpha) * g                               # with centered; starts at 0
        d = sqrt(v - a * a if centered else v) + eps
        m = momentum * m + g / d                                      # with momentum; starts at 0
        p = p - lr * (m if momentum else g / d)

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups of them (see `Optimizer`).
    lr : float
        The step size, 0 or more.
    alpha : float
        How much of the means v and a is kept each step, 0 or more.
    eps : float
        Keeps the divisor away from 0; 0 or more.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    momentum : float
        How much of m is kept each step, 0 or more.
    centered : bool
        Whether to divide by the deviation from the mean gradient.
    maximize : bool
        Whether to climb: the gradient is taken with the other sign.
    capturable, foreach, differentiable
        As torch has them; only their defaults, None and False.

    Raises
    ------
    TypeError, ValueError
        A parameter or a setting is none.
    """

    settings = {
        "lr": at_least_zero,
        "momentum": at_least_zero,
        "alpha": at_least_zero,
        "eps": at_least_zero,
        "centered": check.flag,
        "weight_decay": at_least_zero,
        "capturable": only_default,
        "foreach": only_default,
        "maximize": check.flag,
        "differentiable": only_default,
    }
    remembered = {"step": "step", "square_avg": "v", "momentum_buffer": "m", "grad_avg": "a"}
    needed = ("step", "square_avg")

    alpha, eps, momentum = Setting("alpha"), Setting("eps"), Setting("momentum")
    weight_decay, centered, maximize = Setting("weight_decay"), Setting("centered"), Setting("maximize")

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        alpha, momentum = group["alpha"], group["momentum"]
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
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
