"""The number of operations of a primitive or a fused kernel as a function of the shapes, for `Counting`.

Each returns (floating-point operations, transcendental functions): ``+ - * /`` and comparisons on one side, exp, log,
sqrt, tanh and powers on the other. A sigmoid is one exp and three operations. Optimizations of a device are not
subtracted: these are the counts of the formulas in the ops' docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minirnn.devices.counting import sequence

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
    "cell_step": sequence.cell_step,
    "cell_step_grad": sequence.cell_step_grad,
    "cell_sequence": sequence.cell_sequence,
    "cell_sequence_grad": sequence.cell_sequence_grad,
    "keyed_sequence": sequence.keyed_sequence,
    "keyed_sequence_grad": sequence.keyed_sequence_grad,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "adam": adam,
}
"""Maps a kernel to its cost, a function of shapes instead of arrays, and attributes."""
