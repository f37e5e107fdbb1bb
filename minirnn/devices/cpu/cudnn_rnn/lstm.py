"""The LSTM layer, one direction, in the column layout of `cudnn_rnn_columns`.

Forward, with gate rows i f o n and the state c' below them, sigmoid(a) = tanh(a/2)/2 + 1/2:

    [i; f; o; n] = act(W x + R h' + b)        c = (i, f) . (n, c')        h = o * tanh(c)

Backward, everything is linear in dh and dc. The factors of many steps are computed at once; then a step is one product
and four calls. Rows of a step: carry i f n o a (carry = f, a = o * (1 - tanh(c)^2)):

    dh += dy    (o, a) *= dh    dC = dc + a    (carry, i, f, n) *= dC    dc = carry    dh = R.T @ (i, f, n, o)
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
MERGED = 1 << 19  # elements of R and W up to which x shares the product of a step with h


def inner_rows(rows: Array, out: Array) -> Array:
    """Copy gate rows i, f, n, o into `out` as i, f, o, n, those of the sigmoids halved."""
    H = len(rows) // 4
    half = rows.dtype.type(0.5)
    multiply(rows[: 2 * H], half, out[: 2 * H])
    multiply(rows[3 * H :], half, out[2 * H : 3 * H])
    out[3 * H :] = rows[2 * H : 3 * H]
    return out


def forward(
    x: Array, h0: Array, c0: Array, weights: tuple, saved: dict[str, Array] | None, visit: Visit, y: Array
) -> tuple[Array, Array]:
    """Set y (T, B, P); return h_n (B, P) and c_n (B, H). `saved`: this direction's part of the reserve, or None."""
    W, R, Wp, bW, bR = weights
    T, B, width = x.shape
    H, P, dtype = len(R) // 4, R.shape[1], x.dtype

    # One product a step, [R | b | W] @ [h; 1; x], while the weights stay in cache; else x has its own, for many steps.
    merged = W is not None and B > 1 and 4 * H * (P + width) <= MERGED
    K = P + 1 + width if merged else P + 1
    A = workspace.empty((4 * H, K), dtype)
    inner_rows(R, A[:, :P])
    inner_rows(bW + bR, A[:, P])
    A_x = None if W is None else inner_rows(W, A[:, P + 1 :] if merged else workspace.empty((4 * H, width), dtype))
    n = steps_at_once(T, B, H, 0 if merged else width)
    X = np.broadcast_to(dtype.type(0), (n, 0)) if merged else workspace.empty((n, 4 * H, B), dtype)
    states = workspace.empty((n + 1, K, B), dtype)  # [h; 1; x] of each step of a piece, in visiting order
    states[0], states[:, P] = 0, 1

    spans = ((0, 4), (0, 3), (0, 2), (3, 5), (2, 3), (4, 5))  # z, sigmoids, i f, n c', o, c'
    if saved is None:  # every step works in the same place
        block = workspace.empty((5 * H, B), dtype)
        parts = [[block[a * H : b * H]] * T for a, b in spans]
        c_in = c_out = parts[-1]
    else:
        gates = saved["gates"].reshape(T, 5 * H, B)
        parts = [list(gates[:, a * H : b * H]) for a, b in spans]
        c_in, c_last = parts[-1], [np.empty((H, B), dtype)]
        c_out = c_last + c_in[:-1] if visit.reverse else c_in[1:] + c_last
    steps = list(zip(*parts[:-1], c_out, strict=True))
    c_in[-1 if visit.reverse else 0][...] = 0

    HALF = np.array(0.5, dtype)
    a, t, m = np.empty((4 * H, B), dtype), np.empty((2 * H, B), dtype), np.empty((H, B), dtype)
    t_i, t_f = t[:H], t[H:]
    h_n, c_n = np.empty((B, P), dtype), np.empty((B, H), dtype)
    for piece in visit.forward(n):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        if merged:
            states[:k, P + 1 :] = piece.order(x[lo:hi]).transpose(0, 2, 1)
        else:
            gate_input(A_x, x[lo:hi], X[:k])
        states[0, :P][:, piece.joining] = h0.T[:, piece.joining]
        c_in[piece.first][:, piece.joining] = c0.T[:, piece.joining]
        h_in, h_out = states[:k], states[1 : k + 1, :P]
        for x_z, (z, s, i_f, n_c, o, c), h1, h in zip(
            piece.order(X[:k]), piece.order(steps[lo:hi]), h_in, h_out, strict=True
        ):
            if merged:
                dot(A, h1, z)
            else:
                dot(A, h1, a)
                add(a, x_z, z)
            tanh(z, z)
            multiply(s, HALF, s)
            add(s, HALF, s)
            multiply(i_f, n_c, t)
            add(t_i, t_f, c)
            tanh(c, m)
            if Wp is None:
                multiply(o, m, h)
            else:
                multiply(o, m, m)
                dot(Wp, m, h)
        h_n[piece.leaving] = h_out[-1][:, piece.leaving].T
        c_n[piece.leaving] = c_out[piece.last][:, piece.leaving].T
        piece.order(y[lo:hi])[...] = h_out.transpose(0, 2, 1)
        states[0, :P] = h_out[-1]
    return h_n, c_n


