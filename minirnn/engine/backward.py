"""The backward pass. It goes from outputs back to their inputs, in the order that `order` finds.

The public functions `Tensor.backward` and `grad` come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.engine.anomaly import anomaly
from minirnn.engine.hooks import running
from minirnn.engine.op import FREED
from minirnn.engine.order import Tensors, Wanted, in_order
from minirnn.engine.outputs import Cotangents, backward_of
from minirnn.engine.seeds import gradients_of, one_name_of, seeds_of, tensors_of
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, leaf

Gradients = dict[Tensor, Any]
_FLOAT32, _SCALARS = np.float32, (np.float16, np.float64)


def backward(
    self: Tensor,
    grad: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    *,
    gradient: Any = None,
) -> None:
    """Add the gradient of this Tensor to `grad` of every leaf it was computed from.

    Raises ValueError if this Tensor was not recorded, or has a shape other than () and no `grad` is given, or `grad`
    does not fit, and RuntimeError if the tape was freed, or a value it needs was changed by `Tensor.assign`.

    Parameters
    ----------
    grad : array_like, optional
        Gradient of the loss with respect to this Tensor, of its shape; 1 by default if the shape is ().
    retain_graph : bool
        Keep the tape for another backward pass. By default it is freed.
    create_graph : bool
        Record the backward pass itself, so that gradients can be differentiated again (this also keeps the tape).
    inputs : Tensor or sequence of Tensor, optional
        Add gradients only to `grad` of these Tensors. By default all leaves get theirs.
    gradient : array_like, optional
        torch's name for `grad`.
    """
    if grad is gradient is None and self._requires_grad and self.array.shape == ():  # a loss, as in most calls
        seeds = [leaf(self.device, self.device.full((), 1, self.array.dtype))]
    else:
        seeds = seeds_of("backward", (self,), (grad if gradient is None else one_name_of(grad, gradient),))
    outer = running.callbacks, mode.enabled
    running.callbacks = []
    try:
        targets = None if inputs is None else tensors_of("input", inputs)
        _add_to_grads(run_backward((self,), seeds, targets, create_graph, bool(retain_graph)), create_graph)
    finally:
        running.callbacks, mode.enabled = outer


def _add_to_grads(gradients: Gradients, create_graph: bool) -> None:
    """Add each gradient to the `grad` of its leaf, after the callbacks of `when_backward_ends`, which may change it."""
    for callback in running.callbacks or ():
        callback(gradients)
    mode.enabled = create_graph
    for t, g in gradients.items():
        total = g if create_graph else leaf(t.device, g)
        old = t._grad
        if old is not None:
            if create_graph or old.__class__ is not Tensor or old.device is not t.device or old.shape != t.shape:
                total = old + total
            else:  # the same without a call of `add`
                total.array = old.array + g
        t._grad = total


Tensor.backward = backward  # type: ignore[assignment, method-assign]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Any:
    """Gradients of ``sum(outputs * grad_outputs)`` with respect to `inputs`; `Tensor.grad` is left alone.

    Raises the errors of `Tensor.backward`, and ValueError if an input does not require gradients.

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
        if g is None:  # the input has no influence on the outputs
            g = t.device.full(t.shape, 0, t.dtype)
            results.append(leaf(t.device, g))
        else:
            results.append(g if create_graph else leaf(t.device, g))
    return results[0] if isinstance(inputs, Tensor) else tuple(results)


# ---- the pass


def run_backward(
    roots: Tensors, seeds: Tensors, inputs: Tensors | None, create_graph: bool, retain_graph: bool, border: int = 0
) -> Gradients:
    """Gradients of sum(root * seed) with respect to `inputs`, or to every leaf if `inputs` is None.

    Inside the pass, a gradient is a Tensor if `create_graph` is set and a bare array otherwise. The pass stops at
    Tensors that are not newer than `border`. It treats them as leaves, whatever made them, and leaves their hooks to
    another pass.
    """
    nodes, stops, targets, wanted = in_order(roots, inputs, border)
    arrived = _seeded(roots, seeds, create_graph)
    outer, mode.enabled = mode.enabled, create_graph
    try:  # not `with no_grad()`, because a Ctrl-C could arrive before the first line of its __exit__
        found = go_back(stops, arrived, targets, wanted, create_graph)
        # The remaining gradients belong to other leaves, and to inputs that do not depend on others.
        found |= _of_leaves(arrived, None if wanted is None else targets, border, create_graph)
    finally:
        mode.enabled = outer
    _finish(roots, () if retain_graph or create_graph else nodes)
    return found


def _seeded(roots: Tensors, seeds: Tensors, create_graph: bool) -> Gradients:
    """The gradients at which the pass begins, by Tensor."""
    arrived: Gradients = {}
    for r, s in zip(roots, seeds, strict=True):
        if r._requires_grad:
            g = s if create_graph else s.array
            arrived[r] = arrived[r] + g if r in arrived else g
    return arrived


