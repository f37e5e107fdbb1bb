"""The definition of a recurrent layer, written as its formulas: slow and plain, to check the fast kernels against.

The formulas and their names are explained in `minirnn/ops/cudnn_rnn/__init__.py` and, for zoneout, in
`minirnn/ops/cudnn_rnn/zoneout.py`. Rows are samples, so a product with a matrix W is ``x @ W.T``. One loop over the
steps goes forward, one over the same steps goes back; each sum over the steps (dx, dW, dR) is one product after the
loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.cpu.arithmetic import sigmoid

Array = np.ndarray
Weights = Sequence[tuple[Array | None, Array, Array | None, Array, Array]]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
"""Number G of gates. They are rows of the weights in this order: lstm i, f, n, o; gru r, z, n."""


class Step(NamedTuple):
    """The values of one step that the backward pass needs: the states before it, and those of the mode."""

    h: Array  # (B, P)
    c: Array | None  # (B, H)
    values: tuple[Array, ...]


def rnn_step(f: str, a: Array, a2: Array) -> tuple[Array, tuple[Array, ...]]:
    """h = f(x W.T + bW + h' R.T + bR)"""
    h = np.tanh(a + a2) if f == "rnn_tanh" else np.maximum(a + a2, 0)
    return h, (h,)


def rnn_step_grad(f: str, dh: Array, h: Array) -> Array:
    """da, from the gradient of h"""
    return dh * (1 - h * h) if f == "rnn_tanh" else dh * (h > 0)  # relu: derivative 0 at 0


def lstm_step(a: Array, a2: Array, c_prev: Array, Wp: Array | None) -> tuple[Array, Array, tuple[Array, ...]]:
    """c = f*c' + i*n        h = o*tanh(c), or (o*tanh(c)) @ Wp.T"""
    a_i, a_f, a_n, a_o = np.split(a + a2, 4, axis=1)
    i, f, n, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_n), sigmoid(a_o)
    c = f * c_prev + i * n
    m = o * np.tanh(c)
    return (m if Wp is None else m @ Wp.T), c, (i, f, n, o, c, m)


def lstm_step_grad(
    dh: Array, dc: Array, c_prev: Array, Wp: Array | None, values: tuple[Array, ...]
) -> tuple[Array, Array]:
    """da and dc', from the gradients of h and c"""
    i, f, n, o, c, _ = values
    dm = dh if Wp is None else dh @ Wp
    t = np.tanh(c)
    dc = dc + dm * o * (1 - t * t)
    da_i = dc * n * i * (1 - i)
    da_f = dc * c_prev * f * (1 - f)
    da_n = dc * i * (1 - n * n)
    da_o = dm * t * o * (1 - o)
    return np.concatenate([da_i, da_f, da_n, da_o], axis=1), dc * f


def gru_step(a: Array, a2: Array, h_prev: Array) -> tuple[Array, tuple[Array, ...]]:
    """h = (1-z)*n + z*h'        n = tanh(x W_n.T + bW_n + r*q),  q = h' R_n.T + bR_n"""
    H = h_prev.shape[1]
    r = sigmoid(a[:, :H] + a2[:, :H])
    z = sigmoid(a[:, H : 2 * H] + a2[:, H : 2 * H])
    q = a2[:, 2 * H :]
    n = np.tanh(a[:, 2 * H :] + r * q)
    return (1 - z) * n + z * h_prev, (r, z, n, q)


