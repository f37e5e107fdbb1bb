"""The formulas of each library for its own arrays, from its documentation. Imported by the tests in this folder.

A step takes the arrays of one layer and direction under the library's names, x (B, in), h (B, P) and c (B, H), and
returns the next h and c. This module does not use the converters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Step = Callable[[Mapping[str, Array], Array, Array, Array], tuple[Array, Array]]


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def run(step: Step, layers: Sequence[Sequence[Mapping[str, Array]]], x: Array, h0: Array, c0: Array | None) -> Array:
    """Outputs (T, B, D*P) of layers[l][d], for x (T, B, I), h0 (L*D, B, P), c0 (L*D, B, H)."""
    D = len(layers[0])
    for l, directions in enumerate(layers):
        outputs = []
        for d, arrays in enumerate(directions):
            h = h0[l * D + d]
            c = c0[l * D + d] if c0 is not None and c0.size else h
            y = [h] * len(x)
            for t in range(len(x)) if d == 0 else reversed(range(len(x))):
                h, c = step(arrays, x[t], h, c)
                y[t] = h
            outputs.append(np.stack(y))
        x = np.concatenate(outputs, axis=2)
    return x


# ---- torch.nn: https://pytorch.org/docs/stable/nn.html#recurrent-layers


def torch_lstm(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    z = x @ a["weight_ih"].T + a["bias_ih"] + h @ a["weight_hh"].T + a["bias_hh"]
    i, f, g, o = np.split(z, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h @ a["weight_hr"].T if "weight_hr" in a else h), c


def torch_gru(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    xr, xz, xn = np.split(x @ a["weight_ih"].T + a["bias_ih"], 3, axis=1)
    hr, hz, hn = np.split(h @ a["weight_hh"].T + a["bias_hh"], 3, axis=1)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    n = np.tanh(xn + r * hn)
    return (1 - z) * n + z * h, c


def torch_rnn(activation: Callable[[Array], Array]) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        return activation(x @ a["weight_ih"].T + a["bias_ih"] + h @ a["weight_hh"].T + a["bias_hh"]), c

    return step


# ---- Keras: the cells of keras/layers/rnn


def keras_lstm(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    z = x @ a["kernel"] + h @ a["recurrent_kernel"] + a["bias"]
    z0, z1, z2, z3 = np.split(z, 4, axis=1)
    i = sigmoid(z0)
    f = sigmoid(z1)
    c = f * c + i * np.tanh(z2)
    o = sigmoid(z3)
    return o * np.tanh(c), c


def keras_gru_reset_after(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    input_bias, recurrent_bias = a["bias"]
    x_z, x_r, x_h = np.split(x @ a["kernel"] + input_bias, 3, axis=1)
    recurrent_z, recurrent_r, recurrent_h = np.split(h @ a["recurrent_kernel"] + recurrent_bias, 3, axis=1)
    z = sigmoid(x_z + recurrent_z)
    r = sigmoid(x_r + recurrent_r)
    hh = np.tanh(x_h + r * recurrent_h)
    return z * h + (1 - z) * hh, c


def keras_gru_reset_before(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    x_z, x_r, x_h = np.split(x @ a["kernel"] + a["bias"], 3, axis=1)
    U_z, U_r, U_h = np.split(a["recurrent_kernel"], 3, axis=1)
    z = sigmoid(x_z + h @ U_z)
    r = sigmoid(x_r + h @ U_r)
    hh = np.tanh(x_h + (r * h) @ U_h)
    return z * h + (1 - z) * hh, c


def keras_rnn(activation: Callable[[Array], Array]) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        return activation(x @ a["kernel"] + a["bias"] + h @ a["recurrent_kernel"]), c

    return step


# ---- TensorFlow's cells: the documentation of LSTMBlockCell, BlockLSTMV2, GRUBlockCell, BasicRNNCell


def tf_lstm(order: str, forget_bias: float) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        z = dict(zip(order, np.split(np.concatenate([x, h], axis=1) @ a["w"] + a["b"], 4, axis=1), strict=True))
        wci, wcf, wco = (a.get(name, 0) for name in ("wci", "wcf", "wco"))
        i = sigmoid(z["i"] + wci * c)
        f = sigmoid(z["f"] + forget_bias + wcf * c)
        c = f * c + i * np.tanh(z["c"])
        o = sigmoid(z["o"] + wco * c)
        return o * np.tanh(c), c

    return step


def tf_gru(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    r, u = np.split(sigmoid(np.concatenate([x, h], axis=1) @ a["w_ru"] + a["b_ru"]), 2, axis=1)
    n = np.tanh(np.concatenate([x, r * h], axis=1) @ a["w_c"] + a["b_c"])
    return u * h + (1 - u) * n, c


def tf_rnn(activation: Callable[[Array], Array]) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        return activation(np.concatenate([x, h], axis=1) @ a["w"] + a["b"]), c

    return step


# ---- ONNX: the operators LSTM, GRU, RNN; here W, R, B, P of one direction


def onnx_lstm(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    Wi, Wo, Wf, Wc = np.split(a["W"], 4)
    Ri, Ro, Rf, Rc = np.split(a["R"], 4)
    Wbi, Wbo, Wbf, Wbc, Rbi, Rbo, Rbf, Rbc = np.split(a["B"], 8)
    Pi, Po, Pf = np.split(a["P"], 3) if "P" in a else (0, 0, 0)
    it = sigmoid(x @ Wi.T + h @ Ri.T + Pi * c + Wbi + Rbi)
    ft = sigmoid(x @ Wf.T + h @ Rf.T + Pf * c + Wbf + Rbf)
    ct = np.tanh(x @ Wc.T + h @ Rc.T + Wbc + Rbc)
    c = ft * c + it * ct
    ot = sigmoid(x @ Wo.T + h @ Ro.T + Po * c + Wbo + Rbo)
    return ot * np.tanh(c), c


def onnx_gru(linear_before_reset: int) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        Wz, Wr, Wh = np.split(a["W"], 3)
        Rz, Rr, Rh = np.split(a["R"], 3)
        Wbz, Wbr, Wbh, Rbz, Rbr, Rbh = np.split(a["B"], 6)
        zt = sigmoid(x @ Wz.T + h @ Rz.T + Wbz + Rbz)
        rt = sigmoid(x @ Wr.T + h @ Rr.T + Wbr + Rbr)
        if linear_before_reset:
            ht = np.tanh(x @ Wh.T + rt * (h @ Rh.T + Rbh) + Wbh)
        else:
            ht = np.tanh(x @ Wh.T + (rt * h) @ Rh.T + Rbh + Wbh)
        return (1 - zt) * ht + zt * h, c

    return step


def onnx_rnn(activation: Callable[[Array], Array]) -> Step:
    def step(a: Mapping[str, Array], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        Wb, Rb = np.split(a["B"], 2)
        return activation(x @ a["W"].T + h @ a["R"].T + Wb + Rb), c

    return step


# ---- names of the arrays of a whole network -> layers[l][d]


def torch_layers(arrays: Mapping[str, Any], L: int, D: int) -> list[list[dict[str, Array]]]:
    names = ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh")
    place = lambda l, d: f"_l{l}" + "_reverse" * d  # noqa: E731
    return [
        [{n: np.asarray(arrays[n + place(l, d)]) for n in names if n + place(l, d) in arrays} for d in range(D)]
        for l in range(L)
    ]


def folder_layers(arrays: Mapping[str, Array], L: int, D: int) -> list[list[dict[str, Array]]]:
    def folder(l: int, d: int) -> str:
        if L == D == 1:
            return ""
        return f"layer_{l}/" + ("" if D == 1 else ("forward/", "backward/")[d])

    def inside(prefix: str) -> dict[str, Array]:
        found = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
        assert found
        return found

    return [[inside(folder(l, d)) for d in range(D)] for l in range(L)]


def onnx_layers(arrays: Mapping[str, Array], L: int, D: int) -> list[list[dict[str, Array]]]:
    nodes = folder_layers(arrays, L, 1)
    assert all(a.shape[0] == D for node in nodes for a in node[0].values())
    return [[{name: a[d] for name, a in node[0].items()} for d in range(D)] for node in nodes]


def relu(z: Array) -> Array:
    return np.maximum(z, 0)


STEPS: dict[tuple[str, str, str | None], Step] = {
    ("torch.nn", "lstm", None): torch_lstm,
    ("torch.nn", "gru", "reset_after"): torch_gru,
    ("torch.nn", "rnn_tanh", None): torch_rnn(np.tanh),
    ("torch.nn", "rnn_relu", None): torch_rnn(relu),
    ("keras", "lstm", None): keras_lstm,
    ("keras", "gru", "reset_after"): keras_gru_reset_after,
    ("keras", "gru", "reset_before"): keras_gru_reset_before,
    ("keras", "rnn_tanh", None): keras_rnn(np.tanh),
    ("keras", "rnn_relu", None): keras_rnn(relu),
    ("tf.lstm_block_cell", "lstm", None): tf_lstm("icfo", 1.0),
    ("tf.block_lstm_v2", "lstm", None): tf_lstm("ifco", 0.0),
    ("tf.gru_block_cell", "gru", "reset_before"): tf_gru,
    ("tf.basic_rnn_cell", "rnn_tanh", None): tf_rnn(np.tanh),
    ("tf.basic_rnn_cell", "rnn_relu", None): tf_rnn(relu),
    ("onnx", "lstm", None): onnx_lstm,
    ("onnx", "gru", "reset_after"): onnx_gru(1),
    ("onnx", "gru", "reset_before"): onnx_gru(0),
    ("onnx", "rnn_tanh", None): onnx_rnn(np.tanh),
    ("onnx", "rnn_relu", None): onnx_rnn(relu),
}
"""(layout, rnn_mode, kind of GRU) -> its step."""


def forward(
    layout: str,
    rnn_mode: str,
    gru: str | None,
    arrays: Mapping[str, Array],
    L: int,
    D: int,
    x: Array,
    h0: Array,
    c0: Array | None,
) -> Array:
    """The result of the library of `layout` for `arrays`."""
    cut = {"torch.nn": torch_layers, "onnx": onnx_layers}.get(layout, folder_layers)
    return run(STEPS[layout, rnn_mode, gru], cut(arrays, L, D), x, h0, c0)
