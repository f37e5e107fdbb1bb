"""ASGD: gradient descent that also keeps the mean of the parameters over the steps."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import at_least_zero, only_default, setting


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky 1992). The mean is ``optimizer.state[p]["ax"]``.

    ::

        g = grad + weight_decay * p
        p = (1 - lambd * eta) * p - eta * g                              # eta starts at lr, and mu at 1
        a = p if mu == 1 else a + mu * (p - a)
        eta = lr / (1 + lambd * lr * step) ** alpha
        mu = 1 / max(1, step - t0)
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.01)
    lambd: float = setting(check.number, "How fast parameters and step size fall.", default=1e-4)
    alpha: float = setting(check.number, "The exponent with which the step size falls.", default=0.75)
    t0: float = setting(check.number, "The step after which averaging begins.", default=1e6)
    weight_decay: float = setting(at_least_zero, default=0)
    foreach: bool | None = setting(only_default, default=None)
    maximize: bool = setting(check.flag, default=False)
    differentiable: bool = setting(only_default, default=False)
    capturable: bool = setting(only_default, default=False)
    _: KW_ONLY

    _remembered = {"step": "step", "eta": "eta", "mu": "mu", "ax": "a"}
    _needed = ("step", "eta", "mu", "ax")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        p, g = with_decay(p, g, group)
        lr, lambd = group["lr"], group["lambd"]
        step = memory["step"] = memory.get("step", 0) + 1
        eta, mu = memory.get("eta", lr), memory.get("mu", 1.0)
        p = (1 - lambd * eta) * p - eta * g
        memory["ax"] = p if mu == 1 else memory["ax"] + mu * (p - memory["ax"])
        memory["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
        memory["mu"] = 1 / max(1.0, step - group["t0"])
        return p
