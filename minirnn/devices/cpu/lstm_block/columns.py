"""The fast LSTM sequence in NumPy: the results are those of `reference.py`, and most of the time goes into products.

What makes it fast, in order of effect:

1. Column layout: a state is (H, B), a step's gates are rows (4H, B), and weights multiply from the left. OpenBLAS is up
   to twice as fast on ``R @ h`` as on ``h @ R.T`` at small batch, and every gate is one contiguous block.
2. One product for the inputs of many steps, and single products over (T*B) for w_grad, x_grad and b_grad.
3. No slicing, no allocation and few calls in the time loops. sigmoid(z) = tanh(z/2)/2 + 1/2 with the inner 1/2 folded
   into the weights, so that all gates are one call of tanh.
4. Backward computes the factors that don't depend on the running gradients for a chunk of steps at once, while it fits
   the cache; 4 to 6 elementwise calls and one product a step remain.
5. Big buffers come from `workspace`: page faults on fresh memory cost 1.3x to 2x at (T, B, I, H) = (50, 32, 64, 128).

The outputs are transposed views of the (T, H, B) buffers; `backward` recognises that layout and copies nothing.
Measured by `benchmarks/block_lstm.py`, which also says what was tried and dropped.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu import workspace

# Gate rows inside `forward`: the three sigmoids adjacent; and with peepholes, where o waits for the new cs, what can be
# computed before (i f c) is still one block.
ROWS = "oifc"

COLUMNS_PER_PRODUCT = 512  # time steps times batch in one product of the inputs: BLAS gains little beyond
CELLS_PER_CHUNK = 1 << 16  # time steps times H times B whose backward factors are computed at once


def forward(
    *inputs: np.ndarray, seq_len_max: int, forget_bias: float, cell_clip: float, use_peephole: bool
) -> tuple[np.ndarray, ...]:
    """Return i, cs, f, o, ci, co, h, as `sequence.block_lstm` does."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    T, B, _ = x.shape
    L, H, dtype = seq_len_max, cs_prev.shape[1], x.dtype
    dot, add, mul, tanh, minimum, maximum = np.dot, np.add, np.multiply, np.tanh, np.minimum, np.maximum
    half = np.array(0.5, dtype)  # a 0-d array costs less in a call than a Python number

    W, R, bias, w_peephole = left_weights(x.shape[2], w, wci, wcf, wco, b, forget_bias)
    wc_if, wc_o = w_peephole[1:], w_peephole[0]  # (2, H, 1), (H, 1)

    Z = workspace.empty((T, 4 * H, B), dtype)  # first pre-activations, then gates
    CS = workspace.empty((T + 1, H, B), dtype)  # CS[t], HS[t]: what step t starts from
    HS = workspace.empty((T + 1, H, B), dtype)
    CO = workspace.empty((T, H, B), dtype)
    CS[0], HS[0] = cs_prev.T, h_prev.T
    Z[L:] = CS[L + 1 :] = HS[L + 1 :] = CO[L:] = 0
    O, I, F, C = (Z[:, k * H : (k + 1) * H] for k in range(4))  # (T, H, B) each
    IF = Z[:, H : 3 * H].reshape(T, 2, H, B)
    early = Z[:, H:] if use_peephole else Z  # rows whose pre-activation is complete before cs is known
    early_sigmoids = Z[:, H : 3 * H] if use_peephole else Z[:, : 3 * H]

    Rh = workspace.empty((4 * H, B), dtype)
    i_ci = np.empty((H, B), dtype)
    peep_if, peep_o = np.empty((2, H, B), dtype), np.empty((H, B), dtype)
    clips, high, low = cell_clip < np.inf, np.array(cell_clip, dtype), np.array(-cell_clip, dtype)

    n = max(1, min(L, COLUMNS_PER_PRODUCT // max(1, B)))
    buffer = workspace.empty((4 * H * n * B,), dtype)
    for t0 in range(0, L, n):
        t1 = min(L, t0 + n)
        Wx = buffer[: 4 * H * (t1 - t0) * B].reshape(4 * H, (t1 - t0) * B)
        dot(W, columns(x[t0:t1]), Wx)
        add(Wx.reshape(4 * H, t1 - t0, B).transpose(1, 0, 2), bias, Z[t0:t1])
        for z, z_if, ze, se, o, i, f, c, cs0, cs, h0, h, co in zip(
            Z[t0:t1], IF[t0:t1], early[t0:t1], early_sigmoids[t0:t1],
            O[t0:t1], I[t0:t1], F[t0:t1], C[t0:t1],
            CS[t0:t1], CS[t0 + 1 : t1 + 1], HS[t0:t1], HS[t0 + 1 : t1 + 1], CO[t0:t1], strict=True,
        ):  # fmt: skip
            dot(R, h0, Rh)
            add(z, Rh, z)
            if use_peephole:
                mul(wc_if, cs0, peep_if)
                add(z_if, peep_if, z_if)
            tanh(ze, ze)
            mul(se, half, se)
            add(se, half, se)
            mul(f, cs0, cs)
            mul(i, c, i_ci)
            add(cs, i_ci, cs)
            if clips:
                minimum(cs, high, out=cs)  # NaN stays NaN
                maximum(cs, low, out=cs)
            if use_peephole:
                mul(wc_o, cs, peep_o)
                add(o, peep_o, o)
                tanh(o, o)
                mul(o, half, o)
                add(o, half, o)
            tanh(cs, co)
            mul(o, co, h)
    i, cs, f, o, ci, co, h = (a.transpose(0, 2, 1) for a in (I, CS[1:], F, O, C, CO, HS[1:]))  # (T, B, H)
    return i, cs, f, o, ci, co, h


def left_weights(
    I: int,
    w: np.ndarray,
    wci: np.ndarray,
    wcf: np.ndarray,
    wco: np.ndarray,
    b: np.ndarray,
    forget_bias: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return W (4H, I), R (4H, H), bias (4H, 1) and peephole weights o, i, f (3, H, 1), their sigmoid rows halved."""
    H, dtype = wci.shape[0], w.dtype
    W, R = workspace.empty((4 * H, I), dtype), workspace.empty((4 * H, H), dtype)
    bias = np.empty((4 * H, 1), dtype)
    for k, gate in enumerate(ROWS):
        rows = slice(k * H, (k + 1) * H)
        at = "icfo".index(gate) * H
        # 32 rows of w at a time: a transposed copy in one go takes eight times as long when 4H is a power of two,
        # because its reads all fall into the same few cache lines.
        for j in range(0, I, 32):
            W[rows, j : j + 32] = w[j : min(j + 32, I), at : at + H].T
        for j in range(0, H, 32):
            R[rows, j : j + 32] = w[I + j : min(I + j + 32, I + H), at : at + H].T
        bias[rows, 0] = b[at : at + H]
        if gate == "f":
            bias[rows] += dtype.type(forget_bias)
    half = dtype.type(0.5)
    for a in (W, R, bias):
        a[: 3 * H] *= half
    return W, R, bias, half * np.stack([wco, wci, wcf])[:, :, None]


def backward(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> tuple[np.ndarray, ...]:
    """Return x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad."""
    x, cs_prev, h_prev, w, wci, wcf, wco, _, i, cs, f, o, ci, co, h, cs_grad, h_grad = arrays
    T, B, I = x.shape
    L, H, dtype = seq_len_max, cs_prev.shape[1], x.dtype
    wci_grad, wcf_grad, wco_grad = (np.zeros(H, dtype) for _ in range(3))
    if L == 0 or B == 0:
        shapes = (T, B, I), (B, H), (B, H), (I + H, 4 * H), (4 * H,)
        x_grad, cs_prev_grad, h_prev_grad, w_grad, b_grad = (np.zeros(s, dtype) for s in shapes)
        return x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad
    dot, add, mul = np.dot, np.add, np.multiply

    w = np.ascontiguousarray(w)
    R = w[I:]  # (H, 4H)
    wci, wcf, wco = wci[:, None], wcf[:, None], wco[:, None]  # (H, 1)
    i, cs, f, o, ci, co = (column_layout(a[:L]) for a in (i, cs, f, o, ci, co))  # (L, H, B)
    cs_grad, h_grad = cs_grad[:L].transpose(0, 2, 1), h_grad[:L].transpose(0, 2, 1)  # (L, H, B)
    has_cs_grad = bool(cs_grad.any())  # a loss of h alone is the usual case

    n = min(L, max(1, CELLS_PER_CHUNK // (H * B)))
    D = workspace.empty((n, 4 * H, B), dtype)  # first factors, then dz; the gates in the order of w's columns
    gates = D.reshape(n, 4, H, B)
    DI, DC, DF, DO = (gates[:, k] for k in range(4))  # (n, H, B)
    DICF = gates[:, :3]
    A = workspace.empty((n, H, B), dtype)
    DZ = workspace.empty((4 * H, L, B), dtype)  # dz of all steps
    dcs, dh = np.zeros((H, B), dtype), np.zeros((H, B), dtype)
    scratch = np.empty((H, B), dtype)

    for t1 in range(L, 0, -n):
        t0 = max(0, t1 - n)
        m = t1 - t0
        D_, DI_, DC_, DF_, DO_, DICF_, A_ = D[:m], DI[:m], DC[:m], DF[:m], DO[:m], DICF[:m], A[:m]
        i_, f_, o_, ci_, co_ = i[t0:t1], f[t0:t1], o[t0:t1], ci[t0:t1], co[t0:t1]
        cp = cs[t0 - 1 : t1 - 1] if t0 else np.concatenate([cs_prev.T[None], cs[: t1 - 1]])  # (m, H, B)
        # dzi = dcs * DI   dzc = dcs * DC   dzf = dcs * DF   dzo = dh * DO   dcs += dh * A
        sigmoid_factor(i_, ci_, DI_)
        tanh_factor(ci_, i_, DC_)
        sigmoid_factor(f_, cp, DF_)
        sigmoid_factor(o_, co_, DO_)
        tanh_factor(co_, o_, A_)
        for dz, dzicf, dzi, dzf, dzo, a, f_t, cs_grad_t, h_grad_t in zip(
            D_[::-1], DICF_[::-1], DI_[::-1], DF_[::-1], DO_[::-1], A_[::-1], f_[::-1],
            cs_grad[t0:t1][::-1], h_grad[t0:t1][::-1], strict=True,
        ):  # fmt: skip
            add(dh, h_grad_t, dh)
            mul(dh, a, scratch)
            add(dcs, scratch, dcs)
            if has_cs_grad:
                add(dcs, cs_grad_t, dcs)
            mul(dzo, dh, dzo)
            if use_peephole:
                mul(wco, dzo, scratch)
                add(dcs, scratch, dcs)
            mul(dzicf, dcs, dzicf)
            mul(dcs, f_t, dcs)
            if use_peephole:
                mul(wci, dzi, scratch)
                add(dcs, scratch, dcs)
                mul(wcf, dzf, scratch)
                add(dcs, scratch, dcs)
            dot(R, dz, dh)
        DZ[:, t0:t1] = D_.transpose(1, 0, 2)  # now, while it is in the cache
        if use_peephole:
            wci_grad += np.einsum("thb,thb->h", DI_, cp)
            wcf_grad += np.einsum("thb,thb->h", DF_, cp)
            wco_grad += np.einsum("thb,thb->h", DO_, cs[t0:t1])

    DZ = DZ.reshape(4 * H, L * B)
    HP = workspace.empty((H, L, B), dtype)  # h_prev of all steps
    HP[:, 0] = h_prev.T
    HP[:, 1:] = h[: L - 1].transpose(2, 0, 1)
    w_grad = workspace.empty((I + H, 4 * H), dtype)
    dot(columns(x[:L]), DZ.T, w_grad[:I])
    dot(HP.reshape(H, L * B), DZ.T, w_grad[I:])
    x_grad = workspace.empty((T, B, I), dtype)
    x_grad[L:] = 0
    dot(DZ.T, w[:I].T, x_grad[:L].reshape(L * B, I))
    b_grad = dot(DZ, np.ones(L * B, dtype))
    return x_grad, dcs.T, dh.T, w_grad, wci_grad, wcf_grad, wco_grad, b_grad


def sigmoid_factor(y: np.ndarray, factor: np.ndarray, out: np.ndarray) -> None:
    """Set out = y * (1 - y) * factor, for y = sigmoid(z), without temporaries."""
    np.subtract(y.dtype.type(1), y, out)
    np.multiply(out, y, out)
    np.multiply(out, factor, out)


def tanh_factor(y: np.ndarray, factor: np.ndarray, out: np.ndarray) -> None:
    """Set out = (1 - y*y) * factor, for y = tanh(z), without temporaries."""
    np.multiply(y, y, out)
    np.subtract(y.dtype.type(1), out, out)
    np.multiply(out, factor, out)


def columns(x: np.ndarray) -> np.ndarray:
    """Return x (T, B, I) as a matrix (I, T*B) that BLAS takes as it is; a view if x is C-contiguous."""
    T, B, I = x.shape
    if x.flags.c_contiguous:
        return x.reshape(T * B, I).T
    return np.ascontiguousarray(x.transpose(2, 0, 1)).reshape(I, T * B)


def column_layout(a: np.ndarray) -> np.ndarray:
    """Return a (T, B, H) as (T, H, B) with each step contiguous; a view of what `forward` made."""
    a = a.transpose(0, 2, 1)
    return a if a[0].flags.c_contiguous else np.ascontiguousarray(a)
