"""A whole layer of a custom cell and its gradient: all steps, all directions, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.arithmetic import without_false_alarms
from minirnn.devices.cpu.columns.visit import Array, Visit
from minirnn.devices.cpu.cudnn_rnn.layer import padding
from minirnn.devices.cpu.own_cell.backward import Gradients, backward
from minirnn.devices.cpu.own_cell.forward import Direction, Kept, Weights, forward


@without_false_alarms
def cell_sequence(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    *,
    plan: Plan,
    lengths: Array | None,
    training: bool,
    masks: Sequence[Array] = (),
) -> tuple[Array, Array, Array | None, list[Kept | None]]:
    """Run one layer of a custom cell over a whole sequence.

    Parameters
    ----------
    x : (T, B, I)
    h0 : (D, B, P)
        P is H, or the width of the projection.
    c0 : (D, states-1, B, H) or None
        The states but the last; None if there are none.
    weights : sequence of D tuples (W, R, Wp, b, U, vectors)
        W (rows, I), R (rows, P), Wp (P, H) or None; b (G*H,); tuples U of (H, H) and vectors of (H,). Gates in the
        order of the plan.
    plan : Plan
    lengths : integers (B,) or None
        As of `rnn_sequence`.
    training : bool
        Whether to save what `cell_sequence_grad` needs.
    masks : sequence of (D, T, B, H)

    Returns
    -------
    y : (T, B, D*P)
    h_n : (D, B, P)
    c_n : (D, states-1, B, H) or None
    saved : list of D
    """
    (T, B, _), (D, _, P) = x.shape, h0.shape
    valid, lengths, last = padding(lengths, T)
    y = workspace.empty((T, B, D * P), x.dtype)
    if valid is not None:
        x = np.where(valid, x[:last], x.dtype.type(0))  # NaN in the padding must not spread
        y[last:] = 0
    h_n, c_n = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    saved: list[Kept | None] = []
    for k in range(D):
        part = y[:last, :, k * P : (k + 1) * P]
        d = directed(k, x, h0, c0, weights, lengths, last, part, masks)
        h_n[k], inner, kept = forward(plan, d, training)
        saved.append(kept)
        if c_n is not None:
            c_n[k] = inner
        if valid is not None:
            np.copyto(part, 0, where=~valid)
    return y, h_n, c_n, saved


def directed(
    k: int,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Any,
    lengths: Any,
    last: int,
    y: Array,
    masks: Sequence[Array],
) -> Direction:
    """Direction k of a layer."""
    own, visit = Weights(*weights[k]), Visit(last, lengths, k == 1)
    return Direction(x, h0[k], None if c0 is None else c0[k], own, visit, y, [m[k] for m in masks])


@without_false_alarms
def cell_sequence_grad(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    saved: list[Kept],
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    *,
    plan: Plan,
    lengths: Array | None,
    need_dx: bool = True,
    masks: Sequence[Array] = (),
) -> tuple[Array | None, Array, Array | None, list[Weights]]:
    """The gradients of `cell_sequence`, by backpropagation through time.

    Parameters
    ----------
    x, h0, c0, weights, plan, lengths, masks
        As given to `cell_sequence`.
    saved, y
        What it returned when training.
    dy, dh_n, dc_n
        Gradients of y, h_n, c_n. dy past a sample's length does not matter.
    need_dx : bool
        Without it dx is not computed, and None.

    Returns
    -------
    dx : (T, B, I) or None
    dh0 : (D, B, P)
    dc0 : (D, states-1, B, H) or None
    dweights : list of D tuples as `weights`
    """
    (T, _, _), (D, _, P) = x.shape, h0.shape
    valid, lengths, last = padding(lengths, T)
    empty: Any = lambda a: None if a is None else workspace.empty(a.shape, a.dtype)  # noqa: E731
    dx = empty(x) if need_dx else None
    if valid is not None:
        zero = x.dtype.type(0)
        x, dy, y = np.where(valid, x[:last], zero), np.where(valid, dy[:last], zero), y[:last]
        if dx is not None:
            dx[last:] = 0
    dh0, dc0 = np.empty_like(h0), None if c0 is None else np.empty_like(c0)
    dweights = []
    for k in range(D):
        part = ..., slice(k * P, (k + 1) * P)
        *own, U, vectors = weights[k]
        W, R, Wp, b = map(empty, own)
        dweights.append(Weights(W, R, Wp, b, [*map(empty, U)], [*map(empty, vectors)]))
        d = directed(k, x, h0, c0, weights, lengths, last, y[part], masks)
        wanted = None if dx is None else dx[:last]
        g = Gradients(dy[part], dh_n[k], None if dc_n is None else dc_n[k], dweights[k], wanted, k > 0)
        dh0[k], inner = backward(plan, d, g, saved[k])
        if dc0 is not None:
            dc0[k] = inner
    return dx, dh0, dc0, dweights
