"""Compares a handwritten backward pass with the derived one, and finds the term, factor or sign that differs.

The function runs on the symbols of the step, so both are formulas of the same values. They are compared at random
points, because there are many ways to write one formula. Their terms give the text of the message.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isclose, isnan, nan
from types import CodeType, FrameType
from typing import Any

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import CUTS, CellError, Expr
from minirnn.cells.rules import RULES
from minirnn.cells.terms import Term, times
from minirnn.cells.text import write

POINTS = 12
Values = list[float]


class Numbers:
    """Values of expressions at random points. Inputs and gradients are random, and all else is computed from them."""

    def __init__(self) -> None:
        self.draw = random.Random(0)
        self.known: dict[Expr, Values] = {}

    def of(self, e: Expr) -> Values:
        if e not in self.known:
            self.known[e] = self.computed(e)
        return self.known[e]

    def computed(self, e: Expr) -> Values:
        if e.op in ("number", "constant"):
            return [e.value if e.op == "number" else e.value[1]] * POINTS
        if e.op in ("input", "gradient", *CUTS):
            return [self.draw.choice((-1, 1)) * self.draw.uniform(0.3, 1.7) for _ in range(POINTS)]
        return [evaluated(e.op, args) for args in zip(*map(self.of, e.args), strict=True)]


def evaluated(op: str, args: Sequence[float]) -> float:
    try:
        return float(RULES[op].value(*args))
    except (ValueError, ZeroDivisionError, OverflowError):
        return nan


def close(a: Values, b: Values) -> bool:
    """Whether two formulas are equal at all points where both have a value."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if not (isnan(x) or isnan(y))]
    return bool(pairs) and all(isclose(x, y, rel_tol=1e-9, abs_tol=1e-11) for x, y in pairs)


def over(a: Values, b: Values) -> Values:
    return [x / y if y else nan for x, y in zip(a, b, strict=True)]


def compare(d: Derivation, function: Callable[..., Any]) -> dict[str, Expr]:
    """The lines of a correct backward pass, by name. Raises CellError with the mistakes, line by line."""
    name = d.step.name
    if not isinstance(getattr(function, "__code__", None), CodeType):
        raise CellError(f"{name}: backward got a {type(function).__name__}\n  expected a Python function of gradients")
    known = {n: e for e, n in d.names.items() if not e.varies or e.op == "gradient"}
    known |= {f"{n}_grad": e for n, e in zip(d.step.order, d.incoming, strict=True) if f"{n}_grad" not in known}
    known |= {n: d.step.graph.node("constant", (), (n, v)) for n, v in d.step.constants.items()}
    asked = list(inspect.signature(function).parameters)
    unknown = [n for n in asked if n not in known]
    if unknown:
        arrives = (
            "the gradient that arrives at a state is NAME_grad" if unknown[0] in {f"d{n}" for n in d.step.order} else ""
        )
        raise CellError(
            f"{name}: the backward pass asks for {unknown[0]!r}\n  expected names of the step: {', '.join(known)}"
            + (f"\n  {arrives}" if arrives else "")
        )
    result, mine = run(function, [known[n] for n in asked])
    if isinstance(result, Mapping):
        mine |= {n: d.step.graph.lift(v) for n, v in result.items()}
    elif result is not None:
        raise CellError(f"{name}: the backward pass returns a {type(result).__name__}\n  expected a dict, or nothing")
    numbers = Numbers()
    right = {line.name: line.value for line in d.lines}
    ends = {f"d{d.names[owner]}": e for owner, e in d.ends.items() if owner.op == "input" and e.varies}
    through = {dv for _, dv in d.cuts}  # what comes back through a product needs no line
    names = {**d.names, **{e: n for n, e in mine.items() if e.varies and e.op != "gradient"}}
    problems: list[str] = []
    for n, e in {
        **right,
        **ends,
    }.items():  # in their order: each mistake is reported once, and later lines are checked as if it were right
        if n not in mine:
            if n in ends and not (e.op == "gradient" and (d.names[e] == n or e in through)):
                problems.append(f"{n} is missing: {write(e, d.names, top=True)}")
            continue
        if not close(numbers.of(mine[n]), numbers.of(e)):
            problems += [f"{n}: {line}" for line in Difference(mine[n], e, numbers, d, names).words()]
            if mine[n].op != "gradient":
                numbers.known[mine[n]] = numbers.of(e)
    if isinstance(result, Mapping):
        problems += [f"{n}: the step has no such gradient" for n in result if n not in right and n not in ends]
    if problems:
        raise CellError("\n  ".join([f"{name}: the backward pass is not the derivative of the step", *problems]))
    return mine


