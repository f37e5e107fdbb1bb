"""The backward pass: from outputs back to what they were computed from, newest first.

Tensors carry a number that only grows (``seq``), so sorting by it is a topological order: no recursion, no depth
limit. What users call stands first: `Tensor.backward` and `grad`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from minirnn.devices.base import sum_to_shape
from minirnn.engine.arguments import gradients_of, one_name_of, seeds_of, tensors_of
from minirnn.engine.hooks import running
from minirnn.engine.op import FREED
from minirnn.engine.outputs import backward_on_arrays, backward_on_tensors
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, leaf

Tensors = Sequence[Tensor]
_seq = attrgetter("seq")
_SCALARS = frozenset((np.float16, np.float32, np.float64))


def backward(
    self: Tensor, grad: Any = None, retain_graph: bool = False, create_graph: bool = False, *, gradient: Any = None
) -> None:
    """Add the gradient of this Tensor to `grad` of every leaf it was computed from.

    Parameters
    ----------
    grad : array_like, optional
        Gradient of the loss with respect to this Tensor, of its shape; 1 by default if the shape is ().
    retain_graph : bool
        Keep the tape for another backward pass. By default it is freed.
    create_graph : bool
        Record the backward pass itself, so that gradients can be differentiated again (keeps the tape, too).
    gradient : array_like, optional
        torch's name of `grad`.

    Raises
    ------
    ValueError
        If this Tensor was not recorded, or has a shape other than () and no `grad` is given, or `grad` does not fit.
    RuntimeError
        If the tape was freed, or a value it needs was changed by `Tensor.assign`.
    """
    if gradient is not None:
        grad = one_name_of(grad, gradient)
    seeds = seeds_of("backward", (self,), (grad,))
    outer = running.callbacks, mode.enabled
    running.callbacks = []
    try:
        gradients = run_backward((self,), seeds, None, create_graph, retain_graph)
        for callback in running.callbacks:
            callback(gradients)
        mode.enabled = create_graph
        for t, g in gradients.items():
            total = g if create_graph else leaf(t.device, g)
            t.grad = total if t.grad is None else t.grad + total
    finally:
        running.callbacks, mode.enabled = outer


Tensor.backward = backward  # type: ignore[assignment, method-assign]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Any:
    """Gradients of ``sum(outputs * grad_outputs)`` with respect to `inputs`; `Tensor.grad` is left alone.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
        `inputs` may be intermediate results.
    grad_outputs : array_like or sequence, optional
        Like `outputs`: one for each, of its shape; may be left out (or None) for outputs of shape ().
    create_graph : bool
        Record the backward pass, so that the results can be differentiated again.
    retain_graph : bool, optional
        Keep the tape. Default: the value of `create_graph`.

    Returns
    -------
    Tensor or tuple of Tensor
        Like `inputs`. Zeros where an input has no influence on the outputs.

    Raises
    ------
    ValueError, RuntimeError
        The same as `Tensor.backward` raises; ValueError also if an input does not require gradients.
    """
    ys, xs = tensors_of("output", outputs), tensors_of("input", inputs)
    for k, t in enumerate(xs):
        if not t.requires_grad:
            raise ValueError(
                f"grad: input {k} (shape {t.shape}) does not require gradients\n  expected requires_grad=True"
            )
    seeds = seeds_of("grad", ys, gradients_of(outputs, ys, grad_outputs))
    outer, running.callbacks = running.callbacks, None
    try:
        found = run_backward(ys, seeds, xs, create_graph, create_graph if retain_graph is None else retain_graph)
    finally:
        running.callbacks = outer
    results = []
    for t in xs:
        g = found.get(t)
        if g is None:  # it has no influence on the outputs
            g = t.device.full(t.shape, 0, t.dtype)
            results.append(leaf(t.device, g))
        else:
            results.append(g if create_graph else leaf(t.device, g))
    return results[0] if isinstance(inputs, Tensor) else tuple(results)


# ---- the pass


def run_backward(
    roots: Tensors, seeds: Tensors, inputs: Tensors | None, create_graph: bool, retain_graph: bool, border: int = 0
) -> dict[Tensor, Any]:
    """Gradients of sum(root * seed) with respect to every leaf reached (`inputs` None) or to `inputs`.

    Inside, a gradient is a Tensor if `create_graph` is set and a bare array otherwise. The pass stops at Tensors that
    are not newer than `border`: they count as leaves, whatever made them, and their hooks are left to another pass.
    """
    nodes, wanted, hooked = _in_order(roots, inputs, border)
    targets = frozenset(inputs or ())
    stops = _with_leaves(nodes, targets, wanted, border) if hooked else nodes
    grads: dict[Tensor, Any] = {}
    for r, s in zip(roots, seeds, strict=True):
        if r.requires_grad:
            g = s if create_graph else s.array
            grads[r] = grads[r] + g if r in grads else g

    results: dict[Tensor, Any] = {}
    outer, mode.enabled = mode.enabled, create_graph
    try:  # not `with no_grad()`: a Ctrl-C could come before the first line of its __exit__
        for n in stops:
            dy = grads.pop(n, None)
            if dy is None:
                continue
            if n.hooks is not None:
                dy = _call_hooks(n, dy, create_graph)
                if n.op is None:
                    results[n] = dy
                    continue
            if n in targets:
                results[n] = dy
            op: Any = n.op
            parents = n.parents
            if create_graph:
                gs: Any = backward_on_tensors(op, n, dy)
            elif not op.arithmetic:
                gs = backward_on_arrays(op, n, dy)
            elif len(parents) == 2:  # two and one are spelled out: the list takes 0.1 us more
                gs = op.backward(dy, n.array, parents[0].array, parents[1].array)
            elif len(parents) == 1:
                gs = op.backward(dy, n.array, parents[0].array)
            else:
                gs = op.backward(dy, n.array, *[p.array for p in parents])
            if len(gs) != len(parents):
                raise _wrong_count(op, gs, parents)
            fit = op.broadcasts
            for p, g in zip(parents, gs):  # noqa: B905  (strict=True takes 0.1 us more)
                if g is None or not p.requires_grad or (wanted is not None and p not in wanted):
                    continue
                if fit:
                    a = p.array
                    # Two NumPy scalars of one class need no look at shape and dtype: this is the hottest line of all.
                    if g.__class__ is not a.__class__ or (
                        g.__class__ not in _SCALARS and (g.shape != a.shape or g.dtype != a.dtype)
                    ):
                        g = _fit(g, p, create_graph)
                grads[p] = grads[p] + g if p in grads else g
        for t, g in grads.items():  # what is left belongs to other leaves, and to inputs that do not depend on others
            if wanted is None or t in targets:
                results[t] = g if t.hooks is None or t.seq <= border else _call_hooks(t, g, create_graph)
    finally:
        mode.enabled = outer
    if not (retain_graph or create_graph):
        for n in nodes:
            n.op = FREED
            n.parents = ()
    for device in {r.device for r in roots}:
        device.end_of_backward()
    return results


def _in_order(roots: Tensors, inputs: Tensors | None, border: int) -> tuple[list[Tensor], set[Tensor] | None, bool]:
    """The nodes to visit, newest first, and where gradients flow: to what leads to one of `inputs`; None: anywhere.

    The third result tells whether there may be leaves with hooks.
    """
    wanted, oldest = None, border
    if inputs and all(t.op is not None for t in inputs):
        oldest = max(border, min(t.seq for t in inputs))  # nothing that is older than all inputs depends on them
    nodes, changed, hooked = _walk(roots, oldest)
    if inputs is not None:
        nodes, wanted = _leading_to(inputs, nodes)
    if changed:
        _check_unchanged(nodes, changed)
    return nodes, wanted, hooked


def _with_leaves(
    nodes: Tensors, targets: Collection[Tensor], wanted: Collection[Tensor] | None, border: int
) -> list[Tensor]:
    """`nodes`, and the leaves with hooks, each behind the oldest node that used it: there its gradient is complete.

    So a hook runs, and can send the gradient away, while older nodes are still to come.
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
    """Those of `nodes` that depend on one of `inputs`, newest first, and the same with the inputs as a set."""
    wanted = set(inputs)
    path = []
    for n in reversed(nodes):
        if not wanted.isdisjoint(n.parents):
            wanted.add(n)
            path.append(n)
    return path[::-1], wanted


