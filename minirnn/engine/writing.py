"""Writing into a Tensor. The Tensor becomes a newer version of itself, and so does the Tensor that it is a view of.

No array is ever written into, and no node of the tape changes. ``t += u`` computes a new value from `version(t)`, which
is a separate Tensor for the old `t`. Then `write` gives `t` the new value and its place on the tape. Nodes that read
`t` before find its older version by their number (`settled`), so their gradients go to the right Tensor.

A view (``t[0]``, ``t.view(-1)``, ``t.detach()``, ``t.data``) stores the Tensor that it is a view of. Writing into the
view also writes into that Tensor. Other views that were made before keep their values. This is the only difference from
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from minirnn.engine.op import Op
from minirnn.engine.outputs import Output
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, leaf, next_seq


class _Latest:
    seq = 0


latest = _Latest()
"""The `seq` at which a recorded Tensor was last written into. Only older nodes may need older versions."""


class Passed(Op):
    """y = x with other values, written where nothing is recorded       dx = dy"""

    arithmetic = True
    reads_inputs = saves = False

    def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
        return (dy,)


def version(t: Tensor) -> Tensor:
    """A separate Tensor with the current value of `t`, from which the new value of `t` is computed."""
    twin = leaf(t.device, t.array)
    twin.op, twin.parents, twin._requires_grad, twin.seq = t.op, t.parents, t._requires_grad, t.seq
    return twin


def write(name: str, t: Tensor, old: Tensor, new: Tensor) -> Tensor:
    """Replace `t` with `new`, a Tensor of its shape and dtype that has no other references; returns `t`.

    Raises RuntimeError if `t`, or the Tensor it is a view of, is a leaf that requires gradients while ops are recorded,
    or if the Tensor it is a view of was changed after the view was made.

    Parameters
    ----------
    name : str
        The operation that writes, for messages.
    old : Tensor
        ``version(t)``.
    """
    written, chain = t, _viewed(name, t)
    _check_leaf(name, t, t)
    for viewed, op in chain:
        if op is None:
            break
        _check_leaf(name, viewed, t)
    _become(name, t, old, new)
    outer = mode.enabled
    try:
        for viewed, op in chain:
            before = version(viewed)
            if op is None:  # detach() and data: gradients do not pass
                mode.enabled = False
                new = leaf(viewed.device, t.array)
            else:
                new = op.whole(before, t)
            _become(name, viewed, before, new)
            t.viewed = (ref(viewed) if op is None else viewed, op, viewed.seq)
            t = viewed
    finally:
        mode.enabled = outer
    return written


def turn(name: str, t: Tensor, view: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace `t` with a view of itself, as `squeeze_` does; returns `t`. No other Tensor changes.

    Raises RuntimeError if `t` is a leaf that requires gradients.
    """
    if t.op is None and t._requires_grad:
        raise RuntimeError(
            f"{name}: the Tensor of shape {t.shape} is a leaf that requires gradients\n  expected a result"
        )
    old = version(t)
    if hasattr(t, "viewed"):
        old.viewed = t.viewed
        del t.viewed
    outer, mode.enabled = mode.enabled, True  # it keeps its place on the tape
    try:
        new = view(old)
    finally:
        mode.enabled = outer
    t.array, t.op, t.parents = new.array, new.op, new.parents
    t.seq = latest.seq = next_seq()
    if hasattr(new, "viewed"):
        t.viewed = new.viewed
    if (previous := getattr(t, "older", None)) is not None:
        old.older = previous
    t.older = old, name
    return t