def gru_step_grad(dh: Array, h_prev: Array, values: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """da, da2 and the part that reaches h' past the product with R, from the gradient of h"""
    r, z, n, q = values
    da_n = dh * (1 - z) * (1 - n * n)
    da_z = dh * (h_prev - n) * z * (1 - z)
    da_r = da_n * q * r * (1 - r)
    return np.concatenate([da_r, da_z, da_n], axis=1), np.concatenate([da_r, da_z, da_n * r], axis=1), dh * z


def zoned(z: Array | float, old: Array, new: Array) -> Array:
    """h = zh*h' + (1-zh)*h_new, and the same for c: zoneout, around any cell"""
    return z * old + (1 - z) * new


def zoned_grad(z: Array | float, dh: Array) -> tuple[Array, Array]:
    """dh_new, and the part that reaches h' past the cell, from the gradient of h"""
    return (1 - z) * dh, z * dh


def at_step(z: Any, d: int, t: int) -> Any:
    """The masks of one step of one direction, or the number that is used for all."""
    return z[d, t] if isinstance(z, np.ndarray) else z


def valid_steps(T: int, B: int, lengths: Array | None) -> Array:
    """The valid steps, (T, B, 1): sample b has the steps t < lengths[b]."""
    steps = np.arange(T)[:, None, None]
    return steps < (np.full((B, 1), T) if lengths is None else np.asarray(lengths)[:, None])


def rnn_sequence_reference(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Weights,
    *,
    rnn_mode: str,
    lengths: Array | None,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[Array, Array, Array | None, list[list[Step]]]:
    """One layer forward, all directions: y, h_n, c_n with the shapes of `layer.rnn_sequence`, and the steps.

    The steps of each direction are for `rnn_sequence_grad_reference`.
    """
    T, B, _ = x.shape
    valid = valid_steps(T, B, lengths)
    x = np.where(valid, x, 0)
    outputs, last_h, saved = [], [], []
    last_c: list[Any] = []
    for d, (W, R, Wp, bW, bR) in enumerate(weights):
        h, c = h0[d], None if c0 is None else c0[d]
        a = (np.tile(x, GATES[rnn_mode]) if W is None else x @ W.T) + bW  # (T, B, G*H)
        y = np.zeros((T, B, h.shape[1]), x.dtype)
        steps: list[Step] = [None] * T  # type: ignore[list-item]
        for t in range(T) if d == 0 else range(T - 1, -1, -1):
            a2 = h @ R.T + bR
            new_c: Any = None
            if rnn_mode == "lstm":
                assert c is not None
                new_h, new_c, values = lstm_step(a[t], a2, c, Wp)
            elif rnn_mode == "gru":
                new_h, values = gru_step(a[t], a2, h)
            else:
                new_h, values = rnn_step(rnn_mode, a[t], a2)
            steps[t] = Step(h, c, values)
            if zoneout is not None:
                zh, zc = (at_step(z, d, t) for z in zoneout)
                new_h = zoned(zh, h, new_h)
                new_c = None if c is None else zoned(zc, c, new_c)
            y[t] = np.where(valid[t], new_h, 0)
            h = np.where(valid[t], new_h, h)  # past its end a sample keeps its state
            c = None if c is None else np.where(valid[t], new_c, c)
        outputs.append(y)
        last_h.append(h)
        last_c.append(c)
        saved.append(steps)
    c_n = None if c0 is None else np.stack(last_c)
    return np.concatenate(outputs, axis=2), np.stack(last_h), c_n, saved


def rnn_sequence_grad_reference(
    x: Array,
    weights: Weights,
    saved: list[list[Step]],
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    *,
    rnn_mode: str,
    lengths: Array | None,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[Array, Array, Array | None, list[tuple[Array | None, ...]]]:
    """Gradients of `rnn_sequence_reference`: dx (T, B, in), dh0 (D, B, P), dc0 (D, B, H), and those of the weights."""
    T, B, width = x.shape
    N, G = T * B, GATES[rnn_mode]
    valid = valid_steps(T, B, lengths)
    x, dy = np.where(valid, x, 0), np.where(valid, dy, 0)
    dx = np.zeros_like(x)
    dh0: list[Array] = []
    dc0: list[Any] = []
    dweights: list[tuple[Array | None, ...]] = []
    for direction, (W, R, Wp, _, _) in enumerate(weights):
        P, H = R.shape[1], R.shape[0] // G
        da = np.zeros((T, B, G * H), x.dtype)
        da2, dh_all, m = np.zeros_like(da), np.zeros((T, B, P), x.dtype), np.zeros((T, B, H), x.dtype)
        dh, dc = dh_n[direction], None if dc_n is None else dc_n[direction]
        for t in range(T - 1, -1, -1) if direction == 0 else range(T):
            h, c, values = saved[direction][t]
            dh_t = dy[t, :, direction * P : (direction + 1) * P] + dh
            new_dc: Any = None
            kept_dh: Any = 0  # the parts that reach h' and c' past the cell
            kept_dc: Any = 0
            cell_dc = dc
            if zoneout is not None:
                zh, zc = (at_step(z, direction, t) for z in zoneout)
                dh_t, kept_dh = zoned_grad(zh, dh_t)
                if dc is not None:
                    cell_dc, kept_dc = zoned_grad(zc, dc)
            through: Any = 0  # the part that reaches h' past the product with R
            if rnn_mode == "lstm":
                assert cell_dc is not None and c is not None
                da_t, new_dc = lstm_step_grad(dh_t, cell_dc, c, Wp, values)
                da2_t, m[t] = da_t, values[-1]
            elif rnn_mode == "gru":
                da_t, da2_t, through = gru_step_grad(dh_t, h, values)
            else:
                da_t = da2_t = rnn_step_grad(rnn_mode, dh_t, *values)
            da[t], da2[t], dh_all[t] = (np.where(valid[t], a, 0) for a in (da_t, da2_t, dh_t))
            dh = np.where(valid[t], da2[t] @ R + through + kept_dh, dh)
            dc = None if dc is None else np.where(valid[t], new_dc + kept_dc, dc)
        dh0.append(dh)
        dc0.append(dc)
        dx += da.reshape(T, B, G, H).sum(axis=2) if W is None else da @ W
        h_prev = np.stack([step.h for step in saved[direction]])
        dweights.append(
            (
                None if W is None else da.reshape(N, G * H).T @ x.reshape(N, width),
                da2.reshape(N, G * H).T @ h_prev.reshape(N, P),
                None if Wp is None else dh_all.reshape(N, P).T @ m.reshape(N, H),
                da.sum(axis=(0, 1)),
                da2.sum(axis=(0, 1)),
            )
        )
    return dx, np.stack(dh0), None if dc_n is None else np.stack(dc0), dweights