def _walk(roots: Tensors, oldest: int) -> tuple[list[Tensor], dict[Tensor, Tensor], bool]:
    """The recorded Tensors that `roots` were made of, newest first: a topological order. Leaves are left out.

    Those not newer than `oldest` are left out as well: they cannot depend on anything newer. The second result names
    Tensors whose backward reads an input that was changed since, the third tells whether leaves may have hooks.
    """
    nodes = [r for r in dict.fromkeys(roots) if r.op is not None and r.seq > oldest]
    seen = set(nodes)
    changed = {}
    hooked = False
    for n in nodes:  # the list grows while it is read
        op: Any = n.op
        if op is FREED:
            raise _freed()
        for p in n.parents:
            if p.seq > n.seq and op.reads_inputs:
                changed[n] = p
            if p.op is not None and p not in seen and p.seq > oldest:
                seen.add(p)
                nodes.append(p)
            elif p.hooks is not None:
                hooked = True
    nodes.sort(key=_seq, reverse=True)
    return nodes, changed, hooked


def _freed() -> RuntimeError:
    return RuntimeError(
        "backward: this part of the tape was freed by an earlier backward pass\n"
        "  expected one backward per forward; pass retain_graph=True to the earlier one to keep it"
    )


def _check_unchanged(nodes: Tensors, changed: dict[Tensor, Tensor]) -> None:
    for n in nodes:
        if n in changed:
            op: Any = n.op
            raise RuntimeError(
                f"backward: an input of {op.name} (shape {changed[n].shape}) was changed by assign() after use\n"
                "  expected the values of the forward pass; call backward before changing parameters"
            )