def _become(name: str, t: Tensor, old: Tensor, new: Tensor) -> None:
    t.array = new.array
    t.seq = next_seq()  # the tape detects the change by this number
    if old.op is None and new.op is None:  # the same as `assign`
        return
    if mode.enabled:
        t.op, t._requires_grad = new.op, new._requires_grad
        t.parents = tuple([old if p is t else p for p in new.parents])  # t += t
    else:
        t.op, t.parents = Passed(), (old,)
    if not hasattr(t, "viewed"):
        t.viewed = None  # the new value may come from a view, but `t` is not a view of its input
    latest.seq = t.seq
    previous = getattr(t, "older", None)
    if previous is not None:
        old.older = previous
    t.older = old, name
    if t.hooks is not None:  # hooks of `retain_grad` follow the name `t`, and other hooks stay with the old value
        old.hooks = [h for h in t.hooks if not getattr(h, "retains", False)] or None
        t.hooks = [h for h in t.hooks if getattr(h, "retains", False)] or None


def _check_leaf(name: str, t: Tensor, written: Tensor) -> None:
    if t.op is None and t._requires_grad and mode.enabled:
        what = "a leaf that requires gradients" if t is written else "a view of a leaf that requires gradients"
        raise RuntimeError(
            f"{name}: the Tensor of shape {written.shape} is {what}\n"
            f"  expected a result, or data; inside `with mr.no_grad():` the same line changes its values\n"
            f"  likely a new Tensor is meant: a = a + b, not a += b"
        )


# ---- views


def _viewed(name: str, t: Tensor) -> list[tuple[Tensor, Any]]:
    """The Tensor that `t` is a view of, the one that is a view of, and so on, each with the op that makes the view."""
    chain: list[tuple[Tensor, Any]] = []
    while (found := _link(t)) is not None:
        viewed, op, seq = found
        if viewed is None or (op is not None and not (op.view and _shared(viewed, t))):
            break  # there are no references to it any more, or it is a copy
        if viewed.seq > seq:
            raise RuntimeError(
                f"{name}: the base of this view of shape {t.shape} was changed after the view was made\n"
                "  expected a view of the present values; make the view again before you write into it"
            )
        chain.append((viewed, op))
        t = viewed
    return chain


def _shared(viewed: Tensor, t: Tensor) -> bool:
    """Whether a reshaped Tensor is a view. In host memory that depends on the layout of the elements."""
    a, b = viewed.array, t.array
    if t.seq < viewed.seq or not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return True
    if 0 in a.strides and _link(viewed) is None:
        return True  # a separate value, such as a copy of t.expand(...), stored as one row or element
    return np.may_share_memory(a, b) or not t.size


def _link(t: Tensor) -> tuple[Tensor | None, Any, int] | None:
    if not hasattr(t, "viewed"):
        op: Any = t.op
        if op.__class__ is Output and hasattr(t.parents[0].op, "piece"):  # made by split, chunk or unbind
            (node,) = t.parents
            return node.parents[0], node.op.piece(op.index), t.seq  # type: ignore[union-attr]
        return (t.parents[0], op, t.seq) if op is not None and op.view else None
    if t.viewed is None:
        return None
    viewed, op, seq = t.viewed
    return viewed() if isinstance(viewed, ref) else viewed, op, seq


# ---- older versions


def settled(n: Tensor) -> tuple[Tensor, str] | None:
    """Give a node that is older than a write into one of its inputs the version of the input that it read.

    Returns an input whose value has changed since, and what changed it, if the backward formula needs the old value.
    """
    change = None
    op: Any = n.op
    parents = list(n.parents)
    for k, p in enumerate(parents):
        name = ""
        while p.seq > n.seq and (before := getattr(p, "older", None)) is not None:
            p, name = before
        if name and reads(op, n.parents, n.parents[k]):
            change = p, name
        parents[k] = p
    n.parents = tuple(parents)
    return change


def reads(op: Any, parents: tuple[Tensor, ...], changed: Tensor) -> bool:
    """Whether the backward formula needs the value of the input `changed`."""
    if not (op.reads_inputs and op.only_others):
        return bool(op.reads_inputs)
    others = [p for p in parents if p is not changed]
    return len(others) < len(parents) - 1 or any(p._requires_grad for p in others)
