"""The backward pass of `Tensor.backward` as visits of nodes, with the gradients that each sends to its inputs.

It makes the same calls as `minirnn.engine.backward` in the same order, so all values are the same to the last bit. It
leaves out the code for speed and the side effects: no `grad` changes and no tape is freed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from minirnn.engine.op import FREED
from minirnn.engine.outputs import Cotangents, backward_of
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, leaf
from minirnn.engine.writing import reads

Gradient = Any
"""An array of the device. For an op with several outputs, `Cotangents` with an array for each that has a gradient."""


class Visit(NamedTuple):
    """The visit of a node of the tape."""

    node: Tensor
    arrives: Gradient
    """The sum of the gradients from all its uses."""
    sends: tuple[tuple[Tensor, Gradient, Gradient], ...]
    """(input, gradient from this use, sum so far), in the order of the inputs."""


def check_whole(nodes: list[Tensor], function: str) -> None:
    """Raise RuntimeError if a backward pass has freed a part of the tape."""
    if any(t.op is FREED for t in nodes):
        raise RuntimeError(
            f"{function}: this tape was freed by a backward pass\n"
            "  expected an intact tape: draw it before backward(), or call backward(retain_graph=True)"
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
                    g = p.device.cast(p.device.sum_to_shape(g, p.shape), p.dtype)
                if isinstance(g, Cotangents) and p in collected:
                    collected[p].join(g)
                else:
                    collected[p] = collected[p] + g if p in collected else g
                sends.append((p, g, collected[p]))
        yield Visit(node, arrives, tuple(sends))


def _sent(node: Tensor, dy: Gradient) -> list[Gradient | None]:
    """The gradients that the op of one node sends to its inputs."""
    op: Any = node.op
    if op.arithmetic:
        return list(op.backward(dy, node.array, *[p.array for p in node.parents]))
    return list(backward_of(op, node, dy, bare=True))


def after_hooks(t: Tensor, g: Gradient) -> Gradient:
    """The gradient `g` after the hooks of `t`."""
    for hook in t.hooks or ():
        changed = None if getattr(hook, "retains", False) else hook(leaf(t.device, g))
        g = g if changed is None else changed.array
    return g
