"""The number of operations of a primitive or a fused kernel as a function of the shapes, for `Counting`.

Each returns (floating-point operations, transcendental functions): ``+ - * /`` and comparisons on one side, exp, log,
sqrt, tanh and powers on the other. A sigmoid is one exp and three operations. Optimizations of a device are not
subtracted: these are the counts of the formulas in the ops' docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minirnn.cells.expr import CUTS, SUMS, Expr
from minirnn.cells.keyed import KeyedPlan
from minirnn.cells.plan import Plan, Stage
from minirnn.devices.base import Weights

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


# ---- cells: products by their shapes, the rest by the lines of the plan

NOTHING = ("number", "constant", "input", "gradient", "copy", "straight_through", *CUTS)
COSTS: dict[str, Cost] = {
    **dict.fromkeys(NOTHING, (0, 0)),
    **dict.fromkeys(("tanh", "exp", "log", "sqrt", "sin", "cos", "erf"), (0, 1)),
    "sigmoid": (3, 1),  # -z, 1 + e, 1 / .
    "softplus": (3, 2),  # max(x, 0) + log1p(exp(-|x|))
    "clip": (2, 0),
}
"""Operations and functions of an expression; unlisted ones count as one operation."""


def of_stages(stages: Sequence[Stage]) -> Cost:
    """The counts of one unit in one step: each expression of a stage once."""
    flops = functions = 0
    for stage in stages:
        known = {load.value for load in stage.loads}
        for e in [*[line.value for line in stage.statements], *[store.value for store in stage.stores]]:
            more = of_expression(e, known)
            flops, functions = flops + more[0], functions + more[1]
    return flops, functions


def of_expression(e: Expr, known: set[Expr]) -> Cost:
    """The counts of an expression without those in `known`, to which it is added."""
    if e in known:
        return 0, 0
    known.add(e)
    flops, functions = COSTS.get(e.op, (1, 0))
    for a in e.args if e.op not in CUTS else ():
        more = of_expression(a, known)
        flops, functions = flops + more[0], functions + more[1]
    return flops, functions


def rows_of(x: Shape, lengths: Any) -> int:
    """The number of samples in all valid steps."""
    return x[0] * x[1] if lengths is None else int(sum(lengths))


def width_of(plan: Plan, weights: Weights) -> int:
    """H"""
    W, R, *_ = weights
    return int(W[0] // (plan.of_both + plan.of_x) if R is None else R[0] // (plan.of_both + plan.of_h))


def of_products(plan: Plan, weights: Weights) -> int:
    """The sizes of the matrices of all products inside a step."""
    return sum(prod(weights.U[cut.matrix]) for cut in plan.cuts if cut.kind == "product")


def cell_step(gates: Shape, states: Any, weights: Weights, *, plan: Plan, **_: Any) -> Cost:
    (B, H), (flops, functions) = states[-1], of_stages(plan.forward)
    products = 2 * of_products(plan, weights)
    return B * (products + H * (flops + plan.means)), B * H * functions


def cell_step_grad(
    states: Any, after: Any, values: Any, d_after: Any, weights: Weights, *, plan: Plan, **_: Any
) -> Cost:
    (B, H), (flops, functions) = d_after[-1], of_stages(plan.backward)
    products = 2 * of_products(plan, weights)
    return B * (products + H * (flops + plan.means + plan.vectors)), B * H * functions


def cell_sequence(
    x: Shape, h0: Shape, c0: Any, weights: Any, *, plan: Plan, lengths: Any, zoneout: Any = None, **_: Any
) -> Cost:
    rows, (flops, functions) = rows_of(x, lengths), of_stages(plan.forward)
    gates = 2 * plan.of_both + plan.of_x + plan.of_h  # the two parts of a gate and its bias are added
    total = units = 0
    for own in weights:
        H = width_of(plan, own)
        products = sum(prod(w) for w in own[:3] if w) + of_products(plan, own)
        total += rows * (2 * products + H * (gates + flops + plan.means) + (0 if zoneout is None else 4 * h0[-1]))
        units += H
    return total, rows * units * functions


def cell_sequence_grad(
    x: Shape, h0: Shape, c0: Any, weights: Any, *_: Any, plan: Plan, lengths: Any, need_dx: bool = True,
    zoneout: Any = None, **__: Any,
) -> Cost:  # fmt: skip
    rows, (flops, functions) = rows_of(x, lengths), of_stages(plan.backward)
    gates, total, units = plan.of_both + plan.of_x + plan.of_h, 0, 0
    for own in weights:
        H = width_of(plan, own)
        products = 2 * (sum(prod(w) for w in (own.R, own.Wp) if w) + of_products(plan, own))
        products += prod(own.W) * (1 + need_dx) if own.W else 0
        # dh of the output and of the next step, and the sums over all steps: of biases and of vectors
        total += rows * (2 * products + H * (1 + flops + plan.means + gates + len(own.vectors)))
        total += rows * (0 if zoneout is None else 4 * h0[-1])
        units += H
    return total, rows * units * functions


def keyed_sequence(gates: Shape, *_: Any, plan: KeyedPlan, H: int, lengths: Any, **__: Any) -> Cost:
    return of_values(plan, plan.forward, H, rows_of(gates, lengths))


def keyed_sequence_grad(gates: Shape, *_: Any, plan: KeyedPlan, H: int, lengths: Any) -> Cost:
    rows = rows_of(gates, lengths)
    flops, functions = of_values(plan, plan.backward, H, rows)
    return flops + rows * sum(plan.width(e, H) for e in plan.learned), functions  # sums over steps and samples


def of_values(plan: KeyedPlan, values: Sequence[Expr], H: int, rows: int) -> Cost:
    """The counts of values with axes: one for each element, in a sum one for each that is added."""
    flops = functions = 0
    for e in values:
        own = COSTS.get(e.op, (1, 0))
        elements = rows * plan.width(e.args[0] if e.op in SUMS else e, H)
        flops, functions = flops + elements * own[0], functions + elements * own[1]
    return flops, functions


KERNEL_COSTS: dict[str, Callable[..., Cost]] = {
    cost.__name__: cost
    for cost in (
        *(cell_step, cell_step_grad, cell_sequence, cell_sequence_grad, keyed_sequence, keyed_sequence_grad),
        *(cross_entropy, cross_entropy_grad, adam),
    )
}
"""Maps a kernel to its cost, a function of shapes instead of arrays, and attributes."""
