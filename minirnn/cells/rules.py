"""The table of all functions of the cell language, with value, derivative and notation.

A derivative takes d, the gradient of the result y, and the operands. It returns a gradient for each operand, None where
there is none. Derivatives use y where that saves an evaluation: tanh' = 1 - y * y. They are the same as on the tape: 0
at the corner of relu and abs. If the two operands of maximum or minimum are equal, the whole gradient goes to the
first.

    text     Python's and the book's
    latex    mathematics
    cpp      C++ and CUDA, for a number or a vector of numbers
    numpy    statements that set {out}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minirnn.cells.expr import Expr, apply, choose

SUM, PRODUCT, POWER, CALL = 1, 2, 3, 4
"""How tightly an operator binds: a + b, a * b, a**2, f(a)."""


class Rule(NamedTuple):
    value: Callable[..., Any]
    derivative: Callable[..., Sequence[Any]] | None
    text: str
    latex: str
    cpp: str
    numpy: str
    binds: int = CALL
    cheap: bool = False
    """Whether the backward pass computes the value again, so that it need not be saved."""


def infix(sign: str, numpy: str, value: Any, derivative: Any, binds: int, latex: str = "") -> Rule:
    text = f"{{0}} {sign} {{1}}"
    written = latex or text
    return Rule(value, derivative, text, written, text, f"{numpy}({{0}}, {{1}}, {{out}})", binds, cheap=True)


def function(name: str, value: Any, derivative: Any, latex: str, numpy: str = "", cheap: bool = False) -> Rule:
    text = f"{name}({{0}})"
    return Rule(value, derivative, text, latex, text, numpy or f"{name}({{0}}, {{out}})", cheap=cheap)


def compare(sign: str, numpy: str, value: Any, latex: str) -> Rule:
    return infix(sign, numpy, value, None, 0, f"{{0}} {latex} {{1}}")


def named(y: Expr, x: Expr) -> Expr:
    """y if it has a name, else x."""
    return y if y in y.graph.names else x


def _clip(d: Expr, y: Expr, x: Expr, low: Expr, high: Expr) -> Sequence[Any]:
    return choose(x < low, 0, choose(x > high, 0, d)), None, None


def _sigmoid(x: float) -> float:
    return 0.5 * math.tanh(0.5 * x) + 0.5


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)


def _where(condition: bool, a: float, b: float) -> float:
    return a if condition else b


RULES: dict[str, Rule] = {
    # operators
    "add": infix("+", "add", lambda a, b: a + b, lambda d, y, a, b: (d, d), SUM),
    "sub": infix("-", "subtract", lambda a, b: a - b, lambda d, y, a, b: (d, -d), SUM),
    "mul": infix("*", "multiply", lambda a, b: a * b, lambda d, y, a, b: (d * b, d * a), PRODUCT, r"{0} \odot {1}"),
    "div": Rule(
        lambda a, b: a / b, lambda d, y, a, b: (d / b, -(d / b * y)),
        "{0} / {1}", r"\frac{{{0}}}{{{1}}}", "{0} / {1}", "divide({0}, {1}, {out})", PRODUCT, cheap=True,
    ),
    "neg": Rule(lambda a: -a, lambda d, y, a: (-d,), "-{0}", "-{0}", "-{0}", "negative({0}, {out})", SUM, cheap=True),
    # functions of one value
    "sigmoid": function("sigmoid", _sigmoid, lambda d, y, x: (d * y * (1 - y),), r"\sigma({0})"),
    "tanh": function("tanh", math.tanh, lambda d, y, x: (d * (1 - y * y),), r"\tanh({0})"),
    "relu": function(
        "relu", lambda x: max(x, 0.0), lambda d, y, x: (choose(named(y, x) > 0, d, 0),),
        r"\max({0}, 0)", "maximum({0}, 0, out={out})", cheap=True,
    ),
    "softplus": function(
        "softplus", lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))), lambda d, y, x: (d * apply("sigmoid", x),),
        r"\log(1 + e^{{{0}}})", "logaddexp({0}, 0, {out})",
    ),
    "exp": function("exp", math.exp, lambda d, y, x: (d * y,), r"e^{{{0}}}"),
    "log": function("log", math.log, lambda d, y, x: (d / x,), r"\log({0})"),
    "sqrt": function("sqrt", math.sqrt, lambda d, y, x: (0.5 * (d / y),), r"\sqrt{{{0}}}"),
    "abs": function(
        "abs", abs, lambda d, y, x: (d * apply("sign", x),), r"|{0}|",
        "absolute({0}, {out})", cheap=True,
    ),
    "sin": function("sin", math.sin, lambda d, y, x: (d * apply("cos", x),), r"\sin({0})"),
    "cos": function("cos", math.cos, lambda d, y, x: (-(d * apply("sin", x)),), r"\cos({0})"),
    "floor": function("floor", math.floor, lambda d, y, x: (None,), r"\left\lfloor {0} \right\rfloor", cheap=True),
    "sign": function("sign", _sign, lambda d, y, x: (None,), r"\mathrm{{sign}}({0})", cheap=True),
    "erf": function(
        "erf", math.erf, lambda d, y, x: (2 / math.sqrt(math.pi) * d * apply("exp", -(x * x)),), r"\mathrm{{erf}}({0})",
    ),
    # functions of several values
    "maximum": Rule(
        max, lambda d, y, a, b: (choose(a >= b, d, 0), choose(a >= b, 0, d)),
        "maximum({0}, {1})", r"\max({0}, {1})", "maximum({0}, {1})", "maximum({0}, {1}, out={out})", cheap=True,
    ),
    "minimum": Rule(
        min, lambda d, y, a, b: (choose(a <= b, d, 0), choose(a <= b, 0, d)),
        "minimum({0}, {1})", r"\min({0}, {1})", "minimum({0}, {1})", "minimum({0}, {1}, out={out})", cheap=True,
    ),
    "clip": Rule(
        lambda x, low, high: min(max(x, low), high), _clip,
        "clip({0}, {1}, {2})", r"\min(\max({0}, {1}), {2})", "clip({0}, {1}, {2})",
        "maximum({0}, {1}, out={out}); minimum({out}, {2}, out={out})", cheap=True,
    ),
    "where": Rule(
        _where, lambda d, y, condition, a, b: (None, choose(condition, d, 0), choose(condition, 0, d)),
        "where({0}, {1}, {2})", r"\begin{{cases}} {1} & {0} \\ {2} & \text{{else}} \end{{cases}}", "({0} ? {1} : {2})",
        "copyto({out}, {2}); copyto({out}, {1}, where={0})", cheap=True,
    ),
    "gt": compare(">", "greater", lambda a, b: a > b, ">"),
    "lt": compare("<", "less", lambda a, b: a < b, "<"),
    "ge": compare(">=", "greater_equal", lambda a, b: a >= b, r"\ge"),
    "le": compare("<=", "less_equal", lambda a, b: a <= b, r"\le"),
    # the value of the first operand, with the gradient for the second
    "straight_through": Rule(
        lambda y, x: y, lambda d, y, value, x: (None, d),
        "straight_through({0}, {1})", "{0}", "{0}", "copyto({out}, {0})", cheap=True,
    ),
    "copy": Rule(lambda x: x, lambda d, y, x: (d,), "{0}", "{0}", "{0}", "copyto({out}, {0})", cheap=True),
    # sums over the keys or the units of a sample, in cells with keys
    "sum_k": Rule(lambda v: v, lambda d, y, v: (d,), "sum_k({0})", r"\sum_k {0}", "", ""),
    "sum_u": Rule(lambda v: v, lambda d, y, v: (d,), "sum_u({0})", r"\sum_u {0}", "", ""),
    # functions that need all units of a sample, which devices compute between two stages
    "product": Rule(lambda v: v, None, "product({0})", r"U {0}", "", ""),
    "unit_mean": Rule(lambda v: v, None, "unit_mean({0})", r"\overline{{{0}}}", "", ""),
    "unit_sum": Rule(lambda v: v, None, "unit_sum({0})", r"\sum_u {0}", "", ""),
    "unit_var": Rule(lambda v: v, None, "unit_var({0})", r"\mathrm{{var}}({0})", "", ""),
    "unit_max": Rule(lambda v: v, None, "unit_max({0})", r"\max_u {0}", "", ""),
    "unit_ties": Rule(lambda v: v, None, "unit_ties({0})", r"\mathrm{{ties}}({0})", "", ""),
    "unit_exp_sum": Rule(lambda v: v, None, "unit_exp_sum({0})", r"\sum_u e^{{{0} - \max_u {0}}}", "", ""),
    # functions of such results, whose derivatives `Derivation.sweep` has
    "unit_share": Rule(  # of each unit in the gradient of the largest; rounded values may not say which it was
        lambda v, largest, ties: (v >= largest) / ties, None, "where({0} >= {1}, 1 / {2}, 0)",
        r"\frac{{[{0} \ge {1}]}}{{{2}}}", "({0} >= {1} ? real(1) / {2} : V{{}})",
        "greater_equal({0}, {1}, {out}); divide({out}, {2}, {out})",
    ),
    "unit_norm": Rule(
        lambda v, mean, std: (v - mean) / std, None, "(({0} - {1}) / {2})", r"\mathrm{{norm}}({0})",
        "(({0} - {1}) / {2})", "subtract({0}, {1}, {out}); divide({out}, {2}, {out})",
    ),
    "unit_softmax": Rule(
        lambda v, largest, total: math.exp(v - largest) / total, None, "(exp({0} - {1}) / {2})",
        r"\mathrm{{softmax}}({0})", "(exp({0} - {1}) / {2})",
        "subtract({0}, {1}, {out}); exp({out}, {out}); divide({out}, {2}, {out})",
    ),
}  # fmt: skip


def is_cheap(e: Expr) -> bool:
    return e.op in RULES and RULES[e.op].cheap
