"""The rnn_tanh and rnn_relu layers, one direction, in the column layout of `cudnn_rnn_columns`.

    h = f(W x + R h' + b)        dA = dy + R.T @ dA of the step after it, times (1 - h^2) or [h > 0]

Nothing is saved: y is all that the way back needs.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.cudnn_rnn.columns import (
    Array,
    Visit,
    input_gradient,
    project,
    recurrent_gradient,
    steps_at_once,
)

add, multiply, dot = np.add, np.multiply, np.dot


def forward(
    x: Array, h0: Array, c0: None, weights: tuple, saved: dict[str, Array] | None, visit: Visit, y: Array, relu: bool
) -> tuple[Array, None]:
    """Set y (T, B, H); return h_n (B, H)."""
    W, R, _, bW, bR = weights
    T, B, width = x.shape
    H, dtype = R.shape[1], x.dtype

    A = workspace.empty((H, H + 1), dtype)  # [R | b]: a row of ones below h adds the bias within the product
    A[:, :H], A[:, H] = R, bW + bR
    n = steps_at_once(T, B, H, width)
    X = workspace.empty((n, H, B), dtype)
    states = workspace.empty((n + 1, H + 1, B), dtype)  # before and after each step of a piece, in visiting order
    states[0], states[:, H] = 0, 1

    ZERO = np.array(0, dtype)
    a = np.empty((H, B), dtype)
    h_n = np.empty((B, H), dtype)
    for piece in visit.forward(n):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        if W is None:
            X[:k] = x[lo:hi].transpose(0, 2, 1)
        else:
            project(W, x[lo:hi], X[:k])
        if relu and visit.lengths is not None:  # without a sample relu could grow without bound: hold it at 0
            np.copyto(X[:k], -np.inf, where=(np.arange(lo, hi)[:, None] >= visit.lengths)[:, None])
        states[0, :H][:, piece.joining] = h0.T[:, piece.joining]
        h_in, h_out = states[:k], states[1 : k + 1, :H]
        for x_t, h1, h in zip(piece.order(X[:k]), h_in, h_out, strict=True):
            dot(A, h1, a)
            add(a, x_t, a)
            if relu:
                np.maximum(a, ZERO, out=h)
            else:
                np.tanh(a, h)
        h_n[piece.leaving] = h_out[-1][:, piece.leaving].T
        piece.order(y[lo:hi])[...] = h_out.transpose(0, 2, 1)
        states[0, :H] = h_out[-1]
    return h_n, None


def backward(
    x: Array,
    h0: Array,
    weights: tuple,
    saved: dict[str, Array],
    visit: Visit,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: None,
    dweights: tuple,
    dx: Array | None,
    accumulate: bool,
    relu: bool,
) -> tuple[Array, None]:
    """Set `dweights` and dx (or add to dx); return dh0 (B, H)."""
    W, R, _, _, _ = weights
    dW, dR, _, dbW, dbR = dweights
    T, B, width = x.shape
    H, dtype = R.shape[1], x.dtype

    n = steps_at_once(T, B, H)
    D = workspace.empty((n, H, B), dtype)
    all_dA = workspace.empty((H, T, B), dtype) if B > 1 else None
    dy, h_all = dy.transpose(0, 2, 1), y.transpose(0, 2, 1)
    R_T = np.ascontiguousarray(R.T)
    ONE, ZERO = np.array(1, dtype), np.array(0, dtype)

    dh = np.zeros((H, B), dtype)
    dh0 = np.empty((B, H), dtype)
    for piece in visit.backward(n):
        lo, hi = piece.lo, piece.hi
        factor, h = D[: hi - lo], h_all[lo:hi]
        if relu:
            factor[...] = h > ZERO  # derivative 0 at 0
        else:
            multiply(h, h, factor)
            np.subtract(ONE, factor, factor)
        dh[:, piece.joining] = dh_n.T[:, piece.joining]
        for d, dy_t in piece.order(list(zip(factor, dy[lo:hi], strict=True))):
            add(dh, dy_t, dh)
            multiply(d, dh, d)
            dot(R_T, d, dh)
        dh0[piece.leaving] = dh[:, piece.leaving].T
        if visit.lengths is not None:
            dh[:, piece.leaving] = 0  # nothing flows in columns whose sample is done
        if all_dA is not None:
            all_dA[:, lo:hi] = factor.transpose(1, 0, 2)

    dA = D[:, :, 0].T if all_dA is None else all_dA.reshape(H, T * B)  # (H, T*B)
    if dW is not None:
        np.matmul(dA, x.reshape(T * B, width), out=dW)
    recurrent_gradient(dA, y, h0, visit, dR)
    np.matmul(dA, np.ones(T * B, dtype), out=dbW)
    dbR[...] = dbW
    if dx is not None:
        input_gradient(dA, W, dx, accumulate)
    return dh0, None
