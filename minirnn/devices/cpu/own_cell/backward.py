"""All steps of one direction backward, in the column layout.

The backward pass is linear (`minirnn.cells.linear`): the factors of many steps are computed at once, into the rows of
their steps. Then a step multiplies neighboring rows by one gradient, adds the terms of each gradient, and multiplies by
R.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns import direction
from minirnn.devices.cpu.columns.direction import all_steps, backward_pieces, product_of_step
from minirnn.devices.cpu.columns.visit import Array, steps_at_once
from minirnn.devices.cpu.own_cell.forward import Direction, Kept, Weights
from minirnn.devices.cpu.own_cell.way_back import Back, back_of


class Gradients(NamedTuple):
    """Further inputs of a backward pass, and the arrays that it fills."""

    dy: Array  # (T, B, P)
    dh_n: Array  # (B, P)
    dc_n: Array | None  # (states-1, B, H)
    dweights: Weights
    dx: Array | None  # (T, B, I), if it is wanted
    accumulate: bool  # add to dx rather than set it


def reordered(rows: Array, gates: Sequence[int], H: int) -> Array:
    """A copy of rows, H for each gate, in another order of the gates; the same array if that is theirs already."""
    if list(gates) == list(range(len(gates))):
        return rows
    out = workspace.empty(rows.shape, rows.dtype)
    for k, gate in enumerate(gates):
        out[k * H : (k + 1) * H] = rows[gate * H : (gate + 1) * H]
    return out


def put_back(rows: Array, gates: Sequence[int], H: int, out: Array) -> None:
    """The inverse of `reordered`, into `out`."""
    if rows is not out:
        for k, gate in enumerate(gates):
            out[gate * H : (gate + 1) * H] = rows[k * H : (k + 1) * H]


def backward(plan: Plan, d: Direction, g: Gradients, kept: Kept) -> tuple[Array, list[Array]]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, P), and those of other states (B, H)."""
    back, w = back_of(plan), d.weights
    (T, B, _), P, dtype = d.x.shape, d.h0.shape[1], d.x.dtype
    H, dot = len(w.b) // len(plan.gate_names), product_of_step(B)
    n = steps_at_once(T, B, H)
    D = workspace.empty((n, back.rows, H, B), dtype)
    flat = D.reshape(n, back.rows * H, B)
    G = len(back.gates)
    step_da = flat[:, back.first * H : (back.first + G) * H]
    da = all_steps(step_da, T)
    dy = g.dy.transpose(0, 2, 1)
    R_T = R = None
    n_h = plan.of_h + plan.of_both
    of_R = [k if k < plan.of_both else k - plan.of_x for k in back.gates[:n_h]]
    if w.R is not None:
        R = reordered(w.R, of_R, H)
        R_T = direction.transposed(R) if B > 1 else R.T
    dh = np.zeros((P, B), dtype)
    nothing = np.zeros((H, B), dtype)
    dm, through_R = np.empty((H, B), dtype), np.empty((P, B), dtype)
    inner = [np.zeros((H, B), dtype) for _ in range(plan.states - 1)]
    dh_all = workspace.empty((T, P, B), dtype) if plan.projected else None
    room = [np.empty((n, H, B), dtype) for _ in range(back.factor_room[0])]
    bools = [np.empty((n, H, B), bool) for _ in range(back.factor_room[1])]
    multiplied = [k for k, c in enumerate(plan.cuts) if c.kind == "product"]
    extra = [workspace.empty((n, H, B), dtype) for _ in multiplied]
    m_all = workspace.empty((T, H, B), dtype) if plan.projected else None
    products = [np.empty((H if c.kind == "product" else 1, B), dtype) for c in plan.cuts]
    numbers = [np.array(k, dtype) for k in back.factor_numbers]
    vectors, U_T, Wp_T = [v[:, None] for v in w.vectors], [U.T for U in w.U], None if w.Wp is None else w.Wp.T
    for dv in (*g.dweights.vectors, *g.dweights.U):
        dv[...] = 0
    values = arrays_of(plan, back, d, kept, T)
    views = [list(D[:, lo] if hi == lo + 1 else D[:, lo:hi]) for _, lo, hi in back.views]
    for j, (name, lo, hi) in enumerate(back.views):
        if name == "da":  # the gradients that R multiplies
            views[j] = list(flat[:, lo * H : hi * H])
    dh0, dc0 = np.empty((B, P), dtype), [np.empty((B, H), dtype) for _ in inner]
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, da):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        outs = [*(a[:k] for a in extra), *([] if m_all is None else [m_all[lo:hi]])]
        scratch = [t[:k] for t in room], [b[:k] for b in bools]
        back.factors(list(D[:k].swapaxes(0, 1)), [a[lo:hi] for a in values], outs, vectors, *scratch, numbers)
        for j, a in enumerate(inner):
            assert g.dc_n is not None
            piece.join(g.dc_n[j], a)
        columns = [dy[lo:hi], [None] * k if dh_all is None else dh_all[lo:hi], *[v[:k] for v in views]]
        steps = zip(*[piece.order(c) for c in columns], strict=True)
        ends = back.run(steps, dot, R_T, Wp_T, U_T, dh, dm, inner, products, through_R, nothing)
        for a, end, out in zip(inner, ends, dc0, strict=True):
            a[...] = end
            piece.leave(a, out)
            if d.visit.lengths is not None:
                a[:, piece.leaving] = 0
        if d.visit.lengths is not None:
            D[:k, :, :, d.visit.lengths <= lo] = 0  # columns without a sample
            for a in outs:
                a[:, :, d.visit.lengths <= lo] = 0
        for v, row in back.vectors.items():
            g.dweights.vectors[v][...] += np.add.reduce(D[:k, row], (0, 2))
        for a, cut in zip(extra, multiplied, strict=True):
            if cut in back.multiplied:
                left = D[:k, back.multiplied[cut]].transpose(1, 0, 2).reshape(H, k * B)
                g.dweights.U[plan.cuts[cut].matrix][...] += left @ a[:k].transpose(1, 0, 2).reshape(H, k * B).T
    weight_gradients(plan, back, d, g, da.reshape(G * H, T * B), of_R, H)
    if m_all is not None and dh_all is not None and g.dweights.Wp is not None:
        left, right = (a.transpose(1, 0, 2).reshape(a.shape[1], T * B) for a in (dh_all, m_all))
        np.matmul(left, right.T, out=g.dweights.Wp)
    return dh0, dc0


