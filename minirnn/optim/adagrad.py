"""Adagrad: each number's step is divided by the root of the sum of its squared gradients."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import sqrt
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, only_default


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011).

    ::

        g = grad + weight_decay * p
        s = s + g * g                                                 # starts at initial_accumulator_value
        p = p - lr / (1 + (step - 1) * lr_decay) * g / (sqrt(s) + eps)

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups of them (see `Optimizer`).
    lr : float
        The step size, 0 or more.
    lr_decay : float
        How fast the step size itself falls, 0 or more.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    initial_accumulator_value : float
        Where the sum s starts, 0 or more; the same for all groups, as in torch.
    eps : float
        Keeps the divisor away from 0; 0 or more.
    maximize : bool
        Whether to climb: the gradient is taken with the other sign.
    foreach, differentiable, fused
        As torch has them; only their defaults, None and False.

    Raises
    ------
    TypeError, ValueError
        A parameter or a setting is none.
    """

    settings = {
        "lr": at_least_zero,
        "lr_decay": at_least_zero,
        "eps": at_least_zero,
        "weight_decay": at_least_zero,
        "initial_accumulator_value": at_least_zero,
        "foreach": only_default,
        "maximize": check.flag,
        "differentiable": only_default,
        "fused": only_default,
    }
    remembered = {"step": "step", "sum": "s"}
    needed = ("step", "sum")

    lr_decay, eps, weight_decay = Setting("lr_decay"), Setting("eps"), Setting("weight_decay")
    initial_accumulator_value, maximize = Setting("initial_accumulator_value"), Setting("maximize")

    def __init__(
        self,
        params: Params,
        lr: float = 0.01,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        step = memory["step"] = memory.get("step", 0) + 1
        before = memory.get("sum", self.defaults["initial_accumulator_value"])
        s = memory["sum"] = before + g * g
        rate = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        return p - rate * g / (sqrt(s) + group["eps"])
