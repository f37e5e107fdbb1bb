"""A backward pass in the order of a device's own hook, `HOOKS["walk"]` of `minirnn.devices.base`.

The hook sees numbers in place of Tensors. Its arguments are the parents of each variable and the gradients at which the
pass begins. It calls ``back(k, gradient)`` for the gradients that variable k sends to its parents, and ``add`` for the
sum of two. It does not need to know the type of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from minirnn.devices.base import Device
from minirnn.engine.outputs import Cotangents
from minirnn.engine.tensor import Tensor

Gradients = dict[Tensor, Any]


def walked(
    device: Device,
    seeds: Gradients,
    stops: Sequence[Tensor],
    targets: Collection[Tensor],
    wanted: Collection[Tensor] | None,
    after_hooks: Callable[..., Any],
    send: Callable[..., None],
) -> tuple[Gradients, Gradients] | None:
    """The gradients of the targets among the nodes, and those of leaves. None if the hook cannot order the pass.

    `stops`, `targets` and `wanted` are those of `minirnn.engine.order`, `send` and `after_hooks` those of the pass.
    """
    nodes = [t for t in reversed(stops) if t.op is not None]
    parents = {
        t: [p for p in dict.fromkeys(t.parents) if p._requires_grad and (wanted is None or p in wanted)] for t in nodes
    }
    ends = dict.fromkeys(p for t in nodes for p in parents[t] if p not in parents)
    ends |= dict.fromkeys(r for r in seeds if r not in parents)
    variables = [*ends, *nodes]
    number = {t: k for k, t in enumerate(variables)}
    found: Gradients = {}

    def back(k: int, gradient: Any) -> dict[int, Any]:
        t, sent = variables[k], Gradients()
        if t.hooks is not None:
            gradient = after_hooks(t, gradient, False)
        if t in targets:
            found[t] = gradient
        send(t, t.op, gradient, sent, wanted, False)
        return {number[p]: g for p, g in sent.items()}

    made = [(number[t], [number[p] for p in parents[t]]) for t in nodes]
    gradients = device.hooks["walk"](len(variables), made, [(number[r], g) for r, g in seeds.items()], back, added)
    if gradients is NotImplemented:
        return None
    return found, {t: g for t, g in zip(ends, gradients, strict=False) if g is not None}


def added(a: Any, b: Any) -> Any:
    """The sum of two gradients of one variable."""
    if a.__class__ is Cotangents:
        total = Cotangents(a)
        total.join(b)
        return total
    return a + b
