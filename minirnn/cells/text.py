"""Expressions as text, as LaTeX and as C++, from the table of `rules` and with only the necessary parentheses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from minirnn.cells.expr import NUMBERS, Expr
from minirnn.cells.rules import CALL, PRODUCT, RULES, SUM

Style = Literal["text", "latex", "cpp"]


def number_text(v: float) -> str:
    """A number as text, in the form in which people write it."""
    return str(int(v)) if math.isfinite(v) and v == math.floor(v) and abs(v) < 1e6 else repr(v)


def of_python(e: Expr) -> str:
    name, _ = e.value if e.op == "constant" else (None, None)
    return name or number_text(e.value)


def is_number(e: Expr) -> bool:
    """Whether an expression consists of numbers and constants only."""
    return e.op in NUMBERS or bool(e.args) and all(map(is_number, e.args))


def write(
    e: Expr,
    names: Mapping[Expr, str],
    style: Style = "text",
    number: Callable[[Expr], str] = of_python,
    inline: Mapping[Expr, str] | None = None,
    top: bool = False,
) -> str:
    """An expression as text.

    Parameters
    ----------
    names : names of the values that are written by name
    number : how numbers and constants are written
    inline : texts of values without a name, which bind like products
    top : whether to write out `e` itself although it has a name
    """

    def place(a: Expr, least: int) -> str:
        text, binds = spell(a)
        return text if binds >= least else rf"\left({text}\right)" if style == "latex" else f"({text})"

    def spell(e: Expr, top: bool = False) -> tuple[str, int]:
        if inline and e in inline:
            return inline[e], PRODUCT
        if e in names and not top:
            return names[e], CALL
        if e.op in NUMBERS:
            text = number(e)
            return text, SUM if text.startswith("-") else CALL
        if e.op in ("input", "gradient"):
            return names[e], CALL
        rule = RULES[e.op]
        if e.op == "straight_through" and style == "text" and e.args[0].op == "clip" and e.args[0].args[0] is e.args[1]:
            return f"{spell(e.args[0])[0][:-1]}, straight_through=True)", CALL
        form = {"text": rule.text, "latex": rule.latex, "cpp": rule.cpp}[style]
        if rule.binds == CALL or form.startswith("\\frac"):
            return form.format(*[spell(a)[0] for a in e.args]), CALL if rule.binds == CALL else PRODUCT
        if e.op == "neg":
            return form.format(place(e.args[0], PRODUCT)), SUM
        left, right = e.args
        if style == "latex" and e.op == "mul" and (is_number(left) or is_number(right)):
            form = r"{0} \, {1}"  # a factor, not an elementwise product
        # a - (b + c) and a / (b * c): the second operand must bind more tightly
        return form.format(place(left, rule.binds), place(right, rule.binds + (e.op in ("sub", "div")))), rule.binds

    return spell(e, top)[0]
