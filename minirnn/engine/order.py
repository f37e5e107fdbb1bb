"""The order of a backward pass: the Tensors that it visits, newest first.

Each new Tensor gets a larger number (``seq``), so sorting by it gives a topological order. This needs no recursion and
has no depth limit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from minirnn.engine.op import FREED
from minirnn.engine.tensor import Tensor
from minirnn.engine.writing import latest, reads, settled

Tensors = Sequence[Tensor]
Wanted = Collection[Tensor] | None
_seq = attrgetter("seq")


class Order(NamedTuple):
    """The Tensors that a pass visits."""

    nodes: list[Tensor]
    """The recorded Tensors, newest first."""
    stops: list[Tensor]
    """The same, with leaves that have hooks in between."""
    targets: Collection[Tensor]
    """The Tensors whose gradients are needed; empty means all leaves."""
    wanted: Wanted
    """The Tensors that depend on a target. Gradients flow only to these. None means all."""


def in_order(roots: Tensors, inputs: Tensors | None, border: int) -> Order:
    """The order from `roots` back to `inputs` (None: all leaves), without Tensors that are not newer than `border`.

    Raises RuntimeError if a part of the tape was freed, or an input that a backward formula reads was changed.
    """
    wanted, oldest = None, border
    if inputs and all(t.op is not None for t in inputs):
        oldest = max(border, min(t.seq for t in inputs))  # a Tensor that is older than all inputs cannot depend on them
    nodes, changed, hooked = _walk(roots, oldest)
    if inputs is not None:
        nodes, wanted = _leading_to(inputs, nodes)
    if changed:
        _check_unchanged(nodes, changed)
    targets = frozenset(inputs or ())
    return Order(nodes, _with_leaves(nodes, targets, wanted, border) if hooked else nodes, targets, wanted)


def _with_leaves(nodes: Tensors, targets: Collection[Tensor], wanted: Wanted, border: int) -> list[Tensor]:
    """`nodes` and the leaves with hooks. A leaf comes after the oldest node that used it, when its gradient is
    complete.

    A hook can therefore run, and for example send the gradient to other ranks, before the pass reaches older nodes.
    """
    stops: list[Tensor] = []
    found: set[Tensor] = set()
    for n in reversed(nodes):
        for p in n.parents:
            if p.op is None and p.hooks is not None and p not in found:
                found.add(p)
                if p.seq > border and (wanted is None or p in targets):
                    stops.append(p)
        stops.append(n)
    return stops[::-1]


def _leading_to(inputs: Tensors, nodes: Tensors) -> tuple[list[Tensor], set[Tensor]]:
    """The `nodes` that depend on one of `inputs`, newest first, and the set of these nodes and the inputs."""
    wanted = set(inputs)
    path = []
    for n in reversed(nodes):
        if not wanted.isdisjoint(n.parents):
            wanted.add(n)
            path.append(n)
    return path[::-1], wanted


def _walk(roots: Tensors, oldest: int) -> tuple[list[Tensor], dict[Tensor, tuple[Tensor, str]], bool]:
    """The recorded Tensors from which `roots` were computed, newest first, without leaves. This is a topological order.

    Tensors that are not newer than `oldest` are left out as well, because they cannot depend on anything newer. The
    second result has the Tensors whose backward reads an input that was changed since, and what changed it. The third
    is whether leaves may have hooks.
    """
    nodes = [r for r in dict.fromkeys(roots) if r.op is not None and r.seq > oldest]
    seen = set(nodes)
    changed = {}
    hooked, last_write = False, latest.seq
    for n in nodes:  # the list grows while it is read
        op: Any = n.op
        if op is FREED:
            raise RuntimeError(
                "backward: this part of the tape was freed by an earlier backward pass\n"
                "  expected one backward per forward; pass retain_graph=True to the earlier one to keep it"
            )
        if n.seq < last_write and (change := settled(n)) is not None:
            changed[n] = change
        for p in n.parents:
            if p.op is None:
                if p.seq > n.seq and reads(op, n.parents, p):
                    changed[n] = p, "assign() or in place"
                if p.hooks is not None:
                    hooked = True
            elif p not in seen and p.seq > oldest:
                seen.add(p)
                nodes.append(p)
    nodes.sort(key=_seq, reverse=True)
    return nodes, changed, hooked


def _check_unchanged(nodes: Tensors, changed: dict[Tensor, tuple[Tensor, str]]) -> None:
    for n in nodes:
        if n in changed:
            op: Any = n.op
            p, name = changed[n]
            raise RuntimeError(
                f"backward: an input of {op.name} (shape {p.shape}) was changed by {name} after use\n"
                "  expected the values of the forward pass; call backward before, or change a copy: t.clone()"
            )
