"""All steps of one direction forward, in the column layout: prepared once for a size, then run for any arrays of it.

Column layout: samples are columns. A state is (H, B), a block of gates (G*H, B), so each gate is contiguous and the
product of a step, ``R @ h``, has the weights on the left. Users' arrays stay (T, B, width) and are transposed piece by
piece. `Forward` has the memory of a pass and every view of it that a step reads or sets, so a call only copies the
weights, x and the states to their places, and runs the loop that `write_forward` wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence.calls import HALVES, Numbers, value_of
from minirnn.devices.cpu.sequence.visit import WIDE_INPUT, Array, Piece, Visit, steps_at_once
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of

MERGED = 1 << 19
"""Elements of R and W up to which x shares the product of a step with h, [R | b | W] @ [h; 1; x]."""

UNPACKED = 10**6  # multiply-adds up to which OpenBLAS (AVX-512) reads both factors where they are
CACHED_NUMBERS = 1 << 13
"""Elements of a value in the steps that are computed at once before the loop: a few values fit the L1 cache."""
OF_A_PIECE = ("x", "masks", "ahead", "h1", "h", "h_new", "part")
"""Memory that has the steps of a piece only."""
TURNED = 64, 1 << 14  # columns copied at once when a matrix of this size is transposed: more would share cache lines
SMALL = 1 << 13  # multiply-adds up to which a call costs more than its product


class Sizes(NamedTuple):
    """The sizes of one direction."""

    T: int
    """The longest length."""
    B: int
    I: int
    H: int
    P: int
    dtype: np.dtype
    skip: bool
    """Whether x enters every gate unchanged, without W."""
    zoned: bool = False
    """Whether a projected h keeps a share of the old one."""


class Saved(NamedTuple):
    """The values that the backward pass reads."""

    saved: Any  # (T, slots, H, B), or a list of (T, H, B) for each slot
    inner: list[Array]  # (T+1, H, B), the states but the last before and after each step
    h_before: Array | None  # (T, H, B), if it reads that

    @classmethod
    def within(cls, plan: Plan, room: Array, T: int, H: int, B: int) -> Saved:
        """The arrays in the memory of one direction."""
        _, places = layout(plan, T, H, B)
        saved, *rest = [room[start:stop].reshape(shape) for start, stop, shape in places]
        inner = plan.states - 1
        return cls(saved, rest[:inner], rest[inner] if len(rest) > inner else None)


@lru_cache(maxsize=256)
def layout(plan: Plan, T: int, H: int, B: int) -> tuple[int, list[tuple[int, int, tuple[int, ...]]]]:
    """The number of elements that a direction saves, and the place and shape of each array."""
    before = [(T, H, B)] if plan.states - 1 in back_of(plan).before else []
    places, start = [], 0
    slots = loop_of(plan).slots
    for shape in [(T if slots.stored else 0, slots.count, H, B), *[(T + 1, H, B)] * (plan.states - 1), *before]:
        places.append((start, start + prod(shape), shape))
        start += prod(shape)
    return start, places


class Run(NamedTuple):
    """Neighboring gates of R that are neighbors in the memory of a step too, and whether a sigmoid halves them."""

    rows: slice
    """In R and its bias, and in W if these are gates of both."""
    halved: bool
    R: Array
    b: Array
    W: Array | None


class Steps(NamedTuple):
    """A piece of the steps with all views."""

    piece: Piece
    steps: list[tuple[Array, ...]]
    x: Array
    """Where x goes, or W x."""
    h_in: Array
    h_out: Array
    before: list[Array]
    after: list[Array]
    """The inner states before the first step and after the last one."""
    ahead: list[list[list[Array]]]
    """The inputs, outputs and scratch arrays of `ahead`, for a few steps at a time."""


class Forward:
    """A pass, for any arrays of these sizes. With `room` it saves what a backward pass reads."""

    def __init__(self, plan: Plan, sizes: Sizes, visit: Visit, room: Saved | None) -> None:
        self.plan, self.sizes, self.visit, self.room = plan, sizes, visit, room
        T, B, width, H, P, dtype, skip, zoned = sizes
        self.nH, self.xH, self.hH = (n * H for n in (plan.of_both, plan.of_x, plan.of_h))
        merged = plan.reads_x and not skip and plan.reads_h and B > 1 and plan.of_x == plan.of_h == 0
        self.merged = merged = merged and self.nH * (P + width) <= MERGED
        loop = loop_of(plan, merged, zoned, wide=16 * H * B > CACHED_NUMBERS)
        self.loop, self.slots, self.ahead = loop.run, loop.slots, loop.ahead
        n = steps_at_once(T, B, H, 0 if merged else width)
        self.states = workspace.empty((n + 1, P + 1 + merged * width, B), dtype)  # [h; 1] of a piece, perhaps x
        self.states[0], self.states[:, P] = 0, 1
        self.a_x = workspace.empty((0 if merged else n, self.nH + self.xH, B), dtype)
        self.no_bias = np.zeros(self.nH + self.xH + self.hH, dtype)
        self.left_weights()
        self.few = few = min(n, max(1, CACHED_NUMBERS // (H * B)))
        self.scratch_ahead = [
            [np.empty((few, H, B), kind) for _ in range(count)]
            for kind, count in ((dtype, loop.ahead.temporaries), (bool, loop.ahead.masks))
        ]
        columns = self.columns(loop.views)
        upward = int(not visit.reverse)
        self.pieces = []
        for piece in visit.pieces(n):
            k = piece.hi - piece.lo
            views = []
            for what, whole in columns:
                of_piece = whole[:k] if what in OF_A_PIECE else whole[piece.steps]
                views.append(piece.order(of_piece) if what in ("x", "masks", "ahead") else of_piece)
            x = self.states[:k, P + 1 :] if merged else self.a_x[:k]
            at = piece.first + 1 - upward, piece.last + upward
            before, after = ([a[j] for a in self.inner] for j in at)
            h_in, h_out = self.states[:k, :P], self.states[1 : k + 1, :P]
            ahead = self.steps_ahead(piece)
            self.pieces.append(Steps(piece, list(zip(*views, strict=True)), x, h_in, h_out, before, after, ahead))
        temporaries = [np.empty((H, B), dtype) for _ in range(loop.temporaries)]
        bools = [np.empty((H, B), bool) for _ in range(loop.masks)]
        products = [np.empty((H if c.kind == "product" else 1, B), dtype) for c in plan.cuts]
        self.scratch = HALVES[dtype], temporaries, bools, products
        self.numbers = Numbers(loop.numbers, dtype)
        self.numbers_ahead = Numbers(loop.ahead.numbers, dtype)

    def left_weights(self) -> None:
        """Memory for [R | b] or [R | b | W] in the order of the slots, and for W apart from it."""
        plan, slots, (_, B, width, H, P, dtype, skip, _) = self.plan, self.slots, self.sizes
        rows, columns = slots.rows_of_R * H, P + 1 + self.merged * width
        self.left, self.dot = left_matrix(rows, columns, B, dtype), product_of_step(rows, columns, B)
        self.W = (
            workspace.empty((self.nH + self.xH, width), dtype)
            if plan.reads_x and not skip and not self.merged
            else None
        )
        self.runs: list[Run] = []
        order = [*((plan.of_both + k, False) for k in range(plan.of_h)), *zip(slots.both, slots.halved, strict=True)]
        start = 0
        while start < len(order):
            (gate, halved), stop = order[start], start + 1
            while (
                stop < len(order)
                and order[stop] == (gate + stop - start, halved)
                and (stop < plan.of_h) == (start < plan.of_h)
            ):
                stop += 1
            to = self.left[start * H : stop * H]
            W = to[:, P + 1 :] if self.merged else None
            if self.W is not None and start >= plan.of_h:
                W = self.W[(start - plan.of_h) * H : (stop - plan.of_h) * H]
            rows_of = slice(gate * H, (gate + stop - start) * H)
            self.runs.append(Run(rows_of, halved, to[:, :P], to[:, P], W))
            start = stop
        gates = list(plan.derivation.step.gates.values())
        self.shifts = []  # numbers that are added to biases, as (the bias, the number, its factor)
        for place, (gate, halved) in enumerate(order):
            if (e := slots.shifted.get(gates[gate])) is not None and place >= plan.of_h:
                (number,) = [a for a in e.args if a is not gates[gate]]
                self.shifts.append((self.left[place * H : (place + 1) * H, P], number, 0.5 if halved else 1.0))

    def columns(self, views: Sequence[tuple[str, tuple[Any, ...]]]) -> list[tuple[str, list[Any]]]:
        """Each view of the loop, for all steps or, of the memory of a piece, for all steps of the longest piece."""
        plan, (T, B, _, H, P, dtype, *_) = self.plan, self.sizes
        room = self.room
        if room is None:
            inner = [workspace.empty((T + 1, H, B), dtype) for _ in range(plan.states - 1)]
            room = Saved(None, inner, None)
        self.inner = [a[: T + 1] for a in room.inner]
        n = len(self.states) - 1
        self.masks = [workspace.empty((n, H, B), dtype) for _ in range(plan.masks)]
        self.masks += [workspace.empty((n, P, B), dtype) for _ in range(2 * self.sizes.zoned)]  # zoneout, 1 - zoneout
        up = int(not self.visit.reverse)
        own = room.saved is None or not self.slots.stored  # every step works in the same place
        saved = workspace.empty((1, self.slots.count, H, B), dtype) if own else room.saved[:T]
        flat = saved.reshape(len(saved), self.slots.count * H, B)
        self.made = [
            (workspace.empty((n, H, B), dtype), False) if own or k is None else (saved[:, k], True)
            for k in self.ahead.slots
        ]
        found: list[tuple[str, list[Any]]] = []
        for _, (what, *place) in views:
            if what == "slots":
                lo, hi = place
                rows = list(flat[:, lo * H : hi * H])
                whole = rows * T if own else rows
            elif what in ("before", "after"):
                start = up if what == "after" else 1 - up
                whole = list(self.inner[place[0]][start : start + T])
            elif what == "masks":
                whole = list(self.masks[place[0]])
            elif what == "x":
                whole = list(self.a_x[:, place[0] * H : place[1] * H])
            elif what == "ahead":
                made, kept = self.made[place[0]]
                what, whole = "slots" if kept else what, list(made)
            else:
                states = {"h1": self.states[:-1], "h": self.states[:-1, :P], "h_new": self.states[1:, :P]}
                whole = list(states[what]) if what in states else [np.empty((P, B), dtype)] * T
            found.append((what, whole))
        return found

    def steps_ahead(self, piece: Piece) -> list[list[list[Array]]]:
        """The inputs, outputs and scratch arrays of `ahead`, for a few steps of a piece at a time."""
        H, k, n = self.sizes.H, piece.hi - piece.lo, self.few
        if not self.made:
            return []
        arrays = [
            self.a_x[:k, j * H : j * H + H] if what == "x" else self.masks[j][:k] for what, j in self.ahead.sources
        ]
        arrays += [a[piece.lo : piece.hi] if kept else a[:k] for a, kept in self.made]
        ends = [(lo, min(lo + n, k)) for lo in range(0, k, n)]
        return [
            [[a[lo:hi] for a in arrays], *[[a[: hi - lo] for a in s] for s in self.scratch_ahead]] for lo, hi in ends
        ]

    def lay_out(self, w: Weights) -> Array | None:
        """Copy the weights to their places; the bias of gates of x alone."""
        nH, xH = self.nH, self.xH
        if w.bW is None:
            b = bW = self.no_bias
        elif w.bR is None:
            b = bW = w.bW
            if xH:
                b = np.concatenate((bW[:nH], bW[nH + xH :]))
        elif not xH:
            b = bW = w.bW + w.bR
        else:
            b, bW = w.bR.copy(), w.bW
            b[:nH] += bW[:nH]
        half = HALVES[self.sizes.dtype]
        for rows, halved, R_to, b_to, W_to in self.runs:
            if halved:
                np.multiply(w.R[rows], half, R_to)
                np.multiply(b[rows], half, b_to)
                if W_to is not None:
                    np.multiply(w.W[rows], half, W_to)
            else:
                R_to[...] = w.R[rows]
                b_to[...] = b[rows]
                if W_to is not None:
                    W_to[...] = w.W[rows]
        if self.W is not None and xH:
            self.W[nH:] = w.W[nH:]
        return bW[nH : nH + xH, None] if xH else None

    def run(
        self,
        x: Array,
        h0: Array,
        c0: Any,
        w: Weights,
        masks: Sequence[Array],
        y: Array,
        h_n: Array,
        c_n: Any,
        constants: Sequence[float] = (),
    ) -> None:
        """Set y (T, B, P), h_n (B, P), the other states c_n (states-1, B, H), and the values that are kept."""
        b_x = self.lay_out(w)
        if self.visit.lengths is not None:
            self.states[0, : self.sizes.P] = 0
            for a in self.inner:
                a[-1 if self.visit.reverse else 0] = 0
        if self.shifts:
            named = dict(zip(self.plan.constant_names, constants, strict=True))
            for b, number, factor in self.shifts:
                b += factor * value_of(number, named)
        vectors = [v[:, None] for v in w.vectors] if w.vectors else ()
        numbers = self.numbers.set(self.plan, constants) if self.numbers.formulas else self.numbers.arrays
        numbers_ahead = self.numbers_ahead.arrays
        if self.numbers_ahead.formulas:
            self.numbers_ahead.set(self.plan, constants)
        arguments = self.dot, self.left, w.Wp, w.U, vectors, *self.scratch, numbers
        last = self.pieces[-1]
        for one in self.pieces:
            piece, steps, x_to, h_in, h_out, before, after, ahead = one
            part = x[piece.lo : piece.hi]
            for to, z in zip(self.masks, masks, strict=False):
                turn(z[piece.lo : piece.hi], to[: len(part)])
            if self.sizes.zoned:
                np.subtract(1, self.masks[-2], self.masks[-1])
            if self.merged:
                turn(part if piece.upward else part[::-1], x_to)
            elif self.W is not None:
                project(self.W, part, x_to)
            else:
                self.repeat(part, x_to)
            if b_x is not None:
                of_x = x_to[:, self.nH :]
                np.add(of_x, b_x, of_x)
            for arrays, temporaries, bools in ahead:
                self.ahead.run(arrays, temporaries, bools, vectors, numbers_ahead)
            joining, leaving = piece.joining, piece.leaving
            h_in[0][:, joining] = h0.T[:, joining]
            for k, a in enumerate(before):
                a[:, joining] = c0[k].T[:, joining]
            self.loop(steps, *arguments)
            if self.room is not None and self.room.h_before is not None:
                self.room.h_before[: self.sizes.T][piece.steps] = h_in
            turn(h_out, y[piece.steps])
            h_n[leaving] = h_out[-1][:, leaving].T
            for k, a in enumerate(after):
                c_n[k][leaving] = a[:, leaving].T
            if one is not last:
                self.states[0, : self.sizes.P] = h_out[-1]

    def repeat(self, x: Array, a_x: Array) -> None:
        """x of each step for every gate, halved where a sigmoid follows."""
        columns, H = x.transpose(0, 2, 1), self.sizes.H
        for k in range(a_x.shape[1] // H):
            halved = k < len(self.slots.halved) and self.slots.halved[k]
            np.multiply(columns, x.dtype.type(0.5 if halved else 1), a_x[:, k * H : (k + 1) * H])


def states_of(states: Any, k: int) -> Array:
    """Those of direction k, (states-1, B, H)."""
    one: Array = states[k]
    return one[None] if one.ndim == 2 else one


# ---- products


def product_of_step(rows: int, columns: int, B: int) -> Callable[[Array, Array, Array], Array]:
    """Compute ``R @ h``, (rows, columns) @ (columns, B), into an existing array.

    ``np.dot`` first fills the result with zeros on one core, which makes a product a tenth slower at H = 256 and
    B = 32. For one column, or a small product, its lower call overhead matters more.
    """
    return np.dot if B == 1 or rows * columns * B <= SMALL else np.matmul


def left_matrix(rows: int, columns: int, B: int, dtype: np.dtype) -> Array:
    """An empty matrix for `product_of_step`.

    Its rows are whole cache lines apart if OpenBLAS multiplies without packing, which saves a tenth of a layer's time
    at H = 128 and B = 8. ``np.dot`` would copy such a matrix at every step.
    """
    apart = product_of_step(rows, columns, B) is np.matmul and rows * columns * B <= UNPACKED
    line = workspace.ALIGNMENT // dtype.itemsize if apart else 1
    return workspace.empty((rows, -(-columns // line) * line), dtype)[:, :columns]


def turn(a: Array, out: Array) -> None:
    """out[t] = a[t].T for all t"""
    _, rows, columns = out.shape
    n, size = TURNED
    if rows * columns < size:
        out[...] = a.transpose(0, 2, 1)
        return
    for k in range(0, columns, n):
        out[:, :, k : k + n] = a[:, k : k + n].transpose(0, 2, 1)


def project(W: Array, x: Array, a: Array) -> None:
    """a[t] = W @ x[t].T        W (rows, in), x (T, B, in), a (T, rows, B)"""
    T, B, width = x.shape
    rows = len(W)
    if B == 1:
        np.matmul(x[:, 0], W.T, out=a[:, :, 0])
    elif width < WIDE_INPUT:
        np.matmul(W, x.transpose(0, 2, 1), out=a)
    else:
        wide = workspace.empty((rows, T * B), x.dtype)
        np.matmul(W, x.reshape(T * B, width).T, out=wide)
        a[...] = wide.reshape(rows, T, B).transpose(1, 0, 2)
