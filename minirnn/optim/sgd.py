"""Gradient descent, with and without momentum."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.optim.optimizer import Optimizer, Params, with_decay
from minirnn.optim.settings import at_least_zero, only_default, setting


class SGD(Optimizer):
    """Gradient descent, with momentum (Polyak 1964) or Nesterov's form of it (Sutskever et al. 2013).

    ::

        g = grad + weight_decay * p                                 # with maximize: -grad + weight_decay * p
        m = g in the first step, then momentum * m + (1 - dampening) * g              # with momentum
        p = p - lr * (g + momentum * m if nesterov else m)          # without momentum: p - lr * g
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.001)
    momentum: float = setting(
        at_least_zero, "How much of m is kept each step, 0 or more; 0 is plain gradient descent.", default=0
    )
    dampening: float = setting(
        check.number, "How much of the gradient does not enter m, from the second step on.", default=0
    )
    weight_decay: float = setting(at_least_zero, default=0)
    nesterov: bool = setting(
        check.flag, "Whether to look ahead along m; this needs momentum, and no dampening.", default=False
    )
    _: KW_ONLY
    maximize: bool = setting(check.flag, default=False)
    foreach: bool | None = setting(only_default, default=None)
    differentiable: bool = setting(only_default, default=False)
    fused: bool | None = setting(only_default, default=None)

    _remembered = {"momentum_buffer": "m"}

    def _checked(self, group: Any) -> dict[str, Any]:
        group = super()._checked(group)
        if group.get("nesterov"):
            if group["momentum"] == 0:
                raise ValueError("SGD: nesterov without momentum\n  expected momentum above 0, usually 0.9")
            if group["dampening"] != 0:
                raise ValueError(f"SGD: nesterov with dampening {group['dampening']}\n  expected dampening 0")
        return group

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        momentum = group["momentum"]
        p, g = with_decay(p, g, group)
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