def gate_input(A_x: Array | None, x: Array, X: Array) -> None:
    """X = A_x @ x of each step, or x for every gate, halved for the sigmoids."""
    if A_x is not None:
        project(A_x, x, X)
        return
    T, rows, B = X.shape
    X, x = X.reshape(T, 4, rows // 4, B), x.transpose(0, 2, 1)
    multiply(x[:, None], x.dtype.type(0.5), X[:, :3])
    X[:, 3] = x


def factors(saved: dict[str, Array], lo: int, hi: int, U: Array, D: Array) -> None:
    """Fill D (n, 6, H, B), rows carry i f n o a, with the derivatives that the gates alone determine."""
    gates = saved["gates"][lo:hi]
    U, D = U[: hi - lo], D[: hi - lo]
    ONE = np.array(1, D.dtype)
    sigmoids, i, o, n, n_c = gates[:, :3], gates[:, 0], gates[:, 2], gates[:, 3], gates[:, 3:]
    D_if, D_n, D_o, D_a = D[:, 1:3], D[:, 3], D[:, 4], D[:, 5]
    tanh_c = D[:, 0]
    multiply(gates[:, :2], n_c, U[:, :2])
    add(U[:, 0], U[:, 1], tanh_c)
    tanh(tanh_c, tanh_c)  # cheaper to compute again than to save and to load
    subtract(ONE, sigmoids, U)
    multiply(U[:, :2], sigmoids[:, :2], D_if)
    multiply(D_if, n_c, D_if)  # n i(1-i), c' f(1-f)
    multiply(n, n, D_n)
    subtract(ONE, D_n, D_n)
    multiply(D_n, i, D_n)  # i (1-n^2)
    multiply(U[:, 2], o, D_o)
    multiply(D_o, tanh_c, D_o)  # tanh(c) o(1-o)
    multiply(tanh_c, tanh_c, D_a)
    subtract(ONE, D_a, D_a)
    multiply(D_a, o, D_a)  # o (1-tanh(c)^2)
    D[:, 0] = gates[:, 1]


def backward(
    x: Array,
    h0: Array,
    weights: tuple,
    saved: dict[str, Array],
    visit: Visit,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array,
    dweights: tuple,
    dx: Array | None,
    accumulate: bool,
) -> tuple[Array, Array]:
    """Set `dweights` and dx (or add to dx); return dh0 (B, P) and dc0 (B, H)."""
    W, R, Wp, _, _ = weights
    dW, dR, dWp, dbW, dbR = dweights
    T, B, width = x.shape
    H, P, dtype = len(R) // 4, R.shape[1], x.dtype

    n = steps_at_once(T, B, H)
    D, U = workspace.empty((n, 6, H, B), dtype), workspace.empty((n, 3, H, B), dtype)
    D_z = D.reshape(n, 6 * H, B)[:, H : 5 * H]
    views = list(zip(D[:, 0], D[:, :4], D[:, 4:], D[:, 5], D_z, strict=True))
    all_dA = workspace.empty((4 * H, T, B), dtype) if B > 1 else None
    dy = dy.transpose(0, 2, 1)
    R_T = np.ascontiguousarray(R.T) if B > 1 else R.T
    dH = None if Wp is None else workspace.empty((T, P, B), dtype)

    dh, dc, dC, dm = (np.zeros((k, B), dtype) for k in (P, H, H, H))
    dh0, dc0 = np.empty((B, P), dtype), np.empty((B, H), dtype)
    for piece in visit.backward(n):
        lo, hi = piece.lo, piece.hi
        factors(saved, lo, hi, U, D)
        dh[:, piece.joining] = dh_n.T[:, piece.joining]
        dc[:, piece.joining] = dc_n.T[:, piece.joining]
        carry = dc
        if Wp is None or dH is None:
            for (f, f_ifn, o_a, a, z), dy_t in piece.order(list(zip(views, dy[lo:hi], strict=False))):
                add(dh, dy_t, dh)
                multiply(o_a, dh, o_a)
                add(carry, a, dC)
                multiply(f_ifn, dC, f_ifn)
                carry = f
                dot(R_T, z, dh)
        else:
            for (f, f_ifn, o_a, a, z), dy_t, d in piece.order(list(zip(views, dy[lo:hi], dH[lo:hi], strict=False))):
                add(dh, dy_t, d)
                dot(Wp.T, d, dm)
                multiply(o_a, dm, o_a)
                add(carry, a, dC)
                multiply(f_ifn, dC, f_ifn)
                carry = f
                dot(R_T, z, dh)
        dc[...] = carry
        dh0[piece.leaving] = dh[:, piece.leaving].T
        dc0[piece.leaving] = dc[:, piece.leaving].T
        if visit.lengths is not None:
            dh[:, piece.leaving] = 0  # nothing flows in columns whose sample is done
            dc[:, piece.leaving] = 0
        if all_dA is not None:
            all_dA[:, lo:hi] = D_z[: hi - lo].transpose(1, 0, 2)

    dA = D_z[:, :, 0].T if all_dA is None else all_dA.reshape(4 * H, T * B)  # (4H, T*B)
    if dW is not None:
        np.matmul(dA, x.reshape(T * B, width), out=dW)
    recurrent_gradient(dA, y, h0, visit, dR)
    np.matmul(dA, np.ones(T * B, dtype), out=dbW)
    dbR[...] = dbW
    if dH is not None:
        i_f, n_c, o = saved["gates"][:, :2], saved["gates"][:, 3:], saved["gates"][:, 2]
        m = o * np.tanh((i_f * n_c).sum(axis=1))  # (T, H, B)
        np.matmul(dH.transpose(1, 0, 2).reshape(P, T * B), m.transpose(1, 0, 2).reshape(H, T * B).T, out=dWp)
    if dx is not None:
        input_gradient(dA, W, dx, accumulate)
    return dh0, dc0