def go_back(stops: Tensors, arrived: Gradients, targets: Wanted, wanted: Wanted, create_graph: bool) -> Gradients:
    """Visit the `stops` of `order`, newest first. Returns the gradients of the targets among them, and of leaves.

    `arrived` has the gradients so far of Tensors that the pass has not reached, and at the end those it did not visit.
    """
    pass_on = send if anomaly.lines is None else _watched
    found: Gradients = {}
    for t in stops:
        dy = arrived.pop(t, None)
        if dy is None:
            continue
        if t.hooks is not None:
            dy = after_hooks(t, dy, create_graph)
        op = t.op
        if op is None or (targets and t in targets):
            found[t] = dy
        if op is not None:
            pass_on(t, op, dy, arrived, wanted, create_graph)
    return found


def send(t: Tensor, op: Any, dy: Any, arrived: Gradients, wanted: Wanted, create_graph: bool) -> None:
    """Compute the gradients of the parents of `t` from that of `t`, which `op` made, and add them to `arrived`."""
    parents = t.parents
    n = len(parents)
    if create_graph or not op.arithmetic:
        gs = backward_of(op, t, dy, bare=not create_graph)
    elif n == 2:  # one and two parents have their own code, because the list takes 0.1 us more
        a, b = parents
        gs = op.backward(dy, t.array, a.array, b.array)
    elif n == 1:
        gs = op.backward(dy, t.array, parents[0].array)
    else:
        gs = op.backward(dy, t.array, *[p.array for p in parents])
    if len(gs) != n:
        raise TypeError(
            f"backward of {op.name} returned {len(gs)} gradients for {n} inputs\n"
            "  expected one for each, with None where there is no gradient"
        )
    fit = op.broadcasts
    for p, g in zip(parents, gs):  # noqa: B905  (strict=True takes 0.1 us more)
        if g is None or not p._requires_grad or (wanted is not None and p not in wanted):
            continue
        x, kind = p.array, g.__class__
        # Two NumPy scalars of one class need no check of shape and dtype. These lines run most often of all.
        if fit and (
            kind is not x.__class__
            or (kind is not _FLOAT32 and kind not in _SCALARS and (g.shape != x.shape or g.dtype != x.dtype))
        ):
            g = _fitted(g, p, create_graph)
        if p not in arrived:
            arrived[p] = g
        elif kind is Cotangents:
            arrived[p].join(g)
        else:
            arrived[p] = arrived[p] + g


def _watched(t: Tensor, op: Any, dy: Any, arrived: Gradients, wanted: Wanted, create_graph: bool) -> None:
    """`send` in anomaly mode: raises an error at the first NaN."""
    send(t, op, dy, arrived, wanted, create_graph)
    if anomaly.check_nan:
        for k, p in enumerate(t.parents):
            anomaly.check(t, k, arrived.get(p))


def _of_leaves(arrived: Gradients, targets: Wanted, border: int, create_graph: bool) -> Gradients:
    """The gradients of the `targets` (None: all) that are leaves, after the hooks of the new ones."""
    found: Gradients = {}
    for t, g in arrived.items():
        if targets is None or t in targets:
            found[t] = g if t.hooks is None or t.seq <= border else after_hooks(t, g, create_graph)
    return found


def _finish(roots: Tensors, nodes: Tensors) -> None:
    """Free the nodes, and notify the devices that the pass is over.

    A node stays if it saves nothing and depends on no node that does, because another pass may still use it.
    """
    for n in reversed(nodes):
        if n.op.saves or n.parents[0].op is FREED or any(p.op is FREED for p in n.parents):  # type: ignore[union-attr]
            n.op = FREED
            n.parents = ()
    for r in roots:
        r.device.end_of_backward()


def _fitted(g: Any, p: Tensor, create_graph: bool) -> Any:
    """The gradient `g`, summed over the axes along which its input was broadcast, in the dtype of the input."""
    if create_graph:
        if g.shape != p.shape:
            extra = g.ndim - p.ndim
            axes = tuple(k for k in range(g.ndim) if k < extra or (p.shape[k - extra] == 1 and g.shape[k] != 1))
            g = (g.sum(axis=axes, keepdims=True) if axes else g).reshape(p.shape)
        return g.astype(p.dtype)
    return p.device.cast(p.device.sum_to_shape(g, p.shape), p.dtype)


def after_hooks(t: Tensor, g: Any, create_graph: bool) -> Any:
    value = g if create_graph else leaf(t.device, g)
    # `retain_grad` keeps the gradient that remains after all other hooks.
    for hook in sorted(t.hooks or (), key=lambda h: getattr(h, "retains", False)):
        changed = hook(value)
        if changed is not None:
            if not isinstance(changed, Tensor) or changed.shape != value.shape or changed.dtype != value.dtype:
                got = f"{changed.shape}, {changed.dtype}" if isinstance(changed, Tensor) else type(changed).__name__
                raise ValueError(f"a hook returned {got}\n  expected None or a Tensor of {value.shape}, {value.dtype}")
            value = changed
    return value if create_graph else value.array
