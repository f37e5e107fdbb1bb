"""The number of operations of a primitive or a fused kernel as a function of the shapes, for `Counting`.

Each returns (floating-point operations, transcendental functions): ``+ - * /`` and comparisons on one side, exp, log,
sqrt, tanh and powers on the other. A sigmoid is one exp and three operations. Optimizations of a device are not
subtracted: these are the counts of the formulas in the ops' docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

from minirnn.devices.counting import own_cell

Cost = tuple[int, int]
Shape = tuple[int, ...]

SIGMOID = 3  # -z, 1 + e, 1 / .

ARITHMETIC = (
    "negative", "absolute", "sign", "relu", "add", "subtract", "multiply", "divide", "maximum", "minimum",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "where",
    "floor", "ceil", "round", "cumsum", "cumprod",
)  # fmt: skip
"""One operation per element of the result."""
FUNCTIONS = ("exp", "log", "sqrt", "tanh", "power", "sin", "cos", "tan", "erf", "log1p", "expm1")
"""One transcendental function per element of the result."""
REDUCTIONS = ("sum", "max", "argmax", "min", "argmin", "prod")
"""One operation per element of the operand."""
MOVES = ("asarray", "to_numpy", "cast", "full", "concatenate", "put")
"""No operation, but bytes."""
VIEWS = ("reshape", "transpose", "broadcast_to")
"""Nothing: a view of the same memory."""


def of_primitive(name: str, inputs: Sequence[Shape], output: Shape) -> Cost:
    """The cost of a primitive, from the shapes of its arrays."""
    n = prod(output)
    if name in ARITHMETIC:
        return n, 0
    if name in FUNCTIONS:
        return 0, n
    if name == "sigmoid":
        return SIGMOID * n, n
    if name == "clip":
        return 2 * n, 0
    if name in REDUCTIONS:
        return prod(inputs[0]), 0
    if name == "matmul":
        return 2 * n * inputs[0][-1], 0
    if name == "softmax":  # maximum, difference, exp, sum, quotient
        return 4 * n, n
    if name == "log_softmax":  # maximum, difference, exp, sum, log of each row, difference
        return 4 * n, n  # one log per row is left out
    if name == "scatter_add":
        return prod(inputs[0]), 0
    if name == "recurrence":  # a product and a sum
        return 2 * n, 0
    if name == "argsort":  # sorted runs of 1, 2, 4, ... are merged, one comparison per element; all axes are counted
        return n * max(n - 1, 0).bit_length(), 0
    return 0, 0


# ---- fused kernels: products exactly, the rest per unit of a row from the lines of the formula


def lstm_block_cell(x: Shape, cs_prev: Shape, *_: Shape, cell_clip: float, use_peephole: bool, **__: Any) -> Cost:
    (B, I), H = x, cs_prev[1]
    flops, functions = _lstm_unit(cell_clip, use_peephole)
    return 2 * B * (I + H) * 4 * H + B * H * flops, B * H * functions


def _lstm_unit(cell_clip: float, use_peephole: bool) -> Cost:
    # 4 biases, forget_bias, 3 sigmoids, cs = i*ci + f*cs_prev, h = o*co;  3 sigmoids and 2 tanh
    return 4 + 1 + 3 * SIGMOID + 3 + 1 + (2 if cell_clip < inf else 0) + (6 if use_peephole else 0), 5


# dzo 4, dcs 5, dzc 4, dzi 4, dzf 4, cs_prev_grad 1; peepholes: dcs 2, cs_prev_grad 4, their three gradients 6
LSTM_GRAD, LSTM_GRAD_PEEPHOLE = 22, 12


def lstm_block_cell_grad(x: Shape, cs_prev: Shape, *_: Shape, use_peephole: bool) -> Cost:
    return prod(cs_prev) * (LSTM_GRAD + LSTM_GRAD_PEEPHOLE * use_peephole), 0


def block_lstm(x: Shape, cs_prev: Shape, *_: Shape, seq_len_max: int, **attributes: Any) -> Cost:
    flops, functions = lstm_block_cell(x[1:], cs_prev, **attributes)
    return seq_len_max * flops, seq_len_max * functions


def block_lstm_grad(x: Shape, cs_prev: Shape, *_: Shape, seq_len_max: int, use_peephole: bool, **__: Any) -> Cost:
    B, I, H = x[1], x[2], cs_prev[1]
    rows = seq_len_max * B
    products = 2 * rows * 4 * H * (I + H) * 2  # xh_grad and w_grad
    unit = LSTM_GRAD + LSTM_GRAD_PEEPHOLE * use_peephole + 2  # cs_grad and h_grad from step t+1
    return products + rows * 4 * H + rows * H * unit, 0


def gru_block_cell(x: Shape, h_prev: Shape, *_: Shape) -> Cost:
    (B, I), H = x, h_prev[1]
    # 3 biases, 2 sigmoids, r*h_prev, h = u*h_prev + (1-u)*c;  2 sigmoids and 1 tanh
    return 2 * B * (I + H) * 3 * H + B * H * (3 + 2 * SIGMOID + 1 + 4), 3 * B * H


def gru_block_cell_grad(x: Shape, h_prev: Shape, *_: Shape) -> Cost:
    (B, I), H = x, h_prev[1]
    # d_c_bar 5, d_u_bar 5, d_r_bar 4, d_h_prev 4, and d_x the sum of two
    return 2 * B * 3 * H * (I + H) + B * H * 18 + B * I, 0


# per unit: the sum of both products and both biases of each gate, the activations, the new state
RNN_UNIT: dict[str, Cost] = {
    "rnn_relu": (3 + 1, 0),
    "rnn_tanh": (3, 1),
    "lstm": (4 * 3 + 3 * SIGMOID + 3 + 1, 5),
    "gru": (2 * 3 + 1 + 3 + 2 * SIGMOID + 4, 3),
}
# per unit: d = dy + dh, then the lines of the formula
RNN_UNIT_GRAD: dict[str, Cost] = {
    "rnn_relu": (1 + 2, 0),
    "rnn_tanh": (1 + 3, 0),
    "lstm": (1 + 5 + 4 * 4 + 1, 1),
    "gru": (1 + 5 + 5 + 4 + 1 + 2, 0),
}


def _rows(x: Shape, lengths: Any) -> int:
    return x[0] * x[1] if lengths is None else int(sum(lengths))


def cross_entropy(x: Shape, *, target: Any) -> Cost:
    # maximum, difference, sum; one log per row and the loss itself are left out
    return 3 * prod(x), prod(x)


def cross_entropy_grad(x: Shape, dy: Shape, *, target: Any) -> Cost:
    # maximum, difference, sum, quotient, product; the difference at the right class is left out
    return 5 * prod(x), prod(x)


def adam(p: Shape, g: Shape, m: Any, v: Any, *, step: int, **_: float) -> Cost:
    # m 1, v 2, and two more each after the first step; scale, correction, eps, quotient, difference; one root
    return prod(p) * (3 + 5 + (4 if step > 1 else 0)), prod(p)


KERNEL_COSTS: dict[str, Callable[..., Cost]] = {
    "lstm_block_cell": lstm_block_cell,
    "lstm_block_cell_grad": lstm_block_cell_grad,
    "block_lstm": block_lstm,
    "block_lstm_grad": block_lstm_grad,
    "gru_block_cell": gru_block_cell,
    "gru_block_cell_grad": gru_block_cell_grad,
    "cell_sequence": own_cell.cell_sequence,
    "cell_sequence_grad": own_cell.cell_sequence_grad,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "adam": adam,
}
"""Maps a kernel to its cost, a function of shapes instead of arrays, and attributes."""
