"""Gradient descent, with and without momentum."""

from __future__ import annotations

from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, only_default


class SGD(Optimizer):
    """Gradient descent, with momentum (Polyak 1964) or Nesterov's form of it (Sutskever et al. 2013).

    ::

        g = grad + weight_decay * p                                 # with maximize: -grad + weight_decay * p
        m = g in the first step, then momentum * m + (1 - dampening) * g              # with momentum
        p = p - lr * (g + momentum * m if nesterov else m)          # without momentum: p - lr * g

    Parameters
    ----------
    params : iterable of Tensor, of (str, Tensor), or of dict
        Parameters, or groups of them (see `Optimizer`).
    lr : float
        The step size, 0 or more.
    momentum : float
        How much of m is kept each step, 0 or more; 0 is plain gradient descent.
    dampening : float
        How much of the gradient does not enter m, from the second step on.
    weight_decay : float
        How much of each parameter is added to its gradient, 0 or more.
    nesterov : bool
        Whether to look ahead along m; this needs momentum, and no dampening.
    maximize : bool
        Whether to climb instead.
    foreach, differentiable, fused
        As torch has them; only their defaults, None and False.

    Raises
    ------
    TypeError, ValueError
        A parameter or a setting is none.
    """

    settings = {
        "lr": at_least_zero,
        "momentum": at_least_zero,
        "dampening": check.number,
        "weight_decay": at_least_zero,
        "nesterov": check.flag,
        "maximize": check.flag,
        "foreach": only_default,
        "differentiable": only_default,
        "fused": only_default,
    }
    remembered = {"momentum_buffer": "m"}

    momentum, dampening = Setting("momentum"), Setting("dampening")
    weight_decay, nesterov, maximize = Setting("weight_decay"), Setting("nesterov"), Setting("maximize")

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def checked(self, group: Any) -> dict[str, Any]:
        group = super().checked(group)
        if group.get("nesterov"):
            if group["momentum"] == 0:
                raise ValueError("SGD: nesterov without momentum\n  expected momentum above 0, usually 0.9")
            if group["dampening"] != 0:
                raise ValueError(f"SGD: nesterov with dampening {group['dampening']}\n  expected dampening 0")
        return group

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        momentum = group["momentum"]
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        if momentum:
            m = memory.get("momentum_buffer")
            if m is None:
                m = g
            elif group["dampening"]:
                m = momentum * m + (1 - group["dampening"]) * g
            else:
                m = momentum * m + g
            memory["momentum_buffer"] = m
            g = g + momentum * m if group["nesterov"] else m
        return p - group["lr"] * g
