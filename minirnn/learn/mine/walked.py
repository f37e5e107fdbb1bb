"""The backward pass on a device whose learner walks over the tape: `minirnn.engine.backward.go_back` as numbers.

The learner's walk gets the variables as numbers and the nodes of the tape, oldest first, as ``(variable, parents)``. It
calls ``back(k, gradient)`` for the gradients that variable k sends to its parents, and ``add`` for the sum of two. It
does not need to know the type of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minirnn.engine.anomaly import anomaly
from minirnn.engine.backward import after_hooks, send
from minirnn.engine.outputs import Cotangents
from minirnn.engine.tensor import Tensor
from minirnn.learn.mine.tasks import answered, has_answer

Gradients = dict[Tensor, Any]


def go_back(
    original: Callable[..., Gradients],
    stops: Sequence[Tensor],
    arrived: Gradients,
    targets: Any,
    wanted: Any,
    create_graph: bool,
) -> Gradients:
    """The pass in the learner's order, if his walk can order it."""
    device = next(iter(arrived)).device if arrived else None
    if create_graph or anomaly.lines is not None or not has_answer(device, "walk"):
        return original(stops, arrived, targets, wanted, create_graph)
    nodes = [t for t in reversed(stops) if t.op is not None]
    parents = {
        t: [p for p in dict.fromkeys(t.parents) if p._requires_grad and (wanted is None or p in wanted)] for t in nodes
    }
    ends = dict.fromkeys(p for t in nodes for p in parents[t] if p not in parents)
    ends |= dict.fromkeys(r for r in arrived if r not in parents)
    variables = [*ends, *nodes]
    number = {t: k for k, t in enumerate(variables)}
    found: Gradients = {}

    def back(k: int, gradient: Any) -> dict[int, Any]:
        t, sent = variables[k], Gradients()
        if t.hooks is not None:
            gradient = after_hooks(t, gradient, False)
        if targets and t in targets:
            found[t] = gradient
        send(t, t.op, gradient, sent, wanted, False)
        return {number[p]: g for p, g in sent.items()}

    made = [(number[t], [number[p] for p in parents[t]]) for t in nodes]
    seeds = [(number[r], g) for r, g in arrived.items()]
    gradients = answered(device, "walk", len(variables), made, seeds, back, added)
    if gradients is NotImplemented:
        return original(stops, arrived, targets, wanted, create_graph)
    arrived.clear()
    arrived.update((t, g) for t, g in zip(ends, gradients, strict=False) if g is not None)
    return found


def added(a: Any, b: Any) -> Any:
    """The sum of two gradients of one variable."""
    if a.__class__ is Cotangents:
        total = Cotangents(a)
        total.join(b)
        return total
    return a + b
