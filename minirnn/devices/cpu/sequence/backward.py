"""All steps of one direction backward, in the column layout: prepared once for a size, then run for any arrays of it.

The backward pass is linear (`minirnn.cells.linear`): the factors of many steps are computed at once, into the rows of
their steps. Then a step multiplies neighboring rows by one gradient, adds the terms of each gradient, and multiplies by
R. `write_backward` writes both as functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence.calls import Numbers
from minirnn.devices.cpu.sequence.forward import Saved, Sizes, product_of_step, turn
from minirnn.devices.cpu.sequence.visit import Array, Columns, Piece, Visit, steps_at_once
from minirnn.devices.cpu.sequence.write_backward import back_of

ROWS = 6
"""The rows of an LSTM, for which `steps_at_once` was measured."""


class Inputs(NamedTuple):
    """What the forward pass got and made, of one direction."""

    x: Array  # (T, B, I)
    h0: Array  # (B, P)
    weights: Weights
    masks: Sequence[Array]  # (T, B, H) each
    y: Array  # (T, B, P)
    room: Saved
    constants: Sequence[float] = ()


class Gradients(NamedTuple):
    """Further inputs of a backward pass, and the arrays that it fills."""

    dy: Array  # (T, B, P)
    dh_n: Array  # (B, P)
    dc_n: Any  # (states-1, B, H)
    dh0: Array
    dc0: Any
    dweights: Weights
    dx: Array | None  # (T, B, I), if it is wanted
    accumulate: bool  # add to dx rather than set it
    dc_each: Array | None = None  # (T, B, H), of the first state after each step


class Steps(NamedTuple):
    """A piece of the steps with all views."""

    piece: Piece
    steps: list[tuple[Any, ...]]
    dy: Array
    dc: Array | None
    rows: list[Array]
    scratch: tuple[list[Array], list[Array]]
    extra: list[Array]
    made: Array
    """The gradients of all gates of the piece, and `all` their place among those of all steps."""
    all: Array | None


class Backward:
    """A pass, for any arrays of these sizes. `each`: with a gradient of the first state after each step."""

    def __init__(self, plan: Plan, sizes: Sizes, visit: Visit, each: bool = False) -> None:
        self.plan, self.sizes, self.visit = plan, sizes, visit
        self.back = back = back_of(plan)
        T, B, _, H, P, dtype, _, zoned = sizes
        self.run_steps = back.runs[each, zoned]
        n = steps_at_once(T, B, H)
        if B > 1:  # cells with more rows take fewer steps
            n = max(1, n * ROWS // max(ROWS, back.rows))
        self.zoneout = workspace.empty((n, P, B), dtype) if zoned else None
        D = workspace.empty((n, back.rows, H, B), dtype)
        flat, G = D.reshape(n, back.rows * H, B), len(back.gates)
        step_da = flat[:, back.first * H : (back.first + G) * H]
        whole = B == 1 or n == T == 1
        da = step_da.transpose(1, 0, 2) if whole else workspace.empty((G * H, T, B), dtype)
        self.da = da.reshape(G * H, T * B)
        self.ones = np.ones(T * B, dtype)
        n_h = plan.of_h + plan.of_both
        self.of_R = Order([k if k < plan.of_both else k - plan.of_x for k in back.gates[:n_h]], H)
        self.of_W, self.of_b = Order(back.gates[plan.of_h :], H), Order(back.gates, H)
        self.rows_of_R, self.rows_of_W = self.da[: n_h * H], self.da[plan.of_h * H :]
        self.dot = product_of_step(P, n_h * H, B)
        self.R_T = workspace.empty((P, n_h * H), dtype) if plan.reads_h and B > 1 else None
        self.dh, self.dm = np.zeros((P, B), dtype), np.empty((H, B), dtype)
        self.inner = [np.zeros((H, B), dtype) for _ in range(plan.states - 1)]
        self.through_R, self.nothing = np.empty((P, B), dtype), np.zeros((H, B), dtype)
        self.dh_all = workspace.empty((T, P, B), dtype) if plan.projected else None
        self.m_all = workspace.empty((T, H, B), dtype) if plan.projected else None
        room = [np.empty((n, H, B), dtype) for _ in range(back.factor_room[0])]
        bools = [np.empty((n, H, B), bool) for _ in range(back.factor_room[1])]
        self.multiplied = [k for k, c in enumerate(plan.cuts) if c.kind == "product"]
        extra = [workspace.empty((n, H, B), dtype) for _ in self.multiplied]
        self.products = [np.empty((H if c.kind == "product" else 1, B), dtype) for c in plan.cuts]
        self.numbers = Numbers(back.factor_numbers, dtype)
        dy, dc = workspace.empty((n, P, B), dtype), workspace.empty((n, H, B), dtype) if each else None
        views = [
            list(flat[:, lo * H : hi * H] if name == "da" else D[:, lo] if hi == lo + 1 else D[:, lo:hi])
            for name, lo, hi in back.views
        ]
        self.D, self.pieces = D, []
        for piece in visit.pieces(n, backward=True):
            lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
            dh_t = [] if self.dh_all is None else [list(self.dh_all[lo:hi])]
            columns = [list(dy[:k]), *dh_t, *[v[:k] for v in views], *([] if dc is None else [list(dc[:k])])]
            columns += [] if self.zoneout is None else [list(self.zoneout[:k])]
            steps = list(zip(*[piece.order(c) for c in columns], strict=True))
            rows, scratch = list(D[:k].swapaxes(0, 1)), ([t[:k] for t in room], [b[:k] for b in bools])
            m = [] if self.m_all is None else [self.m_all[lo:hi]]
            there = None if whole else da[:, lo:hi]
            made = step_da[:k].transpose(1, 0, 2)
            dc_k = None if dc is None else dc[:k]
            self.pieces.append(
                Steps(piece, steps, dy[:k], dc_k, rows, scratch, [*(a[:k] for a in extra), *m], made, there)
            )

    def run(self, d: Inputs, g: Gradients) -> None:
        """Set dh0, dc0, the gradients of the weights and dx (or add to dx)."""
        plan, back, w, lengths, dh = self.plan, self.back, d.weights, self.visit.lengths, self.dh
        R_T = self.R_T
        if w.R is not None:
            R_T = self.of_R.of(w.R).T if R_T is None else self.of_R.transposed(w.R, R_T)
        vectors = [v[:, None] for v in w.vectors] if w.vectors else ()
        for dv in (*g.dweights.vectors, *g.dweights.U):
            dv[...] = 0
        Wp_T, U_T = None if w.Wp is None else w.Wp.T, [U.T for U in w.U] if w.U else ()
        arguments = self.dot, R_T, Wp_T, U_T, dh, self.dm, self.inner, self.products, self.through_R, self.nothing
        values, numbers = self.values(d), self.numbers.arrays
        if self.numbers.formulas:
            self.numbers.set(plan, d.constants)
        if lengths is not None:
            dh[...] = 0
            for a in self.inner:
                a[...] = 0
        for piece, steps, dy, dc, rows, scratch, extra, made, all_da in self.pieces:
            lo, hi, joining, leaving = piece.lo, piece.hi, piece.joining, piece.leaving
            back.factors(rows, [a[lo:hi] for a in values], extra, vectors, *scratch, numbers)
            turn(g.dy[lo:hi], dy)
            if self.zoneout is not None:
                turn(d.masks[-1][lo:hi], self.zoneout[: hi - lo])
            if dc is not None and g.dc_each is not None:
                turn(g.dc_each[lo:hi], dc)
            dh[:, joining] = g.dh_n.T[:, joining]
            for k, a in enumerate(self.inner):
                a[:, joining] = g.dc_n[k].T[:, joining]
            ends = self.run_steps(steps, *arguments)
            g.dh0[leaving] = dh[:, leaving].T
            for k, (a, end) in enumerate(zip(self.inner, ends, strict=True)):
                g.dc0[k][leaving] = end[:, leaving].T
                a[...] = end
            if lengths is not None:
                self.forget(piece, extra)
            if all_da is not None:
                all_da[...] = made
            if plan.vectors or extra:
                self.other_gradients(hi - lo, g.dweights, extra)
        self.weight_gradients(d, g)

    def forget(self, piece: Piece, extra: list[Array]) -> None:
        """No gradient flows in columns whose sample is done, or has not begun."""
        lengths: Any = self.visit.lengths
        k = piece.hi - piece.lo
        self.dh[:, piece.leaving] = 0
        for a in self.inner:
            a[:, piece.leaving] = 0
        done = lengths <= piece.lo
        self.D[:k, :, :, done] = 0
        for a in extra:
            a[:, :, done] = 0

    def other_gradients(self, k: int, dw: Weights, extra: list[Array]) -> None:
        """Add those of vectors and of the matrices of products, of a piece of k steps."""
        (_, B, _, H, *_), D, back = self.sizes, self.D, self.back
        for v, row in back.vectors.items():
            dw.vectors[v][...] += np.add.reduce(D[:k, row], (0, 2))
        for a, cut in zip(extra, self.multiplied, strict=False):
            if cut in back.multiplied:
                left = D[:k, back.multiplied[cut]].transpose(1, 0, 2).reshape(H, k * B)
                dw.U[self.plan.cuts[cut].matrix][...] += left @ a.transpose(1, 0, 2).reshape(H, k * B).T

    def weight_gradients(self, d: Inputs, g: Gradients) -> None:
        """The gradients of x, W, R, Wp and the biases."""
        plan, w, dw, of_W, of_R = self.plan, d.weights, g.dweights, self.of_W, self.of_R
        (T, B, _, H, *_), dx = self.sizes, g.dx
        if w.W is not None and of_W.same:
            input_gradients(d.x, self.rows_of_W, w.W, dw.W, dx, g.accumulate, H)
        elif w.W is not None:
            own = workspace.empty(w.W.shape, w.W.dtype)
            input_gradients(d.x, self.rows_of_W, of_W.of(w.W), own, dx, g.accumulate, H)
            of_W.back(own, dw.W)
        elif dx is not None and plan.reads_x:  # x entered every gate unchanged
            input_gradients(d.x, self.rows_of_W, None, None, dx, g.accumulate, H)
        elif dx is not None and not g.accumulate:
            dx[...] = 0
        if dw.R is not None:
            for here, there in of_R.runs:
                recurrent_gradient(self.visit, d.h0, d.y, self.rows_of_R[here], dw.R[there])
        if dw.bW is not None:
            sums = self.da @ self.ones
            if dw.bR is None:
                self.of_b.back(sums, dw.bW)
            else:
                of_W.back(sums[plan.of_h * H :], dw.bW)
                of_R.back(sums[: len(dw.bR)], dw.bR)
        if self.m_all is not None and self.dh_all is not None and dw.Wp is not None:
            left, right = (a.transpose(1, 0, 2).reshape(a.shape[1], T * B) for a in (self.dh_all, self.m_all))
            np.matmul(left, right.T, out=dw.Wp)

    def values(self, d: Inputs) -> list[Array]:
        """The values that factors read, (T, H, B) each."""
        found, room, last, T = [], d.room, self.plan.states - 1, self.sizes.T
        up = int(not self.visit.reverse)
        for _, (what, k) in self.back.sources:
            if what == "saved":
                found.append(room.saved[k][:T] if isinstance(room.saved, list) else room.saved[:T, k])
            elif what == "masks":
                found.append(d.masks[k][:T].transpose(0, 2, 1))
            elif k == last:
                source = room.h_before if what == "before" else d.y.transpose(0, 2, 1)
                found.append(source[:T])  # type: ignore[index]
            else:
                start = up if what == "after" else 1 - up
                found.append(room.inner[k][start : start + T])
        return found


class Order:
    """The rows of a matrix, H for each gate, in another order of the gates."""

    def __init__(self, gates: Sequence[int], H: int) -> None:
        self.same = list(gates) == list(range(len(gates)))
        starts = [k for k in range(len(gates)) if k == 0 or gates[k] != gates[k - 1] + 1]
        ends = [*starts[1:], len(gates)][: len(starts)]
        self.runs = [
            (slice(a * H, b * H), slice(gates[a] * H, (gates[a] + b - a) * H))
            for a, b in zip(starts, ends, strict=True)
        ]
        """Places of neighboring gates, in this order and in their own."""

    def of(self, rows: Array) -> Array:
        """The rows in this order."""
        if self.same:
            return rows
        out = workspace.empty(rows.shape, rows.dtype)
        for here, there in self.runs:
            out[here] = rows[there]
        return out

    def transposed(self, rows: Array, out: Array) -> Array:
        """`out` = the transposed rows in this order"""
        for here, there in self.runs:
            turn(rows[None, there], out[None, :, here])
        return out

    def back(self, rows: Array, out: Array) -> None:
        """Copy rows in this order to their own."""
        if self.same:
            out[...] = rows
            return
        for here, there in self.runs:
            out[there] = rows[here]


# ---- products


def product(a: Array, b: Array, out: Array) -> None:
    """out = a @ b"""
    if a.shape[1] == 1:  # np.matmul is slow at a column times a row
        np.multiply(a, b, out)
    else:
        np.matmul(a, b, out=out)


def recurrent_gradient(visit: Visit, h0: Array, y: Array, da2: Array, dR: Array) -> None:
    """dR = da2 @ h'        da2 (rows, T*B), dR (rows, P)

    h' of a step is y of the step visited before, and h0 where a sample starts. Padding in da2 and y is 0.
    """
    T, B, P = y.shape
    y = y.reshape(T * B, P)
    if B == 1:
        product(da2, np.concatenate((y[1:], h0) if visit.reverse else (h0, y[:-1])), dR)
        return
    start: Columns
    if not visit.reverse:
        np.matmul(da2[:, B:], y[:-B], out=dR)
        start = slice(0, B)
    else:
        np.matmul(da2[:, :-B], y[B:], out=dR)
        lengths = visit.lengths
        start = slice((T - 1) * B, T * B) if lengths is None else (lengths - 1) * B + np.arange(B)
    if dR.flags.c_contiguous:
        dR += da2[:, start] @ h0
    else:  # a sum should read memory in order
        transposed = dR.T
        transposed += h0.T @ da2[:, start].T


def input_gradients(
    x: Array, da: Array, W: Array | None, dW: Array | None, dx: Array | None, accumulate: bool, each: int
) -> None:
    """dW = da @ x and dx = da.T @ W, or without W the sum over the gates, `each` rows        da (rows, T*B)"""
    T, B, width = x.shape
    if dW is not None:
        product(da, x.reshape(T * B, width), dW)
    if dx is None:
        return
    if W is not None and not accumulate:
        np.matmul(da.T, W, out=dx.reshape(T * B, width))
        return
    sums = da.reshape(-1, each, T, B).sum(axis=0).transpose(1, 2, 0) if W is None else (da.T @ W).reshape(dx.shape)
    dx[...] = dx + sums if accumulate else sums
