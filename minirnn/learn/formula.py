"""Backward formulas as data: a NumPy function read as lines of named terms, and every way to get one of them wrong.

A formula is an ordinary function, written one gradient a line::

    def product_backward(a, b, dy):
        da = dy * b
        db = dy * a
        return da, db

`Formula` parses its source. Lines that assign a gradient (a name that starts with ``d``) are split into terms at
``+`` and ``-``, and terms into factors at ``*``. From there a *mutant* is the formula with one change: a term missing,
doubled or with the wrong sign, a factor missing or wrong, ``=`` for ``+=``, a value of step t where that of step t-1
belongs. The same table computes the expected values, names what a wrong answer lacks, and supplies the wrong formulas
that a student's own test has to find.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType
from typing import Any

import numpy as np

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Term:
    """One summand of a line: ``sign * factor * factor ...``, or ``(factor * factor ...).sum(0)``."""

    sign: int
    factors: tuple[str, ...]
    summed: bool = False

    @property
    def text(self) -> str:
        product = " * ".join(self.factors)
        if not self.summed:
            return product
        return f"({product}).sum(0)" if len(self.factors) > 1 else f"{product}.sum(0)"

    def with_factors(self, *factors: str) -> Term:
        return replace(self, factors=factors)


@dataclass(frozen=True)
class Line:
    """``target = term + term ...`` or ``target += ...``; `number` counts the lines of a formula."""

    number: int
    target: str
    operator: str
    terms: tuple[Term, ...]

    @cached_property
    def text(self) -> str:
        return f"{self.target} {self.operator} {joined(self.terms)}"

    @property
    def name(self) -> str:
        """The target without an index: ``dx`` of ``dx[t]``."""
        return self.target.partition("[")[0]


@dataclass(frozen=True)
class Mutant:
    """A formula with one line changed.

    Attributes
    ----------
    line : Line
        The line as it should be.
    code : str
        The line as it is in this mutant.
    kind : str
        A key of `KINDS`.
    term : int
        The index of the term that differs, -1 for the whole line.
    part : str
        The text in the line that is concerned.
    new : tuple of Term
        What stands in place of the term.
    """

    line: Line
    code: str
    kind: str
    term: int
    part: str
    new: tuple[Term, ...] = ()

    def sentence(self) -> str:
        """What is wrong, in words: ``dcs: the term dh * o * (1 - co * co) is missing``."""
        return f"{self.line.name}: {KINDS[self.kind].format(part=self.part)}"


KINDS = {
    "missing": "the term {part} is missing",
    "doubled": "the term {part} is counted twice",
    "sign": "the sign of {part} is wrong",
    "factor": "the factor {part} is missing",
    "square": "{part}: the square is missing",
    "complement": "1 minus the gate and the gate are exchanged in {part}",
    "transpose": "{part} is not transposed",
    "step": "{part} is taken from the wrong step",
    "overwritten": "only the last contribution is kept: = where += belongs ({part})",
}


def joined(terms: Sequence[Term]) -> str:
    """The terms as the right-hand side of a line."""
    text = ""
    for k, term in enumerate(terms):
        sign = "-" if term.sign < 0 else "+"
        text += f" {sign} {term.text}" if k else f"{'-' if term.sign < 0 else ''}{term.text}"
    return text or "0.0"


@dataclass(frozen=True)
class Formula:
    """A backward formula that can be evaluated as it is or with changed lines.

    Parameters
    ----------
    function : callable
        The formula in NumPy: assignments, ``for`` loops, and at the end ``return`` of names.
    confusions : mapping
        Names that stand for a value of another time step, and the name of the value a student might take instead.
    square : tuple of str
        Square matrices: if they should be transposed and are not, no shape tells.
    """

    function: Callable[..., Any]
    confusions: Mapping[str, str] = field(default_factory=dict)
    square: tuple[str, ...] = ()

    @cached_property
    def _tree(self) -> ast.FunctionDef:
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return tree

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of what is returned."""
        value = next(s.value for s in self._tree.body if isinstance(s, ast.Return))
        names = value.elts if isinstance(value, ast.Tuple) else [value]
        return tuple(ast.unparse(name) for name in names if name is not None)

    @cached_property
    def _program(self) -> list[Any]:
        return list(_program(self._tree.body, iter(range(10_000))))

    @cached_property
    def lines(self) -> list[Line]:
        """The lines that assign a gradient, in order."""
        return list(_lines(self._program))

    def evaluate(self, inputs: Arrays, changed: Mapping[int, str] | None = None) -> dict[str, np.ndarray]:
        """The outputs by name; `changed` gives the code of lines that differ, by their numbers."""
        env = {**self.function.__globals__, **inputs}
        _run(self._program, env, changed or {})
        return {name: env[name] for name in self.outputs}

    @cached_property
    def mutants(self) -> list[Mutant]:
        """All formulas with one change. Two changes that give the same code, as in ``a - a * b``, count once."""
        found = (m for line in self.lines for m in _mutants(line, self.confusions, self.square))
        return list({mutant.code: mutant for mutant in found}.values())

    @cached_property
    def reach(self) -> dict[int, frozenset[str]]:
        """For each line the outputs that change with it."""
        graph: dict[str, set[str]] = {}
        for statement in ast.walk(self._tree):
            if isinstance(statement, ast.Assign | ast.AugAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                used = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
                made = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                for name in used:
                    graph.setdefault(name, set()).update(made)
        return {line.number: frozenset(_reachable(line.name, graph) & set(self.outputs)) for line in self.lines}

    def both(self, first: Mutant, second: Mutant) -> dict[int, str]:
        """The lines that two mutants change; both may change one line, if they change different terms of it."""
        if first.line.number != second.line.number:
            return {first.line.number: first.code, second.line.number: second.code}
        new: list[Term] = []
        for k, term in enumerate(first.line.terms):
            new += first.new if k == first.term else second.new if k == second.term else [term]
        return {first.line.number: f"{first.line.target} {first.line.operator} {joined(new)}"}


def _reachable(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen, todo = {name}, [name]
    while todo:
        for further in graph.get(todo.pop(), ()):
            if further not in seen:
                seen.add(further)
                todo.append(further)
    return seen


# ---- reading a function


@dataclass(frozen=True)
class _Other:
    code: CodeType


@dataclass(frozen=True)
class _Loop:
    variable: str
    over: CodeType
    body: list[Any]


def _program(statements: Sequence[ast.stmt], numbers: Iterator[int]) -> Iterator[Any]:
    for statement in statements:
        if isinstance(statement, ast.Return) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            continue
        if isinstance(statement, ast.For):
            over = compile(ast.Expression(statement.iter), "<formula>", "eval")
            yield _Loop(ast.unparse(statement.target), over, list(_program(statement.body, numbers)))
        elif (line := _line(statement, numbers)) is not None:
            yield line
        else:
            yield _Other(compile(ast.Module([statement], []), "<formula>", "exec"))


def _line(statement: ast.stmt, numbers: Iterator[int]) -> Line | None:
    if isinstance(statement, ast.Assign):
        target, operator = statement.targets[0], "="
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        target, operator = statement.target, "+="
    else:
        return None
    text = ast.unparse(target)
    if not text.startswith("d") or isinstance(target, ast.Tuple) or _makes_room(statement.value):
        return None
    return Line(next(numbers), text, operator, tuple(_terms(statement.value, 1)))


def _makes_room(value: ast.expr) -> bool:
    """Whether an expression only makes room for numbers: nothing in it can be a wrong term."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in {
        "np.empty_like",
        "np.zeros_like",
        "np.zeros",
        "np.empty",
    }


def _terms(value: ast.expr, sign: int) -> Iterator[Term]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
        yield from _terms(value.left, sign)
        yield from _terms(value.right, sign if isinstance(value.op, ast.Add) else -sign)
    elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        yield from _terms(value.operand, -sign)
    elif (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and ast.unparse(value).endswith(".sum(0)")
    ):
        yield Term(sign, tuple(_factors(value.func.value)), summed=True)
    else:
        yield Term(sign, tuple(_factors(value)))


def _factors(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        yield from _factors(value.left)
        yield from _factors(value.right)
    else:
        text = ast.unparse(value)
        yield f"({text})" if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult) else text


def _lines(program: Sequence[Any]) -> Iterator[Line]:
    for part in program:
        if isinstance(part, Line):
            yield part
        elif isinstance(part, _Loop):
            yield from _lines(part.body)


# ---- evaluating

_compiled: dict[str, CodeType] = {}


def _code(text: str) -> CodeType:
    if text not in _compiled:
        _compiled[text] = compile(text, "<formula>", "exec")
    return _compiled[text]


def _run(program: Sequence[Any], env: dict[str, Any], changed: Mapping[int, str]) -> None:
    for part in program:
        if isinstance(part, Line):
            exec(_code(changed.get(part.number, part.text)), env)
        elif isinstance(part, _Loop):
            for value in eval(part.over, env):
                env[part.variable] = value
                _run(part.body, env, changed)
        else:
            exec(part.code, env)


# ---- mutants


def _mutants(line: Line, confusions: Mapping[str, str], square: Sequence[str]) -> Iterator[Mutant]:
    for k, term in enumerate(line.terms):
        others = lambda *new: (*line.terms[:k], *new, *line.terms[k + 1 :])  # noqa: B023, E731

        def mutant(kind: str, part: str, *new: Term, k: int = k, others: Any = others) -> Mutant:
            return Mutant(line, f"{line.target} {line.operator} {joined(others(*new))}", kind, k, part, new)

        if len(line.terms) > 1:
            yield mutant("missing", term.text)
        else:  # what is left must have the shape that the term had
            yield mutant("missing", term.text, term.with_factors("0.0", *term.factors))
        yield mutant("doubled", term.text, term, term)
        yield mutant("sign", term.text, replace(term, sign=-term.sign))
        for n, factor in enumerate(term.factors):
            put = lambda *new: term.with_factors(*term.factors[:n], *new, *term.factors[n + 1 :])  # noqa: B023, E731
            if len(term.factors) > 1:
                yield mutant("factor", factor, put())
            if (bare := _not_squared(factor)) is not None:
                yield mutant("square", factor, put(bare))
            if (gate := _complement(factor)) is not None:
                yield mutant("complement", term.text, put(gate))
            for name in square:
                if re.search(rf"\b{name}\.T\b", factor):
                    yield mutant("transpose", name, put(re.sub(rf"\b{name}\.T\b", name, factor)))
            for name, wrong in confusions.items():
                if (other := _renamed(factor, name, wrong)) != factor:
                    yield mutant("step", name, put(other))
    if line.operator == "+=":
        yield Mutant(line, f"{line.target} = {joined(line.terms)}", "overwritten", -1, line.target)


def _not_squared(factor: str) -> str | None:
    """``(1 - y)`` for ``(1 - y * y)``."""
    tree = ast.parse(factor, mode="eval").body
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub) and isinstance(tree.right, ast.BinOp):
        left, right = ast.unparse(tree.right.left), ast.unparse(tree.right.right)
        if isinstance(tree.right.op, ast.Mult) and left == right:
            return f"({ast.unparse(tree.left)} - {left})"
    return None


def _complement(factor: str) -> str | None:
    """``u`` for ``(1 - u)``."""
    tree = ast.parse(factor, mode="eval").body
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub) and ast.unparse(tree.left) == "1"):
        return None
    return ast.unparse(tree.right) if isinstance(tree.right, ast.Name | ast.Subscript) else None


def _renamed(text: str, name: str, other: str) -> str:
    """`text` with every use of `name` replaced by `other`; both are expressions."""

    class Rename(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            if isinstance(node, ast.Name | ast.Subscript) and ast.unparse(node) == name:
                return ast.parse(other, mode="eval").body
            return self.generic_visit(node)

    tree = ast.parse(text, mode="eval").body
    new = Rename().visit(tree)
    result = ast.unparse(new)
    if result == ast.unparse(ast.parse(text, mode="eval").body):
        return text
    return f"({result})" if text.startswith("(") else result