def arrays_of(plan: Plan, back: Back, d: Direction, kept: Kept, T: int) -> list[Array]:
    """The values that factors read, (T, H, B) each."""
    found = []
    up = int(not d.visit.reverse)
    for _, (what, k) in back.sources:
        if what == "saved":
            found.append(kept.saved[:, k])
        elif what == "masks":
            found.append(d.masks[k][:T].transpose(0, 2, 1))
        elif k == plan.states - 1:
            source = kept.h_before if what == "before" else d.y.transpose(0, 2, 1)
            assert source is not None
            found.append(source)
        else:
            start = up if what == "after" else 1 - up
            found.append(kept.inner[k][start : start + T])
    return found


def weight_gradients(
    plan: Plan, back: Back, d: Direction, g: Gradients, da: Array, of_R: Sequence[int], H: int
) -> None:
    """The gradients of x, W, R and b        da (G*H, T*B), gates in the order of `back`"""
    w, n_h = d.weights, plan.of_h + plan.of_both
    dW, dR, db = g.dweights.W, g.dweights.R, g.dweights.b
    if w.W is not None and dW is not None:
        of_W = back.gates[plan.of_h :]
        W = reordered(w.W, of_W, H)
        own = dW if W is w.W else workspace.empty(W.shape, W.dtype)
        like = direction.Weights(W, w.b, None, w.b, w.b)
        at = direction.Direction(d.x, d.h0, None, like, None, d.visit, d.y)
        to = direction.Gradients(g.dy, g.dh_n, None, like._replace(W=own), g.dx, g.accumulate)
        direction.input_gradients(at, to, da[plan.of_h * H :])
        put_back(own, of_W, H, dW)
    elif g.dx is not None and not g.accumulate:
        g.dx[...] = 0
    if dR is not None:
        own = dR if of_R == list(range(len(of_R))) else workspace.empty(dR.shape, dR.dtype)
        direction.recurrent_gradient(d, da[: n_h * H], own)
        put_back(own, of_R, H, dR)
    put_back(da @ np.ones(da.shape[1], da.dtype), back.gates, H, db)
