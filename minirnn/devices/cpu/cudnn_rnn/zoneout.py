"""The recurrent layers with zoneout, one direction, in the column layout of `columns.direction`.

The formulas: `minirnn/ops/cudnn_rnn/zoneout.py`. The cells are those of `simple`, `gru` and `columns/lstm.py`, step by
step; around each step stands, with zh and zc of that step (`keep` and `1 - keep`, made for a piece of steps at once)::

    h = zh * h' + (1 - zh) * h_new        c = zc * c' + (1 - zc) * c_new

Loops of their own keep the plain ones as short as they are. Saved is what the plain layers save, in the same rows, and
for rnn_tanh and rnn_relu h_new, which y no longer tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns import lstm
from minirnn.devices.cpu.columns.direction import (
    Direction,
    Gradients,
    all_steps,
    backward_pieces,
    forward_pieces,
    product_of_step,
    weight_gradients,
)
from minirnn.devices.cpu.columns.visit import Array, Piece, steps_at_once
from minirnn.devices.cpu.cudnn_rnn import gru, simple

add, multiply, subtract, tanh, maximum = np.add, np.multiply, np.subtract, np.tanh, np.maximum


class Keep(NamedTuple):
    """How much of the old state stays at each step, (T, B, P) and, for the lstm, (T, B, H)."""

    zh: Array
    zc: Array | None


def columns(z: Array | None, piece: Piece) -> tuple[Array, Array]:
    """z and 1 - z of the steps of a piece, in visiting order: (n, rows, B) each. Empty steps without z."""
    if z is None:
        nothing = np.empty((piece.hi - piece.lo, 0, 0))
        return nothing, nothing
    keep = np.ascontiguousarray(z[piece.steps].transpose(0, 2, 1))
    return keep, 1 - keep


class Simple:
    """h_new = f(W x + R h' + b)        values: h_new"""

    rows = 1

    def __init__(self, d: Direction, relu: bool) -> None:
        self.W, self.relu = d.weights.W, relu
        B, self.dot = d.x.shape[1], product_of_step(d.x.shape[1])
        self.Rb = simple.left_weights(d.weights, B)
        self.a = np.empty((len(self.Rb), B), d.x.dtype)

    def gate_input(self, x: Array, a_x: Array) -> None:
        simple.gate_input(self.W, x, a_x)

    def step(self, h1: Array, h_prev: Array, a_x: Array, values: Array) -> Array:
        """h_new, from the columns [h'; 1] and what x adds."""
        self.dot(self.Rb, h1, self.a)
        add(self.a, a_x, self.a)
        h_new: Array = values[0]
        return maximum(self.a, 0, out=h_new) if self.relu else tanh(self.a, h_new)


class Gru:
    """h_new = n + z * (h' - n)        values: q, r, z, n, h' - n"""

    rows = 5

    def __init__(self, d: Direction) -> None:
        H, B, dtype = d.weights.R.shape[1], d.x.shape[1], d.x.dtype
        self.Rb, self.W_x, self.b_n = gru.left_weights(d.weights, B)
        self.dot = product_of_step(B)
        self.t, self.h_new = np.empty((H, B), dtype), np.empty((H, B), dtype)
        self.half = np.array(0.5, dtype)

    def gate_input(self, x: Array, a_x: Array) -> None:
        gru.gate_input(self.W_x, x, self.b_n, a_x)

    def step(self, h1: Array, h_prev: Array, a_x: Array, values: Array) -> Array:
        H, B = self.t.shape
        (q, r, z, n, h_minus_n), qrz, t = values, values[:3].reshape(3 * H, B), self.t
        self.dot(self.Rb, h1, qrz)
        rz = qrz[H:]
        add(rz, a_x[: 2 * H], rz)
        tanh(rz, rz)
        multiply(rz, self.half, rz)
        add(rz, self.half, rz)
        multiply(r, q, t)
        add(t, a_x[2 * H :], t)
        tanh(t, n)
        subtract(h_prev, n, h_minus_n)
        multiply(z, h_minus_n, t)
        return add(n, t, self.h_new)


class Lstm:
    """c_new = (i, f) . (n, c')    h_new = o * tanh(c_new), or the projection of it        values: o, i, f, n, c'"""

    rows = 5

    def __init__(self, d: Direction) -> None:
        assert d.c0 is not None
        self.c0, self.c_n = d.c0, np.empty_like(d.c0)
        (B, H), P, dtype = d.c0.shape, d.weights.R.shape[1], d.x.dtype
        self.Rb, self.W_x = lstm.left_weights(d.weights, "ifno", merged=False, B=B)
        self.Wp, self.dot = d.weights.Wp, product_of_step(B)
        self.a, self.t = np.empty((4 * H, B), dtype), np.empty((2, H, B), dtype)
        self.c, self.c_new, self.m = np.zeros((H, B), dtype), np.empty((H, B), dtype), np.empty((H, B), dtype)
        self.projected = np.empty((P, B), dtype)
        self.half = np.array(0.5, dtype)

    def gate_input(self, x: Array, a_x: Array) -> None:
        lstm.gate_input(self.W_x, x, a_x)

    def step(self, h1: Array, h_prev: Array, a_x: Array, values: Array) -> Array:
        """h_new; c_new is left in `self.c_new`, and c becomes c' of the values."""
        H, B = self.c.shape
        values[4] = self.c
        gates, sigmoids, t = values[:4].reshape(4 * H, B), values[:3], self.t
        self.dot(self.Rb, h1, self.a)
        add(self.a, a_x, gates)
        tanh(gates, gates)
        multiply(sigmoids, self.half, sigmoids)
        add(sigmoids, self.half, sigmoids)
        multiply(values[1:3], values[3:5], t)
        add(t[0], t[1], self.c_new)
        tanh(self.c_new, self.m)
        multiply(values[0], self.m, self.m)
        return self.m if self.Wp is None else self.dot(self.Wp, self.m, self.projected)


def forward(d: Direction, rnn_mode: str, z: Keep) -> tuple[Array, Array | None]:
    """Set y (T, B, P) and what is saved; return h_n (B, P) and, for the lstm, c_n (B, H)."""
    T, B, width = d.x.shape
    G_H, P = d.weights.R.shape
    dtype = d.x.dtype
    cell = Lstm(d) if rnn_mode == "lstm" else Gru(d) if rnn_mode == "gru" else Simple(d, rnn_mode == "rnn_relu")
    H = len(d.weights.bW) // {"lstm": 4, "gru": 3}.get(rnn_mode, 1)
    n = steps_at_once(T, B, H, width)
    a_x = workspace.empty((n, G_H, B), dtype)
    states = workspace.empty((n + 1, P + 1, B), dtype)  # [h; 1] before and after each step of a piece
    states[0], states[:, P] = 0, 1
    values = d.saved if d.saved is not None else [np.empty((cell.rows, H, B), dtype)] * T
    t_h = np.empty((P, B), dtype)

    h_n = np.empty((B, P), dtype)
    for piece, h_in, h_out in forward_pieces(d, states, h_n):
        lo, hi, k = piece.lo, piece.hi, len(h_in)
        cell.gate_input(d.x[lo:hi], a_x[:k])
        if rnn_mode == "rnn_relu" and d.visit.lengths is not None:  # without a sample relu could grow without bound
            ended = np.arange(lo, hi)[:, None] >= d.visit.lengths
            np.copyto(a_x[:k], -np.inf, where=ended[:, None])
        if isinstance(cell, Lstm):
            piece.join(cell.c0, cell.c)
        steps = zip(
            h_in, h_out, piece.order(a_x[:k]), values[piece.steps],
            *columns(z.zh, piece), *columns(z.zc, piece), strict=True,
        )  # fmt: skip
        for h1, h, x_t, values_t, zh, one_minus_zh, zc, one_minus_zc in steps:
            h_prev = h1[:P]
            h_new = cell.step(h1, h_prev, x_t, values_t)
            multiply(zh, h_prev, h)
            multiply(one_minus_zh, h_new, t_h)
            add(h, t_h, h)
            if isinstance(cell, Lstm):
                multiply(zc, cell.c, cell.c)
                multiply(one_minus_zc, cell.c_new, cell.c_new)
                add(cell.c, cell.c_new, cell.c)
        if isinstance(cell, Lstm):
            piece.leave(cell.c, cell.c_n)
    return h_n, cell.c_n if isinstance(cell, Lstm) else None


def backward(d: Direction, g: Gradients, rnn_mode: str, z: Keep) -> tuple[Array, Array | None]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, P) and, for the lstm, dc0 (B, H).

        dh += dy        dh_new = (1 - zh) * dh        the factors of the cell *= dh_new        dh = R.T @ da2 + zh * dh
        lstm: dc_new = (1 - zc) * dc + dc_h           its factors *= dc_new                    dc = carry + zc * dc

    where dc_h is what reaches c_new from dh_new.
    """
    _, R, Wp, _, _ = d.weights
    T, B, _ = d.x.shape
    assert d.saved is not None
    H, P, dtype, dot = d.saved.shape[2], R.shape[1], d.x.dtype, product_of_step(B)
    n = steps_at_once(T, B, H)
    is_lstm, is_gru = rnn_mode == "lstm", rnn_mode == "gru"
    # The rows of a step, as the plain layers have them: lstm carry, da of 4 gates, dc_h; gru dq, da of r z n, carry.
    D = workspace.empty((n, 6 if is_lstm else 5 if is_gru else 1, H, B), dtype)
    flat = D.reshape(n, -1, B)
    scratch = workspace.empty((n, 2, H, B), dtype)
    step_da = flat[:, H : 5 * H] if is_lstm else flat[:, : 4 * H] if is_gru else flat
    da2 = flat[:, : 3 * H] if is_gru else step_da
    da = all_steps(step_da, T)
    R_T = np.ascontiguousarray((np.concatenate((R[2 * H :], R[: 2 * H])) if is_gru else R).T)
    dh_new_all: Any = workspace.empty((T, P, B), dtype) if Wp is not None else [None] * T

    dh, dc, dc_new, kept_dh, kept_dc = (np.zeros((k, B), dtype) for k in (P, H, H, P, H))
    dh_new_here, dm = np.empty((P, B), dtype), np.empty((H, B), dtype)
    dh0, dc0 = np.empty((B, P), dtype), None if g.dc_n is None else np.empty_like(g.dc_n)
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, da):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        saved = d.saved[lo:hi]
        if is_lstm:
            lstm.factors(lstm.values_of(saved), "ifno", scratch[:k, 0], D[:k])
            assert g.dc_n is not None
            piece.join(g.dc_n, dc)
        elif is_gru:
            gru.factors(saved, scratch[:k], D[:k])
        else:
            simple.factors(saved[:, 0], rnn_mode == "rnn_relu", D[:k, 0])
        steps = zip(
            *(piece.order(a) for a in (D[:k], da2[:k], g.dy[lo:hi].transpose(0, 2, 1), dh_new_all[lo:hi])),
            *columns(z.zh, piece), *columns(z.zc, piece), strict=True,
        )  # fmt: skip
        for factors, da_t, dy_t, dh_new, zh, one_minus_zh, zc, one_minus_zc in steps:
            dh_new = dh_new_here if dh_new is None else dh_new
            add(dh, dy_t, dh)
            multiply(zh, dh, kept_dh)
            multiply(one_minus_zh, dh, dh_new)
            if is_lstm:
                if Wp is not None:
                    dot(Wp.T, dh_new, dm)
                multiply(factors[4:], dh_new if Wp is None else dm, factors[4:])  # da_o, dc_h
                multiply(zc, dc, kept_dc)
                multiply(one_minus_zc, dc, dc_new)
                add(dc_new, factors[5], dc_new)
                multiply(factors[:4], dc_new, factors[:4])  # carry, da_i, da_f, da_n
                add(factors[0], kept_dc, dc)
            else:
                multiply(factors, dh_new, factors)
            dot(R_T, da_t, dh)
            if is_gru:
                add(dh, factors[4], dh)
            add(dh, kept_dh, dh)
        if dc0 is not None:
            piece.leave(dc, dc0)
            if d.visit.lengths is not None:
                dc[:, piece.leaving] = 0

    if is_gru:
        gru.weight_gradients(d, g, da.reshape(4 * H, T * B))
    else:
        weight_gradients(d, g, da.reshape(-1, T * B))
    if Wp is not None:
        lstm.projection_gradient(lstm.values_of(d.saved), dh_new_all, g)
    return dh0, dc0
