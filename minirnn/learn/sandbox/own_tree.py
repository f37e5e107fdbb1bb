"""Small changes to the tree of a student's own file. If one of them makes the answer right, it shows the mistake.

Each reverses a common mistake, such as a wrong name, a wrong axis, or a missing or superfluous factor. It describes the
mistake in the student's own names. Nothing is run here; `trials` does that.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from .own_calls import of_call, of_elements, of_index
from .own_change import TICK, Change, Kinds, Place, Scope, expression, is_call, name, text
from .own_statements import of_statement, of_stored

OPERATORS = {ast.Add: "added", ast.Sub: "subtracted", ast.Mult: "multiplied", ast.Div: "divided"}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
MOST = 6000
"""The largest number of listed changes. A file that allows more is not an answer to an exercise."""


def changes(
    tree: ast.Module, function: str, far: Sequence[int] = (), kinds: dict[str, Kinds] | None = None
) -> list[Change]:
    """All changes to a file, those of the requested function first; with `far`, the less likely changes of
    those lines.
    """
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    functions = [n for n in functions if not kinds or n.name in kinds] or functions  # functions that were called
    functions.sort(key=lambda n: n.name != function)
    found = itertools.chain.from_iterable(
        of_function(n, frozenset(far), (kinds or {}).get(n.name, {})) for n in functions
    )
    return list(itertools.islice(found, MOST))


def of_function(function: ast.FunctionDef, far: frozenset[int], kinds: Kinds) -> Iterator[Change]:
    """The likely changes, or else the unlikely ones on the lines `far`."""
    inner = {id(n) for f in ast.walk(function) if isinstance(f, ast.FunctionDef) and f is not function
             for n in ast.walk(f)}  # fmt: skip
    nodes = [n for n in ast.walk(function) if id(n) not in inner and n is not function]
    above: dict[int, Place] = {}
    for node in [function, *nodes]:
        for where, value in ast.iter_fields(node):
            for k, item in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                if isinstance(item, ast.AST):
                    above[id(item)] = (node, where, k)
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    loops = [n.target.id for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    names = list(dict.fromkeys([a.arg for a in function.args.args] + stored))
    scope = Scope(names, [v for v in dict.fromkeys(loops) if len(v) == 1 or v in ("step", "time")], kinds)
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    for node in nodes:
        if id(node) not in above or id(node) in called and not isinstance(node, ast.Attribute):
            continue
        if far:
            own = isinstance(node, ast.Name | ast.BinOp | ast.Call | ast.Subscript) and id(node) not in called
            own = own and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not is_call(node, TICK)
            if own and node.lineno in far and text(node) not in ("np", "numpy", "math"):  # type: ignore[attr-defined]
                yield from with_more(node, above, scope)  # type: ignore[arg-type]
        elif isinstance(node, ast.stmt):
            yield from of_statement(node, above, scope)
        elif isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            own = not isinstance(node, ast.Call) or text(node.func) != TICK
            if own and id(node) not in called and text(node) not in ("np", "numpy", "math"):
                yield from of_expression(node, above, scope)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from of_stored(node, above)


def of_expression(node: ast.expr, above: dict[int, Place], scope: Scope) -> Iterator[Change]:
    place = above[id(node)]
    upper = place[0]
    inside = place[1] == "slice" and isinstance(upper, ast.Subscript) or isinstance(upper, ast.Slice)
    counted = inside or isinstance(upper, ast.Compare) or is_call(upper, "range") or (
        isinstance(upper, ast.Tuple) and id(upper) in above and above[id(upper)][1] == "slice")  # fmt: skip

    def change(new: Any, says: str, rank: int = 0, group: str = "", at: ast.AST = node) -> Change:
        return Change([(place, new)], at, says, rank, group)

    if isinstance(node, ast.Name):
        for other in scope.others(node):
            yield change(name(other), f"{node.id} is used where {other} belongs", 1, f"{node.id} for {other}")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        minus = isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)
        yield from of_constant(node, change, counted, upper if minus else None)
    if isinstance(node, ast.BinOp):
        if counted:
            yield from of_index_sum(node, change)
            return
        yield from of_operation(node, place, change)
        if isinstance(node.op, ast.Mult):
            yield from moved_in(node, above)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield change(node.operand, "the sign is wrong: the minus does not belong here", 0, "sign")
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield change(node.value, f"{text(node.value)} must not be transposed here", 0, "transposed")
    if isinstance(node, ast.Call):
        yield from of_call(node, above, change)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, sign in SIGNS.items():
            if not isinstance(node.ops[0], kind):
                says = f"the comparison is wrong: {SIGNS[type(node.ops[0])]} is used where {sign} belongs" if type(
                    node.ops[0]) in SIGNS else ""  # fmt: skip
                if says:
                    yield Change([((node, "ops", 0), kind())], node, says, 0)
    if isinstance(node, ast.IfExp):
        yield change(node.body, f"the condition does not belong here: {text(node.body)} is right in every case", 1)
        yield change(node.orelse, f"the condition does not belong here: {text(node.orelse)} is right in every case", 1)
        yield Change([((node, "body", -1), node.orelse), ((node, "orelse", -1), node.body)], node,
                     "the two cases are exchanged", 1)  # fmt: skip
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1 and not inside:
        yield from of_elements(node)
    if isinstance(node, ast.Subscript):
        yield from of_index(node, place, change, scope)
    if counted and isinstance(node, ast.Name | ast.BinOp | ast.Call):
        what = text(node)
        bound = "the loop ends one round" if is_call(upper, "range") else what + " is"
        yield change(ast.BinOp(node, ast.Add(), ast.Constant(1)), f"{bound} too early: {what} is one too small"
                     if is_call(upper, "range") else f"{what} is one too small here", 0, f"{what} + 1")  # fmt: skip
        yield change(ast.BinOp(node, ast.Sub(), ast.Constant(1)), f"{bound} too late: {what} is one too large"
                     if is_call(upper, "range") else f"{what} is one too large here", 0, f"{what} - 1")  # fmt: skip
    if not counted and isinstance(node, ast.Name | ast.Subscript | ast.Call | ast.BinOp):
        yield from of_value(node, above, change, scope)


def of_constant(node: ast.Constant, change: Any, counted: bool, negative: ast.AST | None = None) -> Iterator[Change]:
    """Another number. `negative` is the node of the number including a leading minus sign."""
    value, shown = node.value, text(negative or node)
    assert isinstance(value, int | float)
    others = [value - 1, value + 1, -value, 2 * value, 1 / value if value else 1, value / 2, 0, 1, 2]
    for other in dict.fromkeys(o for o in others if o != value and (o == int(o) or not counted)):
        new = int(other) if other == int(other) and isinstance(value, int) else other
        says = f"the sign of {shown} is wrong" if other == -value else f"the number {shown} is wrong here"
        yield change(ast.Constant(new), says, 0 if abs(other) <= 2 else 1,
                     f"{value:g} for {other:g}", negative or node)  # fmt: skip


def of_index_sum(node: ast.BinOp, change: Any) -> Iterator[Change]:
    """A sum of integers that is an index or a number of iterations."""
    for kept in (node.left, node.right):
        yield change(kept, f"{text(node)} is used where {text(kept)} belongs", 0, f"index {text(node)} {text(kept)}")
    if isinstance(node.op, ast.Add | ast.Sub):
        turned = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        new = ast.BinOp(node.left, turned, node.right)
        yield change(new, f"{text(node)} is used where {text(new)} belongs", 0)
    for sign, op in (("+", ast.Add()), ("-", ast.Sub())):
        yield change(ast.BinOp(node, op, ast.Constant(1)),
                     f"{text(node)} is used where {text(node)} {sign} 1 belongs", 0,
                     f"{text(node)} {sign} 1")  # fmt: skip


def of_operation(node: ast.BinOp, place: Place, change: Any) -> Iterator[Change]:
    left, right = node.left, node.right
    for kind, verb in OPERATORS.items():
        if type(node.op) in OPERATORS and not isinstance(node.op, kind):
            if kind in (ast.Mult, ast.Div) and text(right) in ("1", "1.0"):  # "the term 1 does not belong" is better
                continue
            yield Change([((node, "op", -1), kind())], node, operator_says(node, kind, verb), 0, f"operator {verb}")
    for kept, lost in ((left, right), (right, left)):
        if isinstance(node.op, ast.Pow) and kept is right or isinstance(node.op, ast.FloorDiv | ast.Mod):
            continue
        role = "factor" if isinstance(node.op, ast.Mult) else "term"
        says = f"the {role} {text(lost)} does not belong here"
        if isinstance(node.op, ast.Div):
            says = (
                f"the division by {text(right)} does not belong here"
                if kept is left
                else f"{text(left)} / does not belong here"
            )
        elif isinstance(node.op, ast.Pow):
            says = f"the power {text(right)} does not belong here"
        elif isinstance(node.op, ast.MatMult):
            says = f"the product with {text(lost)} does not belong here"
        yield change(kept, says, 0, "", lost if not isinstance(node.op, ast.Pow) else node)
    brackets = "the brackets are wrong: it must be {}"
    if isinstance(left, ast.BinOp):  # (a . b) . c in place of a . (b . c)
        new = ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
        yield change(new, brackets.format(text(new)), 0, f"bracket {type(left.op).__name__}{type(node.op).__name__}")
    if isinstance(right, ast.BinOp):
        new = ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)
        yield change(new, brackets.format(text(new)), 0, f"bracket {type(node.op).__name__}{type(right.op).__name__}")
    if isinstance(node.op, ast.Sub | ast.Div | ast.Pow):
        gate = isinstance(left, ast.Constant) and isinstance(place[0], ast.BinOp)
        rank = 1 if gate else 0  # few people write k - 1 for a factor 1 - k
        yield change(ast.BinOp(right, node.op, left), f"the sides are exchanged: {text(right)} must come first", rank)
    if isinstance(node.op, ast.MatMult):
        yield change(ast.BinOp(right, node.op, left), f"the sides are exchanged: {text(right)} must come first", 1)


def operator_says(node: ast.BinOp, kind: type[ast.operator], verb: str) -> str:
    """The description if the operator of `node` should be a `kind`, in which one operand is `verb` ("added")."""
    left, right, had = text(node.left), text(node.right), OPERATORS[type(node.op)]
    joined = {"added": f"added to {left}", "subtracted": f"subtracted from {left}"}
    sums = had in joined, verb in joined
    wrong = f"{right} is {joined[had]}" if sums[0] else f"{left} is {had} by {right}"
    if sums[0] == sums[1]:
        return f"{wrong}, but it must be {verb}"
    right_one = f"{right} must be {joined[verb]}" if sums[1] else f"{left} must be {verb} by {right}"
    return f"{wrong}, but {right_one}"


def moved_in(node: ast.BinOp, above: dict[int, Place]) -> Iterator[Change]:
    """A factor before a bracket that belongs to a name inside it."""
    factors: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult | ast.Div):
        factors.append(left.right)
        left = left.left
    factors.append(left)
    brackets = [f for f in factors if isinstance(f, ast.BinOp) and isinstance(f.op, ast.Add | ast.Sub)]
    for factor in factors:
        for bracket in brackets if isinstance(factor, ast.Name) else ():
            assert isinstance(factor, ast.Name)
            for used in dict.fromkeys(n.id for n in ast.walk(bracket) if isinstance(n, ast.Name)):
                if used != factor.id and used not in ("np", "math"):
                    says = f"{factor.id} multiplies the whole sum, but it must multiply {used} inside it"
                    inner = Multiplied(used, factor.id).visit(copy.deepcopy(bracket))
                    yield Change([(above[id(factor)], ast.Constant(1.0)), (above[id(bracket)], inner)], node, says, 1)


class Multiplied(ast.NodeTransformer):
    """Each use of a name, multiplied by a factor."""

    def __init__(self, used: str, factor: str) -> None:
        self.used, self.factor = used, factor

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return expression(f"{self.used} * {self.factor}") if node.id == self.used else node


def of_value(node: ast.expr, above: dict[int, Place], change: Any, scope: Scope) -> Iterator[Change]:
    """Changes to an expression that is a number or array: transposed, negated, summed and so on."""
    what, upper = text(node), above[id(node)][0]
    over = above.get(id(upper), (None, "", -1))[0]
    listed = isinstance(upper, ast.Tuple | ast.List) and isinstance(over, ast.Return | ast.Assign)
    whole = listed or isinstance(upper, ast.Assign | ast.AugAssign | ast.Return)
    one_minus = ast.BinOp(ast.Constant(1), ast.Sub(), node)
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.MatMult):
        yield change(ast.Attribute(node, "T", ast.Load()), f"{what} must be transposed here", 0, "transposed")
    yield change(ast.UnaryOp(ast.USub(), node), f"the sign of {what} is wrong", 0, "sign")
    yield change(one_minus, f"{what} is used where 1 minus it belongs", 0, "complement")
    yield change(ast.Call(expression("np.sqrt"), [node], []), f"the square root of {what} is missing", 1, "root")
    yield change(ast.BinOp(node, ast.Pow(), ast.Constant(2)), f"{what} is used where its square belongs", 1, "square")
    if isinstance(upper, ast.Assign) and isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
        target = text(upper.targets[0])
        says = f"{target} is the same array as {what} and not a copy, so a change to one changes both"
        yield change(ast.Call(ast.Attribute(node, "copy", ast.Load()), [], []), says, 0)
    if whole or isinstance(upper, ast.Call | ast.For):
        yield change(expression(f"({what})[::-1]"), f"{what} is in reversed order", 1)
    if whole:
        yield change(expression(f"({what}).sum(0)"), "the sum over axis 0 is missing", 1)
        yield change(expression(f"({what}).sum(1, keepdims=True)"), "the sum over axis 1 is missing", 2)
        yield change(expression(f"({what}).sum((0, 1))"), "the sum over axes 0 and 1 is missing", 2)


def with_more(node: ast.expr, above: dict[int, Place], scope: Scope) -> Iterator[Change]:
    """An expression that should be a name, or that lacks a term or factor."""
    place, what = above[id(node)], text(node)
    upper = place[0]
    if place[1] == "slice" or isinstance(upper, ast.Slice | ast.keyword | ast.Attribute):
        return
    whole = isinstance(upper, ast.Assign | ast.AugAssign | ast.Return | ast.Tuple)

    def change(new: Any, says: str, rank: int) -> Change:
        return Change([(place, new)], node, says, rank)

    if isinstance(node, ast.BinOp | ast.Call | ast.Subscript) and not whole:
        rank = 1 if isinstance(node, ast.Call) else 3  # people often compute given values again and make a mistake
        for other in scope.names:
            yield change(name(other), f"{what} is used where {other} belongs", rank)
    if whole or isinstance(upper, ast.BinOp | ast.Call) or isinstance(node, ast.BinOp):
        for use in scope.terms():
            rank = 2 + use.endswith("]")
            yield change(expression(f"({what}) * {use}"), f"the factor {use} is missing", rank)
            yield change(expression(f"({what}) + {use}"), f"the term {use} is missing", rank)
            if rank == 2:
                yield change(expression(f"({what}) / {use}"), f"the division by {use} is missing", rank)
                yield change(expression(f"({what}) - {use}"), f"{use} is not subtracted", rank + 1)
                yield change(expression(f"({what}) * (1 - {use})"), f"the factor 1 - {use} is missing", rank + 1)
            yield change(expression(f"({what}) * (1 - {use} ** 2)"), f"the factor 1 - {use} ** 2 is missing", rank + 1)
