"""The rnn_tanh and rnn_relu layers, one direction, in the column layout of `columns.direction`.

    h = f(W x + R h' + b)        dh += dy        da = dh * (1 - h^2) or dh * [h > 0]        dh = R.T @ da

Nothing is saved, because the backward pass needs only y. With zoneout h_new is saved, because y is a mixture.
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
    left_matrix,
    product_of_step,
    project,
    transposed,
    weight_gradients,
)
from minirnn.devices.cpu.columns.visit import Array, steps_at_once
from minirnn.devices.cpu.columns.zoneout import masks, mix, split

add, multiply, tanh, maximum = np.add, np.multiply, np.tanh, np.maximum


def left_weights(weights: Weights, B: int) -> Array:
    """[R | b]: a row of ones below h adds the bias within the product."""
    _, R, _, bW, bR = weights
    H = len(R)
    Rb = left_matrix(H, H + 1, B, R.dtype)
    Rb[:, :H], Rb[:, H] = R, bW + bR
    return Rb


def gate_input(W: Array | None, x: Array, a_x: Array) -> None:
    """a_x = W @ x of each step, or x itself."""
    if W is None:
        a_x[...] = x.transpose(0, 2, 1)
    else:
        project(W, x, a_x)


def factors(h: Array, relu: bool, out: Array) -> None:
    """The derivatives of f at many steps, from its results."""
    if relu:
        out[...] = h > np.array(0, h.dtype)  # derivative 0 at 0
    else:
        multiply(h, h, out)
        np.subtract(np.array(1, h.dtype), out, out)


def forward(d: Direction, relu: bool) -> tuple[Array, None]:
    """Set y (T, B, H); return h_n (B, H)."""
    W = d.weights.W
    T, B, width = d.x.shape
    H, dtype, dot = d.h0.shape[1], d.x.dtype, product_of_step(B)

    Rb = left_weights(d.weights, B)
    n = steps_at_once(T, B, H, width)
    a_x = workspace.empty((n, H, B), dtype)
    states = workspace.empty((n + 1, H + 1, B), dtype)  # [h; 1] before and after each step of a piece
    states[0], states[:, H] = 0, 1

    ZERO = np.array(0, dtype)
    a = np.empty((H, B), dtype)
    new: Any = [np.empty((H, B), dtype)] * T if d.saved is None else d.saved[:, 0]
    h_n = np.empty((B, H), dtype)
    for piece, h_in, h_out in forward_pieces(d, states, h_n):
        lo, hi, k = piece.lo, piece.hi, len(h_in)
        gate_input(W, d.x[lo:hi], a_x[:k])
        if relu and d.visit.lengths is not None:  # without a sample relu could grow without bound: hold it at 0
            np.copyto(a_x[:k], -np.inf, where=(np.arange(lo, hi)[:, None] >= d.visit.lengths)[:, None])
        z: Any = [None] * k if d.keep is None else masks(d.keep.zh, piece)
        made = new[piece.steps] if z[0] is not None else h_out
        for x_t, h1, h, h_new, z_t in zip(piece.order(a_x[:k]), h_in, h_out, made, z, strict=True):
            dot(Rb, h1, a)
            add(a, x_t, a)
            if relu:
                maximum(a, ZERO, out=h_new)
            else:
                tanh(a, h_new)
            if z_t is not None:
                mix(z_t, h1[:H], h_new, h)
    return h_n, None


def backward(d: Direction, g: Gradients, relu: bool) -> tuple[Array, None]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, H)."""
    T, B, H = d.y.shape
    dtype, dot = d.x.dtype, product_of_step(B)

    n = steps_at_once(T, B, H)
    step_da = workspace.empty((n, H, B), dtype)
    da = all_steps(step_da, T)
    dy = g.dy.transpose(0, 2, 1)
    h_all = d.y.transpose(0, 2, 1) if d.saved is None else d.saved[:, 0]
    R_T = transposed(d.weights.R)

    dh = np.zeros((H, B), dtype)
    dh0 = np.empty((B, H), dtype)
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, da):
        lo, hi = piece.lo, piece.hi
        factor = step_da[: hi - lo]
        factors(h_all[lo:hi], relu, factor)
        z: Any = [None] * (hi - lo) if d.keep is None else masks(d.keep.zh, piece)
        for da_t, dy_t, z_t in zip(piece.order(factor), dy[piece.steps], z, strict=True):
            add(dh, dy_t, dh)
            if z_t is None:
                multiply(da_t, dh, da_t)
                dot(R_T, da_t, dh)
            else:
                dh_new, kept = split(z_t, dh)
                multiply(da_t, dh_new, da_t)
                dot(R_T, da_t, dh)
                add(dh, kept, dh)
    weight_gradients(d, g, da.reshape(H, T * B))
    return dh0, None
