"""The GRU layer, one direction, in the column layout of `cudnn_rnn_columns`.

Forward, with rows q r z for what comes from h' and r z n for what comes from x:

    [q; r; z] = R h' + b        r, z = sigmoid(x part + .)        n = tanh(x part + r*q)        h = n + z*(h' - n)

Backward, everything is linear in dh. The factors of many steps are computed at once; then a step is one product and
three calls. Rows of a step: q r z n carry (carry = z):

    dh += dy        (q, r, z, n, carry) *= dh        dh = R.T @ (q, r, z) + carry
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

add, subtract, multiply, tanh, dot = np.add, np.subtract, np.multiply, np.tanh, np.dot


def forward(
    x: Array, h0: Array, c0: None, weights: tuple, saved: dict[str, Array] | None, visit: Visit, y: Array
) -> tuple[Array, None]:
    """Set y (T, B, H); return h_n (B, H). `saved`: this direction's part of the reserve, or None."""
    W, R, _, bW, bR = weights
    T, B, width = x.shape
    H, dtype = R.shape[1], x.dtype
    half = dtype.type(0.5)  # sigmoid(a) = tanh(a/2)/2 + 1/2: the rows of r and z are halved

    A = workspace.empty((3 * H, H + 1), dtype)  # [R | b]: a row of ones below h adds the bias within the product
    A[:H, :H], A[:H, H] = R[2 * H :], bR[2 * H :]
    multiply(R[: 2 * H], half, A[H:, :H])
    multiply(bW[: 2 * H] + bR[: 2 * H], half, A[H:, H])
    A_x = None
    if W is not None:
        A_x = workspace.empty((3 * H, width), dtype)
        multiply(W[: 2 * H], half, A_x[: 2 * H])
        A_x[2 * H :] = W[2 * H :]
    b_n = np.repeat(bW[2 * H :], B)  # (H*B,), apart from bR_n, which r multiplies
    n = steps_at_once(T, B, H, width)
    X = workspace.empty((n, 3 * H, B), dtype)
    states = workspace.empty((n + 1, H + 1, B), dtype)  # before and after each step of a piece, in visiting order
    states[0], states[:, H] = 0, 1

    if saved is None:  # every step works in the same place
        block = workspace.empty((5 * H, B), dtype)
        local = [(block[: 3 * H], block[H : 3 * H], *block.reshape(5, H, B))] * T
    else:
        gates = saved["gates"].reshape(T, 4 * H, B)
        qrzn = [gates[:, k * H : (k + 1) * H] for k in range(4)]
        local = list(zip(gates[:, : 3 * H], gates[:, H : 3 * H], *qrzn, saved["h_minus_n"][:, 0], strict=True))

    HALF = np.array(0.5, dtype)
    t = np.empty((H, B), dtype)
    h_n = np.empty((B, H), dtype)
    for piece in visit.forward(n):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        gate_input(A_x, x[lo:hi], b_n, X[:k])
        states[0, :H][:, piece.joining] = h0.T[:, piece.joining]
        h_in, h_out = states[:k], states[1 : k + 1, :H]
        h_prev = states[0, :H]
        inputs = zip(X[:k, : 2 * H], X[:k, 2 * H :], local[lo:hi], strict=True)
        for (x_rz, x_n, (qrz, rz, q, r, z, n, h_minus_n)), h1, h in zip(
            piece.order(list(inputs)), h_in, h_out, strict=True
        ):
            dot(A, h1, qrz)
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
            h_prev = h
        h_n[piece.leaving] = h_out[-1][:, piece.leaving].T
        piece.order(y[lo:hi])[...] = h_out.transpose(0, 2, 1)
        states[0, :H] = h_out[-1]
    return h_n, None


def gate_input(A_x: Array | None, x: Array, b_n: Array, X: Array) -> None:
    """X = A_x @ x of each step, or x for every gate, halved for the sigmoids; b_n added to the rows of n."""
    T, rows, B = X.shape
    H = rows // 3
    if A_x is not None:
        project(A_x, x, X)
    else:
        x = x.transpose(0, 2, 1)
        multiply(x[:, None], x.dtype.type(0.5), X[:, : 2 * H].reshape(T, 2, H, B))
        X[:, 2 * H :] = x
    X_n = X.reshape(T, rows * B)[:, 2 * H * B :]
    add(X_n, b_n, X_n)


