"""Exercises about cells and sequences in the place of `cell_sequence_grad` and `cell_step_grad`.

Each function takes an answer, the device and the arguments of the kernel. It returns the result of the kernel, or
NotImplemented if the exercise does not cover the case. The kernels have gates as rows, in the order i, f, n, o, where
the exercises have columns, in the order i, ci, f, o.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence.layer import width_of
from minirnn.devices.cpu.sequence.named import by_name
from minirnn.learn.mine.answers import Answer, like
from minirnn.ops.cudnn_rnn.cells import CELLS, plan_of
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import plan_of as block_plan_of

Array = np.ndarray


class Layer(NamedTuple):
    """The arguments of `cell_sequence_grad`."""

    x: Array
    h0: Array
    c0: Any
    weights: Sequence[Weights]
    saved: Any
    y: Array
    dy: Array
    dh_n: Array
    dc_n: Any

    def values(self, plan: Any) -> dict[str, Array]:
        """The values that the forward pass saved, and the states but h after each step, by name: (D, T, B, H) each."""
        (T, B, _), D = self.x.shape, len(self.weights)
        if isinstance(self.saved, dict):
            return self.saved
        return by_name(plan, self.saved, D, T, width_of(plan, self.weights[0]), B)

    def dh(self) -> Array:
        """The gradient of each h from outside, (T, B, P), including that of the last state."""
        dh = self.dy.copy()
        dh[-1] += self.dh_n[0]
        return dh


def one_way(
    arguments: Sequence[Any], options: dict[str, Any], mode: str, *, projected: bool = False, lengths: bool = False
) -> Layer | None:
    """The call, if its layer has one direction and an exercise covers it."""
    layer = Layer(*arguments)
    W = layer.weights[0].W
    known = options["plan"] is plan_of(mode, projected) and len(layer.weights) == 1 and W is not None
    return layer if known and plain(options) and (options["lengths"] is not None) == lengths else None


def plain(options: dict[str, Any]) -> bool:
    return options.get("zoneout") is options.get("dc_each") is None


def given_back(layer: Layer, options: dict[str, Any], dx: Any, dh0: Any, dc0: Any, *weights: Any) -> Any:
    """The results in the form of the kernel; `weights` are the gradients of W, R, Wp, bW, bR."""
    wanted = [None if w is None else like(d, w) for d, w in zip(weights, layer.weights[0][:5], strict=True)]
    new_dx = like(dx, layer.x) if options["need_dx"] else None
    new_dc0 = None if dc0 is None else like(dc0, layer.c0[0])[None]
    return new_dx, like(dh0, layer.h0[0])[None], new_dc0, [Weights(*wanted)]


def by_steps(layer: Layer, step: Callable[..., Sequence[Any]]) -> list[Any]:
    """Go back through all steps: dx, dh0, dc0 and the sums of the other gradients.

    ``step(t, h_prev, dh, dc)`` returns dx, dh_prev, dc_prev and the gradients of the weights.
    """
    dx: list[Any] = [None] * len(layer.x)
    dh, dc = layer.dh_n[0], None if layer.dc_n is None else layer.dc_n[0]
    sums: list[Any] = []
    for t in reversed(range(len(dx))):
        dx[t], dh, dc, *weights = step(t, layer.y[t - 1] if t else layer.h0[0], layer.dy[t] + dh, dc)
        sums = [a + b for a, b in zip(sums, weights, strict=True)] if sums else weights
    return [np.stack(dx), dh, dc, *sums]


# ---- tanh RNN


def rnn_step(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "rnn_tanh")
    if layer is None or (len(layer.x) > 1 and "ex06" in device.active):
        return NotImplemented
    W, R, *_ = layer.weights[0]

    def step(t: int, h_prev: Array, dh: Array, dc: Any) -> Sequence[Any]:
        dx, dh_prev, *weights = answer(layer.x[t], h_prev, W.T, R.T, layer.y[t], dh)
        return dx, dh_prev, None, *weights

    dx, dh0, _, dW, dR, db = by_steps(layer, step)
    return given_back(layer, options, dx, dh0, None, dW.T, dR.T, None, db, db)


def rnn_sequence(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "rnn_tanh")
    if layer is None:
        return NotImplemented
    W, R, *_ = layer.weights[0]
    dx, dh0, dW, dR, db = answer(layer.x, layer.h0[0], W.T, R.T, layer.y, layer.dh())
    return given_back(layer, options, dx, dh0, None, dW.T, dR.T, None, db, db)


def rnn_lengths(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "rnn_tanh", lengths=True)
    if layer is None:
        return NotImplemented
    W, R, *_ = layer.weights[0]
    lengths = np.asarray(options["lengths"])
    there = (np.arange(len(layer.x))[:, None] < lengths)[:, :, None]  # values beyond that are arbitrary
    x, dy, h = np.where(there, layer.x, 0), np.where(there, layer.dy, 0), layer.y.copy()
    for t in range(1, len(h)):
        h[t] = np.where(there[t], h[t], h[t - 1])
    dx, dh0, dW, dR, db = answer(x, layer.h0[0], W.T, R.T, h, lengths, dy, layer.dh_n[0])
    return given_back(layer, options, dx, dh0, None, dW.T, dR.T, None, db, db)


# ---- LSTM


def block_layout(W: Array, R: Array, bW: Array, bR: Array) -> tuple[Array, Array]:
    """w (I+H, 4H) and b (4H,) with columns i, ci, f, o from rows i, f, n, o."""
    w, b = np.concatenate([W, R], axis=1).T, bW + bR
    order = [0, 2, 1, 3]
    return (np.concatenate([np.split(a, 4, axis=-1)[k] for k in order], axis=-1) for a in (w, b))  # type: ignore[return-value]


def lstm_layout(answer: Answer, device: Any, W: Array, R: Array, bW: Array, bR: Array) -> Any:
    w, b = answer(W, R, bW, bR)
    return np.asarray(w, W.dtype), np.asarray(b, W.dtype)


def as_rows(dw: Any) -> Array:
    """A gradient with columns i, ci, f, o as one with rows i, f, n, o."""
    i, ci, f, o = np.split(np.asarray(dw).T, 4)
    return np.concatenate([i, f, ci, o])


def lstm_values(layer: Layer, plan: Any) -> list[Array]:
    """i, f, n, o, c and the c before each step, (T, B, H) each."""
    values = layer.values(plan)
    *gates, c = (values[name][0] for name in ("i", "f", "n", "o", "c"))
    return [*gates, c, np.concatenate([layer.c0, c[:-1]])]


def lstm_results(layer: Layer, options: dict[str, Any], results: Sequence[Any], dwp: Any = None) -> Any:
    dx, dc0, dh0, dw, db = results
    dw, db, I = as_rows(dw), as_rows(db), layer.x.shape[2]
    return given_back(layer, options, dx, dh0, dc0, dw[:, :I], dw[:, I:], dwp, db, db)


def lstm_step(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "lstm")
    if layer is None or (len(layer.x) > 1 and "ex09" in device.active):
        return NotImplemented
    W, R, _, bW, bR, *_ = layer.weights[0]
    w, _ = device.lstm_layout(W, R, bW, bR)
    i, f, ci, o, cs, c_prev = lstm_values(layer, options["plan"])
    co = np.tanh(cs)

    def step(t: int, h_prev: Array, dh: Array, dc: Array) -> Sequence[Any]:
        gates = i[t], cs[t], f[t], o[t], ci[t], co[t]
        dx, dcs_prev, dh_prev, *weights = answer(layer.x[t], c_prev[t], h_prev, w, *gates, dc, dh)
        return dx, dh_prev, dcs_prev, *weights

    dx, dh0, dc0, dw, db = by_steps(layer, step)
    return lstm_results(layer, options, (dx, dc0, dh0, dw, db))


def lstm_sequence(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "lstm")
    if layer is None:
        return NotImplemented
    W, R, _, bW, bR, *_ = layer.weights[0]
    w, _ = device.lstm_layout(W, R, bW, bR)
    i, f, ci, o, cs, _ = lstm_values(layer, options["plan"])
    series = dict(x=layer.x, i=i, cs=cs, f=f, o=o, ci=ci, co=np.tanh(cs), h=layer.y, dh=layer.dh())
    if layer.dc_n[0].any():
        # The exercise has no gradient of the last cs. An additional step with i = 0 and f = o = 1 receives it through h
        # and passes it on unchanged.
        last = dict.fromkeys(series, 0.0) | dict(f=1.0, o=1.0)
        more = {k: np.full((1, *a.shape[1:]), last[k], a.dtype) for k, a in series.items()}
        more["dh"] = layer.dc_n
        series = {k: np.concatenate([a, more[k]]) for k, a in series.items()}
    x, *gates, h, dh = series.values()
    dx, dcs0, dh0, dw, db = answer(x, layer.c0[0], layer.h0[0], w, *gates, h, dh)
    return lstm_results(layer, options, (dx[: len(layer.x)], dcs0, dh0, dw, db))


def lstm_projected(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "lstm", projected=True)
    if layer is None:
        return NotImplemented
    W, R, Wp, bW, bR, *_ = layer.weights[0]
    w, _ = block_layout(W, R, bW, bR)
    i, f, ci, o, cs, c_prev = lstm_values(layer, options["plan"])
    co = np.tanh(cs)

    def step(t: int, h_prev: Array, dh: Array, dc: Array) -> Sequence[Any]:
        gates = i[t], cs[t], f[t], o[t], ci[t], co[t]
        dx, dcs_prev, dh_prev, *weights = answer(layer.x[t], c_prev[t], h_prev, w, Wp.T, *gates, dc, dh)
        return dx, dh_prev, dcs_prev, *weights

    dx, dh0, dc0, dw, dwp, db = by_steps(layer, step)
    return lstm_results(layer, options, (dx, dc0, dh0, dw, db), dwp.T)


def peephole_sequence(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    """BlockLSTM, whose rows are i, ci, f, o. It hands in the values by name."""
    layer = Layer(*arguments)
    if options["plan"] is not block_plan_of(True, False) or not isinstance(layer.saved, dict):
        return NotImplemented
    (W, R, *_, vectors), dc_each = layer.weights[0], options.get("dc_each")
    w = np.concatenate([W, R], axis=1).T
    i, f, ci, o, co, cs = (layer.saved[name][0] for name in ("i", "f", "ci", "o", "co", "cs"))
    c_prev = np.concatenate([layer.c0, cs[:-1]])

    def step(t: int, h_prev: Array, dh: Array, dc: Array) -> Sequence[Any]:
        dc = dc if dc_each is None else dc + dc_each[0, t]
        gates = i[t], cs[t], f[t], o[t], ci[t], co[t]
        dx, dcs_prev, dh_prev, *weights = answer(layer.x[t], c_prev[t], h_prev, w, *vectors, *gates, dc, dh)
        return dx, dh_prev, dcs_prev, *weights

    dx, dh0, dc0, dw, *d_vectors, db = by_steps(layer, step)
    dw, I = np.asarray(dw).T, layer.x.shape[2]
    *found, (weights,) = given_back(layer, options, dx, dh0, dc0, dw[:, :I], dw[:, I:], None, db, None)
    return *found, [weights._replace(vectors=[like(d, v) for d, v in zip(d_vectors, vectors, strict=True)])]


# ---- GRU


def gru_step(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    layer = one_way(arguments, options, "gru")
    if layer is None:
        return NotImplemented
    W, R, *_ = layer.weights[0]
    r, z, n, q = (layer.values(options["plan"])[name][0] for name in ("r", "z", "n", "h_n"))

    def step(t: int, h_prev: Array, dh: Array, dc: Any) -> Sequence[Any]:
        dx, dh_prev, *weights = answer(layer.x[t], h_prev, W, R, r[t], z[t], n[t], q[t], dh)
        return dx, dh_prev, None, *weights

    dx, dh0, _, dW, dR, dbW, dbR = by_steps(layer, step)
    return given_back(layer, options, dx, dh0, None, dW, dR, None, dbW, dbR)


def gru_block_step(
    answer: Answer, device: Any, states: Any, after: Any, values: Any, d_after: Any, weights: Weights, **options: Any
) -> Any:
    """The kernel returns the gradients of the gates before activation, which the exercise does not compute.

    For this, the step gets 3H zero inputs, which are connected one to one to the three gates. The gradient of such an
    input is that of its gate. The product of h with the matrix of r and u happens outside the kernel.
    """
    if options["plan"] is not gru_block.plan():
        return NotImplemented
    (h_prev,), (d_h,), (U,) = states, d_after, weights.U
    B, H = h_prev.shape
    wires = np.eye(3 * H, dtype=h_prev.dtype)
    w_ru = np.concatenate([wires[:, : 2 * H], np.zeros((H, 2 * H), h_prev.dtype)])
    w_c = np.concatenate([wires[:, 2 * H :], U.T])
    x, saved = np.zeros((B, 3 * H), h_prev.dtype), [values[name] for name in ("r", "u", "c")]
    d_x, d_h_prev, *_ = answer(x, h_prev, w_ru, w_c, *saved, d_h)
    return like(d_x, x), (like(d_h_prev, h_prev),), ()


# ---- two directions


def two_directions(answer: Answer, device: Any, *arguments: Any, **options: Any) -> Any:
    """The exercise splits the layer into two layers of one direction. Each is computed like any such layer."""
    layer, plan = Layer(*arguments), options["plan"]
    known = plan in [plan_of(mode, projected) for mode in CELLS for projected in (False, True)]
    if not known or len(layer.weights) != 2 or layer.weights[0].W is None or options["lengths"] is not None:
        return NotImplemented
    if not plain(options):
        return NotImplemented
    P = layer.h0.shape[2]
    W, R = (np.stack([weights[k].T for weights in layer.weights]) for k in (0, 1))
    h = np.stack([layer.y[..., :P], layer.y[..., P:]])
    values = layer.values(plan)
    ends: dict[int, Any] = {}

    def rnn_backward(x: Array, h0: Array, W_d: Array, R_d: Array, h_d: Array, dh: Array) -> Any:
        d = 0 if 0 not in ends and np.array_equal(W_d, W[0]) and np.array_equal(R_d, R[0]) else 1
        own = slice(d, d + 1)
        saved = {name: a[own, :: -1 if d else 1] for name, a in values.items()}
        c0, dc_n = (None, None) if layer.c0 is None else (layer.c0[own], layer.dc_n[own])
        like_x, like_h = like(x, layer.x), like(h_d, h[d])
        ends[d] = found = device.cell_sequence_grad(
            like_x, layer.h0[own], c0, [layer.weights[d]], saved, like_h, like(dh, h[d]), layer.dh_n[own], dc_n,
            **(options | {"need_dx": True}),
        )  # fmt: skip
        dx, dh0, _, (weights,) = found
        return dx, dh0[0], weights.W.T, weights.R.T, weights.bW

    dx, dW, dR, db = answer(layer.x, W, R, h, layer.dy, rnn_backward)
    if sorted(ends) != [0, 1]:
        return NotImplemented
    dW, dR, db = like(dW, W), like(dR, R), np.asarray(db, layer.x.dtype)
    weights = [ends[d][3][0]._replace(W=dW[d].T, R=dR[d].T, bW=db[d]) for d in (0, 1)]
    dh0, dc0 = (None if ends[0][k] is None else np.concatenate([ends[0][k], ends[1][k]]) for k in (1, 2))
    return like(dx, layer.x) if options["need_dx"] else None, dh0, dc0, weights