def _wrong_count(op: Any, gs: Sequence[Any], parents: Tensors) -> TypeError:
    return TypeError(
        f"backward of {op.name} returned {len(gs)} gradients for {len(parents)} inputs\n"
        "  expected one for each, None where there is none"
    )


def _fit(g: Any, p: Tensor, create_graph: bool) -> Any:
    """Sum a gradient over the axes its input was broadcast along; give it the dtype of the input."""
    if create_graph:
        if g.shape != p.shape:
            extra = g.ndim - p.ndim
            axes = tuple(k for k in range(g.ndim) if k < extra or (p.shape[k - extra] == 1 and g.shape[k] != 1))
            g = (g.sum(axis=axes, keepdims=True) if axes else g).reshape(p.shape)
        return g.astype(p.dtype)
    return p.device.cast(sum_to_shape(p.device, g, p.shape), p.dtype)


def _call_hooks(t: Tensor, g: Any, create_graph: bool) -> Any:
    value = g if create_graph else leaf(t.device, g)
    # `retain_grad` keeps what is left after all other hooks.
    for hook in sorted(t.hooks or (), key=lambda h: getattr(h, "retains", False)):
        changed = hook(value)
        if changed is not None:
            if not isinstance(changed, Tensor) or changed.shape != value.shape or changed.dtype != value.dtype:
                got = f"{changed.shape}, {changed.dtype}" if isinstance(changed, Tensor) else type(changed).__name__
                raise ValueError(f"a hook returned {got}\n  expected None or a Tensor of {value.shape}, {value.dtype}")
            value = changed
    return value if create_graph else value.array
