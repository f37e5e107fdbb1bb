"""minirnn's built-in cells in the language of user-defined cells, for pictures. Tests check their formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minirnn.cells.cell import Formulas
from minirnn.cells.expr import apply

V = Any
"""A value of a step."""


def sigmoid(v: V) -> V:
    return apply("sigmoid", v)


def tanh(v: V) -> V:
    return apply("tanh", v)


def rnn_tanh(z_h: V, h: V) -> V:
    h = tanh(z_h)
    return h


def rnn_relu(z_h: V, h: V) -> V:
    h = apply("relu", z_h)
    return h


def lstm(z_i: V, z_f: V, z_n: V, z_o: V, c: V, h: V) -> V:
    i, f, n, o = sigmoid(z_i), sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c = f * c + i * n
    h = o * tanh(c)
    return c, h


def gru(z_r: V, z_z: V, x_n: V, h_n: V, h: V) -> V:
    r, z = sigmoid(z_r), sigmoid(z_z)
    n = tanh(x_n + r * h_n)
    h = (1 - z) * n + z * h
    return h


def gru_block_cell(z_r: V, z_u: V, x_c: V, h: V) -> V:
    r, u = sigmoid(z_r), sigmoid(z_u)
    rh = r * h
    c = tanh(x_c + apply("product", rh))
    h = u * h + (1 - u) * c
    return h


def lstm_block_cell(z_i: V, z_ci: V, z_f: V, z_o: V, cs: V, h: V, *, wci: V, wcf: V, wco: V) -> V:
    i, f, ci = sigmoid(z_i + wci * cs), sigmoid(z_f + wcf * cs), tanh(z_ci)
    cs = f * cs + i * ci
    o = sigmoid(z_o + wco * cs)
    h = o * tanh(cs)
    return cs, h


STATES: dict[Callable[..., Any], tuple[str, ...]] = {
    rnn_tanh: ("h",), rnn_relu: ("h",), lstm: ("c", "h"), gru: ("h",), gru_block_cell: ("h",),
    lstm_block_cell: ("cs", "h"),
}  # fmt: skip
BUILT_IN = {function.__name__: Formulas(function, states) for function, states in STATES.items()}
"""The modes of `cudnn_rnn` and the ops of single steps, by name. `lstm_block_cell` has peepholes."""
LETTERS = {
    "lstm": {"n": r"\tilde c", "z_n": "z_c"},
    "gru": {"n": r"\tilde h", "z": "u", "z_z": "z_u"},
    "gru_block_cell": {"c": r"\tilde h"},
}
"""The letters of the book for names of libraries, in pictures."""
