"""The walk of `Tensor.backward`, written out: each node in its turn, and all that it sends to its inputs.

The calls are those of `minirnn.engine.backward`, in the same order, so every number here is the number there,
to the last bit. What is left out is what makes that walk fast, and what it leaves behind: here no `grad` changes and
no tape is freed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from minirnn.devices.base import sum_to_shape
from minirnn.engine.op import FREED
from minirnn.engine.outputs import Cotangents, backward_of
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, leaf
from minirnn.engine.writing import reads

Gradient = Any
"""The device's array; for an op with several outputs `Cotangents`: an array for each output that got one."""


class Visit(NamedTuple):
    """A node of the tape when its turn has come."""

    node: Tensor
    arrives: Gradient
    """The sum of what all its uses sent."""
    sends: tuple[tuple[Tensor, Gradient, Gradient], ...]
    """(input, what this use sends to it, what it has collected so far), in the order of the inputs."""


def check_whole(nodes: list[Tensor], function: str) -> None:
    """Raise RuntimeError if a backward pass has freed a part of the tape."""
    if any(t.op is FREED for t in nodes):
        raise RuntimeError(
            f"{function}: this tape was freed by a backward pass\n"
            "  expected one that is still there: look at it before, or call backward(retain_graph=True)"
        )


def check_unchanged(nodes: list[Tensor], changed: Mapping[Tensor, str], function: str) -> None:
    """Raise RuntimeError if a value that the backward pass reads was `changed`, or assigned to."""
    for t in nodes:
        if t.op is None:
            continue
        if t in changed or any(p.seq > t.seq and reads(t.op, t.parents, p) for p in t.parents):
            raise RuntimeError(
                f"{function}: an input of {t.op.name} was changed by {changed.get(t, 'assign()')} after use\n"
                "  expected the values of the forward pass"
            )


def visits(loss: Tensor, nodes: list[Tensor]) -> Iterator[Visit]:
    """Walk back from `loss`, of shape (), through all `nodes` of its tape, newest first.

    Hooks are called as in a backward pass, because they may replace a gradient. Those of `retain_grad` are not called.
    """
    collected: dict[Tensor, Gradient] = {loss: loss.device.full((), 1, loss.dtype)}
    for node in sorted(nodes, key=lambda t: t.seq, reverse=True):
        if node.op is None or node not in collected:
            continue
        with no_grad():
            arrives = after_hooks(node, collected.pop(node))
            sends = []
            for p, g in zip(node.parents, _sent(node, arrives), strict=True):
                if g is None or not p.requires_grad:
                    continue
                if node.op.broadcasts and (g.shape != p.shape or g.dtype != p.dtype):
                    g = p.device.cast(sum_to_shape(p.device, g, p.shape), p.dtype)
                if isinstance(g, Cotangents) and p in collected:
                    collected[p].join(g)
                else:
                    collected[p] = collected[p] + g if p in collected else g
                sends.append((p, g, collected[p]))
        yield Visit(node, arrives, tuple(sends))


def _sent(node: Tensor, dy: Gradient) -> list[Gradient | None]:
    """What the op of one node sends to each of its inputs."""
    op: Any = node.op
    if op.arithmetic:
        return list(op.backward(dy, node.array, *[p.array for p in node.parents]))
    return list(backward_of(op, node, dy, bare=True))


def after_hooks(t: Tensor, g: Gradient) -> Gradient:
    """The gradient that the hooks of `t` make of `g`."""
    for hook in t.hooks or ():
        changed = None if getattr(hook, "retains", False) else hook(leaf(t.device, g))
        g = g if changed is None else changed.array
    return g
