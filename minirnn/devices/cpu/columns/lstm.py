"""The LSTM, one direction of a layer, in the column layout: the fast loops of BlockLSTM and of CudnnRNN.

The names are CudnnRNN's, whose n is BlockLSTM's ci and whose c is its cs; co = tanh(c). Forward, the rows of a step are
o i f n c', with c' the state before the step, and sigmoid(a) = tanh(a/2)/2 + 1/2 (the inner 1/2 is in the weights)::

    [o; i; f; n] = act(W x + R h' + b)        c = (i, f) . (n, c')        h = o * tanh(c)

BlockLSTM adds peepholes (i and f see c', o sees c) and clips c. Backward, everything is linear in dh and dc: the
factors of many steps are computed at once; then a step is one product and four calls. The rows of a step are carry,
da_i, da_f and da_n in the order of the weights, da_o and dc_h, where carry is f, through which dc reaches c', and dc_h
is o * (1 - co^2), through which dh reaches c::

    dh += dy    (da_o, dc_h) *= dh    dc += dc_h    (carry, da_i, da_f, da_n) *= dc    dc = carry    dh = R.T @ da

Why it is fast, in order of effect: products with the weights on the left; one product for the inputs of many steps,
or none if the inputs can share the product of a step; single products over (T*B) for the gradients of the weights;
no slicing, no allocation and few calls in the loops; pieces of steps that fit the cache; recycled buffers (`workspace`:
page faults on fresh memory cost 1.3x to 2x at (T, B, I, H) = (50, 32, 64, 128)).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    turn,
    weight_gradients,
)
from minirnn.devices.cpu.columns.visit import Array, steps_at_once
from minirnn.devices.cpu.columns.zoneout import masks, mix, split

add, subtract, multiply, tanh = np.add, np.subtract, np.multiply, np.tanh
minimum, maximum = np.minimum, np.maximum
MERGED = 1 << 19  # elements of R and W up to which x shares the product of a step with h
# columns of a transposed matrix copied at once, because its reads would all map to the same few cache lines
COPIED = 32
RUNS = {"ifno": ((3, 0, 1), (0, 1, 2), (2, 3, 1)), "info": ((3, 0, 1), (0, 1, 1), (2, 2, 1), (1, 3, 1))}
"""Maps the order of the gates in the weights to the order o, i, f, n, as runs (from, to, count)."""

Peepholes = tuple[Array, Array, Array]  # wci, wcf, wco (H,)


class Values(NamedTuple):
    """The values of each step that a backward pass reads, (T, H, B) each."""

    i: Array
    f: Array
    o: Array
    n: Array
    c_prev: Array
    c: Array | None  # only read with peepholes
    co: Array | None  # computed again if it is missing, which is cheaper than saving and loading it

    def steps(self, lo: int, hi: int) -> Values:
        return Values._make([None if a is None else a[lo:hi] for a in self])


def values_of(saved: Array) -> Values:
    """The values that `forward` saved, (T, 5, H, B)."""
    o, i, f, candidate, c_prev = saved.swapaxes(0, 1)  # (T, H, B) each
    return Values(i, f, o, candidate, c_prev, None, None)


def inner_rows(rows: Array, gates: str, out: Array) -> None:
    """Copy `rows`, which are in the order of `gates`, into `out` in the order o, i, f, n."""
    H = len(rows) // 4
    width = None if rows.flags.c_contiguous else rows.shape[1]
    for source, target, count in RUNS[gates]:
        part, to = rows[source * H : (source + count) * H], out[target * H : (target + count) * H]
        if width is None:
            to[...] = part
        else:
            for k in range(0, width, COPIED):
                to[:, k : k + COPIED] = part[:, k : k + COPIED]


def left_weights(weights: Weights, gates: str, merged: bool, B: int) -> tuple[Array, Array | None]:
    """[R | bW + bR] and W, or [R | bW + bR | W] and None; rows o, i, f, n, those of the sigmoids halved."""
    W, R, _, bW, bR = weights
    rows, P = R.shape
    RbW = left_matrix(rows, P + 1 + (W.shape[1] if W is not None and merged else 0), B, R.dtype)
    inner_rows(R, gates, RbW[:, :P])
    inner_rows(bW + bR, gates, RbW[:, P])
    W_x = None
    if W is not None and merged:
        inner_rows(W, gates, RbW[:, P + 1 :])
    elif W is not None:
        W_x = workspace.empty(W.shape, W.dtype)
        inner_rows(W, gates, W_x)
    for a in (RbW, W_x):
        if a is not None:
            sigmoids = a[: 3 * rows // 4]
            multiply(sigmoids, a.dtype.type(0.5), sigmoids)
    return RbW, W_x


def forward(
    d: Direction, gates: str = "ifno", peepholes: Peepholes | None = None, clip: float = np.inf
) -> tuple[Array, Array]:
    """Set y (T, B, P) and the saved values; return h_n (B, P) and c_n (B, H).

    `gates` is the order of the gates in the weights. `d.saved` (T, 5, H, B) gets the rows of each step. If it has a
    sixth row, that row gets tanh(c). If it has one more step, that step gets the last c as the state before it.
    """
    W, R, Wp, _, _ = d.weights
    T, B, width = d.x.shape
    c0, H, P, dtype, dot = d.c0, len(R) // 4, R.shape[1], d.x.dtype, product_of_step(B)
    assert c0 is not None

    # One product per step, [R | b | W] @ [h; 1; x], if the weights stay in cache; otherwise x has its own, for many
    # steps.
    merged = W is not None and B > 1 and 4 * H * (P + width) <= MERGED
    RbW, W_x = left_weights(d.weights, gates, merged, B)
    n = steps_at_once(T, B, H, 0 if merged else width)
    states = workspace.empty((n + 1, RbW.shape[1], B), dtype)  # [h; 1; x] of each step of a piece, in visiting order
    states[0], states[:, P] = 0, 1

    HALF = np.array(0.5, dtype)  # a 0-d array is cheaper in a call than a Python number
    a, t, m = np.empty((4 * H, B), dtype), np.empty((2 * H, B), dtype), np.empty((H, B), dtype)
    t_i, t_f = t[:H], t[H:]
    if clips := clip < np.inf:
        high, low = np.array(clip, dtype), np.array(-clip, dtype)
    if peepholes is not None:
        wci, wcf, wco = peepholes
        wc_if, wc_o = np.stack((wci, wcf))[:, :, None] * HALF, wco[:, None] * HALF  # (2, H, 1), (H, 1)
        t_2 = t.reshape(2, H, B)

    spans = [(0, 4), (0, 3), (1, 3), (3, 5), (0, 1), (4, 5)]  # z, sigmoids, i f, n c', o, c'
    if peepholes is not None:
        spans[1] = (1, 3)  # o waits for c
    if d.saved is None:  # every step works in the same place
        block = workspace.empty((5 * H, B), dtype)
        parts = [[block[k * H : end * H]] * T for k, end in spans]
        c_in = c_out = parts[-1]
        co = [m] * T
        inputs = workspace.empty((n, 4 * H, B), dtype)  # the contribution of x to the pre-activations of a piece
    else:
        more_steps, rows = d.saved.shape[:2]
        saved = d.saved.reshape(more_steps, rows * H, B)
        parts = [list(saved[:T, k * H : end * H]) for k, end in spans]
        c_in, c_last = parts[-1], [d.saved[T, 4] if more_steps > T else np.empty((H, B), dtype)]
        c_out = c_last + c_in[:-1] if d.visit.reverse else c_in[1:] + c_last
        co = list(d.saved[:T, 5]) if rows > 5 else [m] * T
        inputs = saved[:, : 4 * H]  # in place, which saves one stream of memory
    if merged:
        inputs = np.broadcast_to(dtype.type(0), (T, 0))
    peeping: Any = [None] * T
    if peepholes is not None:
        peeping = list(zip(c_in, [z[H:] for z in parts[0]], strict=True))
    steps = list(zip(*parts[:-1], c_out, co, peeping, strict=True))
    c_in[-1 if d.visit.reverse else 0][...] = 0

    h_n, c_n = np.empty((B, P), dtype), np.empty((B, H), dtype)
    for piece, h_in, h_out in forward_pieces(d, states, h_n):
        x = d.x[piece.lo : piece.hi]
        a_x = inputs[: len(x)] if d.saved is None else inputs[piece.lo : piece.hi]
        if merged:
            turn(piece.order(x), h_in[:, P + 1 :])
        else:
            gate_input(W_x, x, a_x)
        piece.join(c0, c_in[piece.first])
        zh: Any = [None] * len(x)
        zc: Any = zh
        if d.keep is not None and d.keep.zc is not None:
            zh, zc = masks(d.keep.zh, piece), masks(d.keep.zc, piece)
        for x_t, (z, s, i_f, n_c, o, c, co_t, peep), h1, h, zh_t, zc_t in zip(
            piece.order(a_x), steps[piece.steps], h_in, h_out, zh, zc, strict=True
        ):
            if merged:
                dot(RbW, h1, z)
            else:
                dot(RbW, h1, a)
                add(a, x_t, z)
            if peepholes is None:
                tanh(z, z)
            else:
                c_prev, i_f_n = peep
                multiply(wc_if, c_prev, t_2)
                add(i_f, t, i_f)
                tanh(i_f_n, i_f_n)
            multiply(s, HALF, s)
            add(s, HALF, s)
            multiply(i_f, n_c, t)
            c_new = c if zc_t is None else t_i
            add(t_i, t_f, c_new)
            if clips:
                minimum(c, high, out=c)  # NaN stays NaN
                maximum(c, low, out=c)
            if peepholes is not None:
                multiply(wc_o, c, m)
                add(o, m, o)
                tanh(o, o)
                multiply(o, HALF, o)
                add(o, HALF, o)
            tanh(c_new, co_t)
            if Wp is None:
                multiply(o, co_t, h)
            else:
                multiply(o, co_t, m)
                dot(Wp, m, h)
            if zh_t is not None:
                mix(zh_t, h1[:P], h.copy(), h)
                mix(zc_t, n_c[H:], c_new, c)
        piece.leave(c_out[piece.last], c_n)
    return h_n, c_n


def gate_input(W_x: Array | None, x: Array, a_x: Array) -> None:
    """a_x = W_x @ x of each step, or x for every gate, halved for the sigmoids."""
    if W_x is not None:
        project(W_x, x, a_x)
        return
    T, rows, B = a_x.shape
    a_x, x = a_x.reshape(T, 4, rows // 4, B), x.transpose(0, 2, 1)
    multiply(x[:, None], x.dtype.type(0.5), a_x[:, :3])
    a_x[:, 3] = x


def factors(v: Values, gates: str, co: Array, D: Array) -> None:
    """Fill D (n, 6, H, B) with the derivatives that depend only on the values of n steps; `co` is scratch.

    carry = f    da_i = i n (1-i)    da_f = f c' (1-f)    da_n = i (1-n^2)    da_o = o co (1-o)    dc_h = o (1-co^2)
    """
    ONE = np.array(1, D.dtype)
    da_i, da_f, da_n, da_o = [D[:, 1 + gates.index(gate)] for gate in "ifno"]
    scratch, dc_h = D[:, 0], D[:, 5]
    multiply(v.i, v.n, da_i)
    multiply(v.f, v.c_prev, da_f)
    if v.co is None:
        add(da_i, da_f, co)
        tanh(co, co)
    else:
        co = v.co
    multiply(v.o, co, da_o)
    multiply(da_i, v.n, da_n)
    subtract(v.i, da_n, da_n)
    multiply(da_o, co, dc_h)
    subtract(v.o, dc_h, dc_h)
    for sigmoid, da in ((v.i, da_i), (v.f, da_f), (v.o, da_o)):
        subtract(ONE, sigmoid, scratch)
        multiply(da, scratch, da)
    D[:, 0] = v.f


def backward(
    d: Direction,
    g: Gradients,
    values: Values | None = None,
    gates: str = "ifno",
    dc_each: Array | None = None,
    peepholes: Peepholes | None = None,
    dpeepholes: Array | None = None,
) -> tuple[Array, Array]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, P) and dc0 (B, H).

    `values` are taken from `d.saved` unless given. `dc_each` (T, H, B) is the gradient of the c of each
    step. With peepholes, their gradients are added to `dpeepholes` (3, H), whose rows are those of wci, wcf, wco.
    """
    _, R, Wp, _, _ = d.weights
    T, B, _ = d.x.shape
    H, P, dtype, dot = len(R) // 4, R.shape[1], d.x.dtype, product_of_step(B)
    if values is None:
        assert d.saved is not None
        values = values_of(d.saved)
    assert g.dc_n is not None

    n = steps_at_once(T, B, H)
    D, co = workspace.empty((n, 6, H, B), dtype), workspace.empty((n, H, B), dtype)
    step_da = D.reshape(n, 6 * H, B)[:, H : 5 * H]
    da = all_steps(step_da, T)
    dy = g.dy.transpose(0, 2, 1)
    nothing: Any = [None] * T
    dh_all = nothing if Wp is None else workspace.empty((T, P, B), dtype)
    dc_all = nothing if dc_each is None else dc_each
    R_T = transposed(R) if B > 1 else R.T
    peeping = nothing
    if peepholes is not None:
        wci, wcf, wco = (w[:, None] for w in peepholes)  # (H, 1)
        D_i, D_f, D_o = (D[:, 1 + gates.index(gate)] for gate in "ifo")
        peeping = list(zip(D_i, D_f, D_o, strict=True))
    views = list(zip(D[:, 0], D[:, :4], D[:, 4:], D[:, 5], step_da, peeping[:n], strict=True))

    dh, dc, dc_prev, t = [np.zeros((k, B), dtype) for k in (P, H, H, H)]
    dm = dh if Wp is None else np.empty((H, B), dtype)
    dh0, dc0 = np.empty((B, P), dtype), np.empty((B, H), dtype)
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, da):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo
        v = values.steps(lo, hi)
        factors(v, gates, co[:k], D[:k])
        piece.join(g.dc_n, dc_prev)
        carry = dc_prev
        zh: Any = nothing[:k]
        zc: Any = zh
        if d.keep is not None and d.keep.zc is not None:
            zh, zc = masks(d.keep.zh, piece), masks(d.keep.zc, piece)
        steps = list(zip(views[:k], dy[lo:hi], dh_all[lo:hi], dc_all[lo:hi], strict=True))
        for ((f, f_gates, o_h, dc_h, da_t, peep), dy_t, dh_t, dc_t), zh_t, zc_t in zip(
            piece.order(steps), zh, zc, strict=True
        ):
            if Wp is None:
                add(dh, dy_t, dh)
            else:
                add(dh, dy_t, dh_t)
            if zh_t is not None:
                dh_new, kept_dh = split(zh_t, dh if Wp is None else dh_t)
                carry, kept_dc = split(zc_t, carry)
                if Wp is None:
                    dm = dh_new
                else:
                    dh_t[...] = dh_new
            if Wp is not None:
                dot(Wp.T, dh_t, dm)
            multiply(o_h, dm, o_h)
            add(carry, dc_h, dc)
            if dc_t is not None:
                add(dc, dc_t, dc)
            if peepholes is not None:
                da_i, da_f, da_o = peep
                multiply(wco, da_o, t)
                add(dc, t, dc)
            multiply(f_gates, dc, f_gates)
            carry = f
            if peepholes is not None:
                multiply(wci, da_i, t)
                add(carry, t, carry)
                multiply(wcf, da_f, t)
                add(carry, t, carry)
            dot(R_T, da_t, dh)
            if zh_t is not None:
                add(dh, kept_dh, dh)
                add(carry, kept_dc, carry)
        dc_prev[...] = carry
        piece.leave(dc_prev, dc0)
        if d.visit.lengths is not None:
            dc_prev[:, piece.leaving] = 0
        if dpeepholes is not None:
            seen: Any = v.c_prev, v.c_prev, v.c
            for dw, a, c in zip(dpeepholes, (D_i, D_f, D_o), seen, strict=True):
                dw += np.einsum("thb,thb->h", a[:k], c)

    weight_gradients(d, g, da.reshape(4 * H, T * B))
    if Wp is not None:
        projection_gradient(values, dh_all, g)
    return dh0, dc0


def projection_gradient(v: Values, dh: Array, g: Gradients) -> None:
    """dWp = dh @ m        dh (T, P, B): the gradients of the projection, m = o * tanh(c)"""
    m = v.o * tanh(v.i * v.n + v.f * v.c_prev)  # (T, H, B)
    dh, m = (a.transpose(1, 0, 2).reshape(a.shape[1], -1) for a in (dh, m))
    np.matmul(dh, m.T, out=g.dweights.Wp)