def factors(saved: dict[str, Array], lo: int, hi: int, U: Array, D: Array) -> None:
    """Fill D (n, 5, H, B), rows q r z n carry, with the derivatives that the gates alone determine."""
    gates, h_minus_n = saved["gates"][lo:hi], saved["h_minus_n"][lo:hi, 0]
    U, D = U[: hi - lo], D[: hi - lo]
    ONE = np.array(1, D.dtype)
    q, r, z, n, rz = gates[:, 0], gates[:, 1], gates[:, 2], gates[:, 3], gates[:, 1:3]
    D_q, D_r, D_z, D_n, D_rz = D[:, 0], D[:, 1], D[:, 2], D[:, 3], D[:, 1:3]
    D[:, 4] = z
    subtract(ONE, rz, U)
    multiply(n, n, D_n)
    subtract(ONE, D_n, D_n)
    multiply(D_n, U[:, 1], D_n)  # (1-z)(1-n^2)
    multiply(U, rz, D_rz)
    multiply(D_z, h_minus_n, D_z)  # (h'-n) z(1-z)
    multiply(D_r, q, D_r)
    multiply(D_r, D_n, D_r)  # dn q r(1-r)
    multiply(D_n, r, D_q)


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
) -> tuple[Array, None]:
    """Set `dweights` and dx (or add to dx); return dh0 (B, H)."""
    W, R, _, _, _ = weights
    dW, dR, _, dbW, dbR = dweights
    T, B, width = x.shape
    H, dtype = R.shape[1], x.dtype

    n = steps_at_once(T, B, H)
    D, U = workspace.empty((n, 5, H, B), dtype), workspace.empty((n, 2, H, B), dtype)
    flat = D.reshape(n, 5 * H, B)
    views = list(zip(D, flat[:, : 3 * H], D[:, 4], strict=True))
    all_D = workspace.empty((4 * H, T, B), dtype) if B > 1 else None
    dy = dy.transpose(0, 2, 1)
    R_T = np.empty((H, 3 * H), dtype)
    R_T[:, :H], R_T[:, H:] = R[2 * H :].T, R[: 2 * H].T

    dh, t = np.zeros((H, B), dtype), np.empty((H, B), dtype)
    dh0 = np.empty((B, H), dtype)
    for piece in visit.backward(n):
        lo, hi = piece.lo, piece.hi
        factors(saved, lo, hi, U, D)
        dh[:, piece.joining] = dh_n.T[:, piece.joining]
        for (qrznc, qrz, carry), dy_t in piece.order(list(zip(views, dy[lo:hi], strict=False))):
            add(dh, dy_t, dh)
            multiply(qrznc, dh, qrznc)
            dot(R_T, qrz, t)
            add(t, carry, dh)
        dh0[piece.leaving] = dh[:, piece.leaving].T
        if visit.lengths is not None:
            dh[:, piece.leaving] = 0  # nothing flows in columns whose sample is done
        if all_D is not None:
            all_D[:, lo:hi] = flat[: hi - lo, : 4 * H].transpose(1, 0, 2)

    dA = flat[:, : 4 * H, 0].T if all_D is None else all_D.reshape(4 * H, T * B)  # (4H, T*B), rows q r z n
    if dW is not None:
        np.matmul(dA[H:], x.reshape(T * B, width), out=dW)
    recurrent_gradient(dA[H : 3 * H], y, h0, visit, dR[: 2 * H])
    recurrent_gradient(dA[:H], y, h0, visit, dR[2 * H :])
    sums = dA @ np.ones(T * B, dtype)
    dbW[...] = sums[H:]
    dbR[: 2 * H], dbR[2 * H :] = sums[H : 3 * H], sums[:H]
    if dx is not None:
        input_gradient(dA[H:], W, dx, accumulate)
    return dh0, None
