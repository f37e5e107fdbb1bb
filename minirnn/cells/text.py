"""Expressions as text, as LaTeX and as C++, from the table of `rules` and with only the necessary parentheses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Literal

from minirnn.cells.expr import NUMBERS, SUMS, Expr, opens
from minirnn.cells.matrices import Matrices
from minirnn.cells.rules import CALL, POWER, PRODUCT, RULES, SUM

Style = Literal["text", "latex", "cpp"]
SIGNED = ("neg", "mul", "div", *SUMS)
"""Operations whose result changes its sign with that of an operand."""
OPPOSITE = {"gt": "le", "lt": "ge", "ge": "lt", "le": "gt"}


def number_text(v: float) -> str:
    """A number as text, in the form in which people write it."""
    whole = math.isfinite(v) and v == math.floor(v) and abs(v) < 1e6
    return str(int(v)) if whole else re.sub(r"e-0*", "e-", repr(v))


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
        if e in e.graph.gated and style != "cpp":
            return gated(e)
        if style != "cpp" and e.op in SIGNED:
            minus, value = without_minus(e, top)
            if minus:
                return f"-{place(value, PRODUCT)}", SUM
            if value is not e:
                return spell(value)
        if e.op == "sum_k" and style == "text" and opens(e.args[0], "mul"):
            return f"dot({', '.join(spell(a)[0] for a in e.args[0].args)})", CALL
        if style == "latex" and e.graph.keys is not None and e.op in ("mul", *SUMS):
            return matrices.product(e) if e.op == "mul" else matrices.sum(e), PRODUCT
        if rule.binds == CALL:
            return form.format(*[spell(a)[0] for a in e.args]), CALL
        if e.op == "neg":
            return form.format(place(e.args[0], PRODUCT)), SUM
        if e.op == "mul" and style != "cpp":
            return product(e)
        if e.op == "div" and style != "cpp":
            return quotient(e)
        left, right = e.args
        if style != "cpp" and rule.binds == SUM:
            minus, value = without_minus(right)
            if minus:
                return spell(e.graph.node("sub" if e.op == "add" else "add", (left, value)), True)
        # a - (b + c) and a / (b * c): the second operand must bind more tightly
        first, second = place(left, rule.binds), place(right, rule.binds + (e.op in ("sub", "div")))
        if e.op == "add" and inline and left in inline and first.startswith("-"):
            first, second = second, first
        if e.op == "add" and second.startswith("-"):
            return f"{first} - {second[1:]}", SUM
        return form.format(first, second), rule.binds

    def without_minus(e: Expr, top: bool = False, inside: bool = False) -> tuple[bool, Expr]:
        """Whether a product is written with a minus, and the product without it: -(-a * b) is a * b."""
        if e.op == "number" and e.value < 0:
            return True, e.graph.number(-e.value)
        if e.op in ("add", "sub") and inside and e not in names:  # -a - b is -(a + b)
            (m, a), (n, b) = (without_minus(v) for v in e.args)
            return (True, e.graph.node("add", (a, b))) if m and n == (e.op == "add") else (False, e)
        if (inline and e in inline) or (e in names and not top) or e.op not in SIGNED:
            return False, e
        signs, values = zip(*[without_minus(a, inside=e.op in ("mul", "div")) for a in e.args], strict=True)
        minus = sum(signs) % 2 > 0
        if e.op == "neg":
            return not minus, values[0]
        return minus, e.graph.node(e.op, values) if any(signs) else e

    def product(e: Expr) -> tuple[str, int]:
        """Factors, with squares as squares."""
        rest, last = e.args
        power = 1
        while rest.op == "mul" and rest not in names and rest.args[1] is last:
            rest, power = rest.args[0], power + 1
        if rest is last:
            return raised(last, power + 1), POWER
        one_or_zero = last.op == "where" and last not in names and [a.value for a in last.args[1:]] == [1, 0]
        if power == 1 and one_or_zero:
            text = compared(last.args[0], True)
        else:
            text = raised(last, power) if power > 1 else place(last, PRODUCT)
        by_number = style == "latex" and (is_number(rest) or is_number(last))  # a factor, not an elementwise product
        form = r"{0} \, {1}" if by_number else RULES["mul"].latex if style == "latex" else RULES["mul"].text
        return form.format(place(rest, PRODUCT), text), PRODUCT

    def quotient(e: Expr) -> tuple[str, int]:
        """A quotient. One that is divided by the same value again is divided by its square."""
        rest, divisor = e.args
        power = 1
        while rest.op == "div" and rest not in names and rest.args[1] is divisor:
            rest, power = rest.args[0], power + 1
        if style == "latex":
            below = spell(divisor)[0] if power == 1 else raised(divisor, power)
            return rf"\frac{{{spell(rest)[0]}}}{{{below}}}", PRODUCT
        below = place(divisor, POWER) if power == 1 else raised(divisor, power)
        return f"{place(rest, PRODUCT)} / {below}", PRODUCT

    def raised(e: Expr, power: int) -> str:
        text = place(e, CALL)
        if style == "text":
            return f"{text}**{power}"
        if text.startswith("e^"):
            return rf"\left({text}\right)^{power}"
        function = re.match(r"\\(tanh|sigma|sin|cos|log)(?=\()", text)
        end = function.end() if function else len(text)
        return f"{text[:end]}^{power}{text[end:]}"

    def gated(e: Expr) -> tuple[str, int]:
        """A gradient that is 0 where a comparison is false, or true, as a product with the comparison."""
        condition, yes, no = e.args
        holds = no.op == "number" and no.value == 0
        form = RULES["mul"].text if style == "text" else RULES["mul"].latex if e.axes else r"{0} \, {1}"
        return form.format(place(yes if holds else no, PRODUCT), compared(condition, holds)), PRODUCT

    def compared(e: Expr, holds: bool) -> str:
        rule = RULES[e.op if holds else OPPOSITE[e.op]]
        text = (rule.text if style == "text" else rule.latex).format(*[spell(a)[0] for a in e.args])
        return f"({text})" if style == "text" else f"[{text}]"

    def factor(e: Expr, power: int, least: int = CALL) -> str:
        one_or_zero = e.op == "where" and e not in names and [a.value for a in e.args[1:]] == [1, 0]
        if power == 1 and one_or_zero:
            return compared(e.args[0], True)
        return raised(e, power) if power > 1 else place(e, least)

    matrices = Matrices(factor, lambda a: a in names and a is not e)
    return spell(e, top)[0]
