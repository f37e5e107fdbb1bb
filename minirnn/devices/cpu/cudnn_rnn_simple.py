"""The rnn_tanh and rnn_relu layers, one direction, in the column layout of `cudnn_rnn_columns`.

    h = f(W x + R h' + b)        dA = dy + R.T @ dA of the step after it, times (1 - h^2) or [h > 0]

Nothing is saved: y is all that the way back needs.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.cudnn_rnn_columns import (
    Array,
    Visit,
    factor_steps,
    input_gradient,
    project,
    recurrent_gradient,
)

add, multiply, dot = np.add, np.multiply, np.dot


def forward(
    x: Array, h0: Array, c0: None, weights: tuple, saved: dict[str, Array] | None, visit: Visit, y: Array, relu: bool
) -> tuple[Array, None]:
    """Set y (T, B, H); return h_n (B, H)."""
    W, R, _, bW, bR = weights
    T, B, _ = x.shape
    H, dtype = R.shape[1], x.dtype

    A = workspace.empty((H, H + 1), dtype)  # [R | b]: a row of ones below h adds the bias within the product
    A[:, :H], A[:, H] = R, bW + bR
    states = workspace.empty((T + 1, H + 1, B), dtype)
    states[:, H] = 1
    h_in, h_out = visit.in_and_out(states)
    h_out = h_out[:, :H]
    X: Array = x.transpose(0, 2, 1)
    if W is not None:
        X = workspace.empty((T, H, B), dtype)
        project(W, x, X)
    if relu and visit.lengths is not None:  # past its end a sample's relu could grow without bound: hold it at 0
        X = np.where((np.arange(T)[:, None] < visit.lengths)[:, None], X, -np.inf).astype(dtype, copy=False)

    ZERO = np.array(0, dtype)
    a = np.empty((H, B), dtype)
    h_n = np.empty((B, H), dtype)
    if visit.reverse:
        h_in[-1, :H] = 0  # for columns whose sample starts later
    for piece in visit.forward():
        h_in[piece.first][:H, piece.joining] = h0.T[:, piece.joining]
        steps = [part[piece.lo : piece.hi] for part in (X, h_in, h_out)]
        for x_t, h1, h in piece.order(list(zip(*steps, strict=True))):
            dot(A, h1, a)
            add(a, x_t, a)
            if relu:
                np.maximum(a, ZERO, out=h)
            else:
                np.tanh(a, h)
        h_n[piece.leaving] = h_out[piece.last][:, piece.leaving].T
    y[...] = h_out.transpose(0, 2, 1)
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

    n = factor_steps(T, B, H)
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
    dbW[...] = dA.sum(axis=1)
    dbR[...] = dbW
    if dx is not None:
        input_gradient(dA, W, dx, accumulate)
    return dh0, None
