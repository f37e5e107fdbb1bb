"""The GRU layer, one direction, in the column layout of `columns.direction`.

Forward, with rows q r z from h' and r z n from x:

    [q; r; z] = R h' + b        r, z = sigmoid(x part + .)        n = tanh(x part + r*q)        h = n + z*(h' - n)

Backward, everything is linear in dh. The factors of many steps are computed at once; then a step is one product and
three calls. The rows of a step are dq, da_r, da_z, da_n and carry (carry = z):

    dh += dy        (dq, da_r, da_z, da_n, carry) *= dh        dh = R.T @ (dq, da_r, da_z) + carry
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns.direction import (
    Direction,
    Gradients,
    Weights,
    all_steps,
    backward_pieces,
    forward_pieces,
    input_gradients,
    left_matrix,
    product_of_step,
    project,
    recurrent_gradient,
)
from minirnn.devices.cpu.columns.visit import Array, steps_at_once
from minirnn.devices.cpu.columns.zoneout import masks, mix, split

add, subtract, multiply, tanh = np.add, np.subtract, np.multiply, np.tanh


def left_weights(weights: Weights, B: int) -> tuple[Array, Array | None, Array]:
    """[R | b] with rows q, r, z; W or None; the bias of n for every sample. Rows of r and z are halved.

    sigmoid(a) = tanh(a/2)/2 + 1/2
    """
    W, R, _, bW, bR = weights
    H, dtype = R.shape[1], R.dtype
    half = dtype.type(0.5)
    Rb = left_matrix(3 * H, H + 1, B, dtype)  # [R | b]: a row of ones below h adds the bias within the product
    Rb[:H, :H], Rb[:H, H] = R[2 * H :], bR[2 * H :]
    multiply(R[: 2 * H], half, Rb[H:, :H])
    multiply(bW[: 2 * H] + bR[: 2 * H], half, Rb[H:, H])
    W_x = None
    if W is not None:
        W_x = workspace.empty(W.shape, dtype)
        multiply(W[: 2 * H], half, W_x[: 2 * H])
        W_x[2 * H :] = W[2 * H :]
    b_n = np.repeat(bW[2 * H :], B)  # (H*B,), apart from bR_n, which r multiplies
    return Rb, W_x, b_n


def forward(d: Direction) -> tuple[Array, None]:
    """Set y (T, B, H) and the saved values; return h_n (B, H)."""
    T, B, width = d.x.shape
    H, dtype, dot = d.h0.shape[1], d.x.dtype, product_of_step(B)
    Rb, W_x, b_n = left_weights(d.weights, B)
    n = steps_at_once(T, B, H, width)
    a_x = workspace.empty((n, 3 * H, B), dtype)
    states = workspace.empty((n + 1, H + 1, B), dtype)  # [h; 1] before and after each step of a piece
    states[0], states[:, H] = 0, 1

    if d.saved is None:  # every step works in the same place
        block = workspace.empty((5 * H, B), dtype)
        steps = [(block[: 3 * H], block[H : 3 * H], *block.reshape(5, H, B))] * T
    else:
        flat = d.saved.reshape(T, 5 * H, B)
        steps = list(zip(flat[:, : 3 * H], flat[:, H : 3 * H], *d.saved.swapaxes(0, 1), strict=True))

    HALF = np.array(0.5, dtype)
    t = np.empty((H, B), dtype)
    h_n = np.empty((B, H), dtype)
    for piece, h_in, h_out in forward_pieces(d, states, h_n):
        lo, hi, k = piece.lo, piece.hi, len(h_in)
        gate_input(W_x, d.x[lo:hi], b_n, a_x[:k])
        h_prev = h_in[0, :H]
        x_rz_all, x_n_all = a_x[:k, : 2 * H], a_x[:k, 2 * H :]
        keep: Any = [None] * k if d.keep is None else masks(d.keep.zh, piece)
        for x_rz, x_n, (qrz, rz, q, r, z, n, h_minus_n), h1, h, keep_t in zip(
            piece.order(x_rz_all), piece.order(x_n_all), steps[piece.steps], h_in, h_out, keep, strict=True
        ):
            dot(Rb, h1, qrz)
            add(rz, x_rz, rz)
            tanh(rz, rz)
            multiply(rz, HALF, rz)
            add(rz, HALF, rz)
            multiply(r, q, t)
            add(t, x_n, t)
            tanh(t, n)
            subtract(h_prev, n, h_minus_n)
            multiply(z, h_minus_n, t)
            add(n, t, h)
            if keep_t is not None:
                mix(keep_t, h_prev, h.copy(), h)
            h_prev = h
    return h_n, None


def gate_input(W_x: Array | None, x: Array, b_n: Array, a_x: Array) -> None:
    """a_x = W_x @ x of each step, or x for every gate, halved for the sigmoids; b_n added to the rows of n."""
    T, rows, B = a_x.shape
    H = rows // 3
    if W_x is not None:
        project(W_x, x, a_x)
    else:
        x = x.transpose(0, 2, 1)
        multiply(x[:, None], x.dtype.type(0.5), a_x[:, : 2 * H].reshape(T, 2, H, B))
        a_x[:, 2 * H :] = x
    a_n = a_x.reshape(T, rows * B)[:, 2 * H * B :]
    add(a_n, b_n, a_n)


def factors(saved: Array, one_minus: Array, D: Array) -> None:
    """Fill D (n, 5, H, B) with the derivatives that depend only on `saved`; `one_minus` (n, 2, H, B) is scratch.

    dq = da_n r    da_r = da_n q r(1-r)    da_z = (h'-n) z(1-z)    da_n = (1-z)(1-n^2)    carry = z
    """
    ONE = np.array(1, D.dtype)
    (q, r, z, n, h_minus_n), rz = saved.swapaxes(0, 1), saved[:, 1:3]  # (n, H, B) each, (n, 2, H, B)
    (dq, da_r, da_z, da_n, carry), da_rz = D.swapaxes(0, 1), D[:, 1:3]
    carry[...] = z
    subtract(ONE, rz, one_minus)
    multiply(n, n, da_n)
    subtract(ONE, da_n, da_n)
    multiply(da_n, one_minus[:, 1], da_n)
    multiply(one_minus, rz, da_rz)
    multiply(da_z, h_minus_n, da_z)
    multiply(da_r, q, da_r)
    multiply(da_r, da_n, da_r)
    multiply(da_n, r, dq)


def backward(d: Direction, g: Gradients) -> tuple[Array, None]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, H)."""
    R = d.weights.R
    T, B, H = d.y.shape
    dtype, dot = d.x.dtype, product_of_step(B)
    assert d.saved is not None

    n = steps_at_once(T, B, H)
    D, one_minus = workspace.empty((n, 5, H, B), dtype), workspace.empty((n, 2, H, B), dtype)
    flat = D.reshape(n, 5 * H, B)
    views = list(zip(D, flat[:, : 3 * H], D[:, 4], strict=True))
    step_da = flat[:, : 4 * H]
    all_da = all_steps(step_da, T)
    dy = g.dy.transpose(0, 2, 1)
    R_T = np.empty((H, 3 * H), dtype)
    R_T[:, :H], R_T[:, H:] = R[2 * H :].T, R[: 2 * H].T

    dh, t = np.zeros((H, B), dtype), np.empty((H, B), dtype)
    dh0 = np.empty((B, H), dtype)
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, all_da):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        factors(d.saved[lo:hi], one_minus[:k], D[:k])
        keep: Any = [None] * k if d.keep is None else masks(d.keep.zh, piece)
        for (rows, da2, carry), dy_t, keep_t in zip(piece.order(views[:k]), dy[piece.steps], keep, strict=True):
            add(dh, dy_t, dh)
            if keep_t is None:
                multiply(rows, dh, rows)
                dot(R_T, da2, t)
                add(t, carry, dh)
            else:
                dh_new, kept = split(keep_t, dh)
                multiply(rows, dh_new, rows)
                dot(R_T, da2, t)
                add(t, carry, dh)
                add(dh, kept, dh)

    weight_gradients(d, g, all_da.reshape(4 * H, T * B))
    return dh0, None


def weight_gradients(d: Direction, g: Gradients, all_da: Array) -> None:
    """The gradients of x and of all weights        all_da (4H, T*B), rows q r z n"""
    H, (_, dR, _, dbW, dbR) = d.h0.shape[1], g.dweights
    input_gradients(d, g, all_da[H:])
    recurrent_gradient(d, all_da[H : 3 * H], dR[: 2 * H])
    recurrent_gradient(d, all_da[:H], dR[2 * H :])
    sums = all_da @ np.ones(all_da.shape[1], all_da.dtype)
    dbW[...] = sums[H:]
    dbR[: 2 * H], dbR[2 * H :] = sums[H : 3 * H], sums[:H]