def run(function: Callable[..., Any], arguments: list[Expr]) -> tuple[Any, dict[str, Expr]]:
    """The result of the function, and its local variables that are formulas, in the order of their last line."""
    found: dict[str, Expr] = {}
    code = function.__code__
    given = dict(zip(code.co_varnames, arguments, strict=False))

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        for n, e in frame.f_locals.items():
            if isinstance(e, Expr) and e is not given.get(n) and found.get(n) is not e:
                found.pop(n, None)
                found[n] = e
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return function(*arguments), found
    finally:
        sys.settrace(before)


class Difference:
    """Describes in words how a formula differs from the right one."""

    def __init__(self, mine: Expr, right: Expr, numbers: Numbers, d: Derivation, names: Mapping[Expr, str]) -> None:
        self.mine, self.right, self.numbers, self.names = mine, right, numbers, names
        self.atoms = {e for e in names if e not in (mine, right)}
        self.values = [e for e in d.names if not e.varies]
        self.graph = d.step.graph

    def words(self) -> list[str]:
        pool, missing = self.terms(self.mine), []
        for term in self.terms(self.right):
            same = next((t for t in pool if close(self.number(t), self.number(term))), None)
            if same is None:
                missing.append(term)
            else:
                pool.remove(same)
        lines = []
        many = len(pool) > 1 or len(missing) > 1
        for term in missing:
            for other in pool:
                ratio = over(self.number(term), self.number(other))
                if words := self.factor(ratio, [f for f in (*term.factors, *other.factors) if not f.varies]):
                    lines.append(f"in {self.text(other)}: {words}" if many else words)
                    pool.remove(other)
                    break
            else:
                lines.append(f"the term {self.text(term)} is missing")
        return lines + [f"the term {self.text(t)} does not belong there" for t in pool]

    def terms(self, e: Expr, sign: float = 1) -> list[Term]:
        """The terms of `e`, multiplied out over sums of gradients."""
        if not e.varies or e in self.atoms:
            return [Term(sign, [e])] if e.op != "number" else [Term(sign * e.value, [])]
        if e.op in ("add", "sub"):
            return self.terms(e.args[0], sign) + self.terms(e.args[1], sign if e.op == "add" else -sign)
        if e.op == "neg":
            return self.terms(e.args[0], -sign)
        if e.op == "mul":
            pairs = [(a, b) for a in self.terms(e.args[0]) for b in self.terms(e.args[1])]
            return [Term(sign * a.number * b.number, a.factors + b.factors) for a, b in pairs]
        return [Term(sign, [e])]

    def number(self, term: Term) -> Values:
        return self.numbers.of(self.product(term))

    def product(self, term: Term) -> Expr:
        found = times(self.graph, abs(term.number), term.factors)
        return found if term.number > 0 else -found

    def text(self, term: Term) -> str:
        found = self.product(term)
        return write(found, self.names, top=found in (self.mine, self.right))

    def factor(self, ratio: Values, own: Sequence[Expr] = ()) -> str:
        """The single factor that explains the difference. `own` are the factors of the two terms."""
        if close(ratio, [-1.0] * POINTS):
            return "the sign is wrong"
        found = [f for e in self.values for f in (e, 1 - e, 1 - e * e, e * (1 - e))]
        named = [(write(f, self.names), self.numbers.of(f)) for f in dict.fromkeys([*found, *own])]
        for text, v in named:
            if close(ratio, v):
                return f"the factor {text} is missing"
            if close(over([1.0] * POINTS, ratio), v):
                return f"the factor {text} does not belong there"
        for text, v in named:
            for right, w in named:
                if text != right and close([r * x for r, x in zip(ratio, v, strict=True)], w):
                    return f"{text} should be {right}"
        return ""
