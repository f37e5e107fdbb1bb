"""Small changes to the tree of a student's own file: a mistake is where one of them makes the answer right.

Each is the inverse of something that people do: another name, another axis, a factor that is there or is not. It says
what is wrong at its place, in the student's own names. Nothing here runs anything; `trials` does.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[ast.AST, str, int]
"""The node above, the field of it, and the index in a list or -1."""
OPERATORS = {ast.Add: "added", ast.Sub: "subtracted", ast.Mult: "multiplied", ast.Div: "divided"}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
TWINS = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum",
         "zeros_like": "ones_like", "zeros": "ones", "ones": "zeros", "vstack": "hstack", "hstack": "vstack",
         "floor": "ceil", "log": "log2", "log2": "log", "ones_like": "zeros_like"}  # fmt: skip
TICK = "_minirnn_tick"
"""What counts the rounds of a loop: it is in the tree, and no part of the answer."""
Kinds = dict[str, "tuple[str, tuple[int, ...]] | None"]
"""What names hold: the kind of its numbers and the shape; None for what is no number."""
MOST = 6000
"""So many changes are listed; a file that allows more is no answer to an exercise."""


@dataclass
class Change:
    """What is put where (`puts`), the node that is marked, what is wrong there, and how far-fetched it is.

    Changes of one `group` are one mistake made at several places.
    """

    puts: list[tuple[Place, Any]]
    node: ast.AST
    says: str
    rank: int = 0
    group: str = ""


@dataclass
class Scope:
    """A function of the file: the names that it has, those of steps, and what they hold when it returns."""

    names: list[str]
    steps: list[str] = field(default_factory=list)
    kinds: Kinds = field(default_factory=dict)

    def others(self, node: ast.Name) -> Iterator[str]:
        """The names of what has the shape of a name's value; of all names if nothing is known."""
        mine = self.kinds.get(node.id)
        for other in self.names:
            if other != node.id and (not self.kinds or self.kinds.get(other, mine) == mine):
                yield other

    def terms(self) -> list[str]:
        """The names of numbers and arrays, and their elements of a loop's step."""
        numbers = [n for n in self.names if not self.kinds or self.kinds.get(n) is not None]
        return numbers + [f"{n}[{t}]" for n in numbers for t in self.steps
                          if len((self.kinds.get(n) or ("", ()))[1]) >= 2]  # fmt: skip


def text(node: ast.AST) -> str:
    return ast.unparse(node)


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def name(id: str) -> ast.Name:
    return ast.Name(id, ast.Load())


def put(places: Sequence[tuple[Place, Any]]) -> list[tuple[Place, Any]]:
    """Make a change; what undoes it is returned."""
    before = []
    for (above, where, k), new in places:
        value = getattr(above, where)
        before.append(((above, where, k), value if k < 0 else value[k]))
        if k < 0:
            setattr(above, where, new)
        else:
            value[k] = new
    return before[::-1]


def changes(
    tree: ast.Module, function: str, far: Sequence[int] = (), kinds: dict[str, Kinds] | None = None
) -> list[Change]:
    """All changes to a file, those of the function that is asked for first; or those further off of some lines."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    functions = [n for n in functions if not kinds or n.name in kinds] or functions  # those that were called
    functions.sort(key=lambda n: n.name != function)
    found = itertools.chain.from_iterable(
        of_function(n, frozenset(far), (kinds or {}).get(n.name, {})) for n in functions
    )
    return list(itertools.islice(found, MOST))


def of_function(function: ast.FunctionDef, far: frozenset[int], kinds: Kinds) -> Iterator[Change]:
    """The changes that are near, or else those of the lines `far` that are not."""
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
            if own and node.lineno in far and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                if text(node) not in ("np", "numpy", "math") and not is_call(node, TICK):
                    yield from with_more(node, above, scope)
        elif isinstance(node, ast.stmt):
            yield from of_statement(node, above, scope)
        elif isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            own = not isinstance(node, ast.Call) or text(node.func) != TICK
            if own and id(node) not in called and text(node) not in ("np", "numpy", "math"):
                yield from of_expression(node, above, scope)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from of_stored(node, above)


# ---- expressions


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
            yield change(name(other), f"{other} belongs here, not {node.id}", 1, f"{node.id} for {other}")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from of_constant(node, change, counted)
    if isinstance(node, ast.BinOp):
        if counted:
            yield from of_index_sum(node, change)
            return
        yield from of_operation(node, place, change)
        if isinstance(node.op, ast.Mult):
            yield from moved_in(node, above)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield change(node.operand, "the sign is wrong: no minus belongs here", 0, "sign")
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield change(node.value, f"{text(node.value)} must not be transposed here", 0, "transposed")
    if isinstance(node, ast.Call):
        yield from of_call(node, above, change)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, sign in SIGNS.items():
            if not isinstance(node.ops[0], kind):
                says = f"the comparison is wrong: {sign} belongs here, not {SIGNS[type(node.ops[0])]}" if type(
                    node.ops[0]) in SIGNS else ""  # fmt: skip
                if says:
                    yield Change([((node, "ops", 0), kind())], node, says, 0)
    if isinstance(node, ast.IfExp):
        yield change(node.body, f"no other case belongs here: always {text(node.body)}", 1)
        yield change(node.orelse, f"no other case belongs here: always {text(node.orelse)}", 1)
        yield Change([((node, "body", -1), node.orelse), ((node, "orelse", -1), node.body)], node,
                     "the two cases are exchanged", 1)  # fmt: skip
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1 and not inside:
        yield from of_elements(node)
    if isinstance(node, ast.Subscript):
        yield from of_index(node, place, change, scope)
    if counted and isinstance(node, ast.Name | ast.BinOp | ast.Call):
        what = text(node)
        bound = "the loop ends" if is_call(upper, "range") else what + " is"
        yield change(ast.BinOp(node, ast.Add(), ast.Constant(1)), f"{bound} one too early: {what} + 1"
                     if is_call(upper, "range") else f"{what} is one too small here", 0, f"{what} + 1")  # fmt: skip
        yield change(ast.BinOp(node, ast.Sub(), ast.Constant(1)), f"{bound} one too late: {what} - 1"
                     if is_call(upper, "range") else f"{what} is one too large here", 0, f"{what} - 1")  # fmt: skip
    if not counted and isinstance(node, ast.Name | ast.Subscript | ast.Call | ast.BinOp):
        yield from of_value(node, above, change, scope)


def is_call(node: ast.AST, function: str) -> bool:
    return isinstance(node, ast.Call) and text(node.func) == function


def of_constant(node: ast.Constant, change: Any, counted: bool) -> Iterator[Change]:
    value = node.value
    assert isinstance(value, int | float)
    others = [value - 1, value + 1, -value, 2 * value, 1 / value if value else 1, value / 2, 0, 1, 2]
    for other in dict.fromkeys(o for o in others if o != value and (o == int(o) or not counted)):
        new = int(other) if other == int(other) and isinstance(value, int) else other
        yield change(ast.Constant(new), f"the number {value:g} is wrong here", 0 if abs(other) <= 2 else 1,
                     f"{value:g} for {other:g}")  # fmt: skip


def of_index_sum(node: ast.BinOp, change: Any) -> Iterator[Change]:
    """A sum of whole numbers that is an index, or the number of rounds."""
    for kept in (node.left, node.right):
        yield change(kept, f"{text(kept)} belongs here, not {text(node)}", 0, f"index {text(node)} {text(kept)}")
    if isinstance(node.op, ast.Add | ast.Sub):
        turned = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        new = ast.BinOp(node.left, turned, node.right)
        yield change(new, f"{text(new)} belongs here, not {text(node)}", 0)
    for sign, op in (("+", ast.Add()), ("-", ast.Sub())):
        yield change(ast.BinOp(node, op, ast.Constant(1)), f"{text(node)} {sign} 1 belongs here, not {text(node)}", 0,
                     f"{text(node)} {sign} 1")  # fmt: skip


def of_operation(node: ast.BinOp, place: Place, change: Any) -> Iterator[Change]:
    left, right = node.left, node.right
    for kind, verb in OPERATORS.items():
        if type(node.op) in OPERATORS and not isinstance(node.op, kind):
            joined = "from" if kind is ast.Sub else "to" if kind is ast.Add else "by"
            pair = f"{text(right)} must be {verb} {joined} {text(left)}" if joined != "by" else (
                f"{text(left)} must be {verb} by {text(right)}")  # fmt: skip
            yield Change([((node, "op", -1), kind())], node, f"{pair}, not {OPERATORS[type(node.op)]}", 0,
                         f"operator {verb}")  # fmt: skip
    for kept, lost in ((left, right), (right, left)):
        if isinstance(node.op, ast.Pow) and kept is right or isinstance(node.op, ast.FloorDiv | ast.Mod):
            continue
        role = "factor" if isinstance(node.op, ast.Mult) else "term"
        says = f"the {role} {text(lost)} does not belong here"
        if isinstance(node.op, ast.Div):
            says = (
                f"nothing is divided by {text(right)} here" if kept is left else f"{text(left)} / does not belong here"
            )
        elif isinstance(node.op, ast.Pow):
            says = f"the power {text(right)} does not belong here"
        elif isinstance(node.op, ast.MatMult):
            says = f"no product with {text(lost)} belongs here"
        yield change(kept, says, 0, "", lost if not isinstance(node.op, ast.Pow) else node)
    brackets = "the brackets are wrong: {} belongs here"
    if isinstance(left, ast.BinOp):  # (a . b) . c for a . (b . c)
        new = ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
        yield change(new, brackets.format(text(new)), 0, f"bracket {type(left.op).__name__}{type(node.op).__name__}")
    if isinstance(right, ast.BinOp):
        new = ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)
        yield change(new, brackets.format(text(new)), 0, f"bracket {type(node.op).__name__}{type(right.op).__name__}")
    if isinstance(node.op, ast.Sub | ast.Div | ast.Pow):
        yield change(ast.BinOp(right, node.op, left), f"the two sides are exchanged: {text(right)} comes first", 0)
    if isinstance(node.op, ast.MatMult):
        yield change(ast.BinOp(right, node.op, left), f"the two sides are exchanged: {text(right)} comes first", 1)


def moved_in(node: ast.BinOp, above: dict[int, Place]) -> Iterator[Change]:
    """A factor before a bracket that belongs to a name in it."""
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
                    says = f"{factor.id} must multiply {used} before anything is summed up, not the whole"
                    inner = Multiplied(used, factor.id).visit(copy.deepcopy(bracket))
                    yield Change([(above[id(factor)], ast.Constant(1.0)), (above[id(bracket)], inner)], node, says, 1)


class Multiplied(ast.NodeTransformer):
    """Each use of a name with a factor."""

    def __init__(self, used: str, factor: str) -> None:
        self.used, self.factor = used, factor

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return expression(f"{self.used} * {self.factor}") if node.id == self.used else node


def of_call(node: ast.Call, above: dict[int, Place], change: Any) -> Iterator[Change]:
    function = text(node.func)
    if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
        argument = node.args[0]
        yield change(argument, f"{function} does not belong here", 1, f"{function} once more")
        if isinstance(argument, ast.BinOp):  # f(a + b) for f(a) + b
            inner = ast.Call(node.func, [argument.left], [])
            new = ast.BinOp(inner, argument.op, argument.right)
            yield change(new, f"{text(argument.right)} belongs outside of {function}(...)", 0)
            yield change(ast.BinOp(argument.left, argument.op, ast.Call(node.func, [argument.right], [])),
                         f"{text(argument.left)} belongs outside of {function}(...)", 0)  # fmt: skip
    method = isinstance(node.func, ast.Attribute) and text(node.func.value) not in ("np", "numpy", "math", "np.linalg")
    if isinstance(node.func, ast.Attribute):
        if method:
            yield change(node.func.value, f".{node.func.attr}({', '.join(map(text, node.args))}) does not belong here",
                         1, f".{node.func.attr}")  # fmt: skip
        if node.func.attr == "reshape":
            yield change(ast.Attribute(node.func.value, "T", ast.Load()),
                         "reshape keeps the order of the numbers: this must be transposed", 0)  # fmt: skip
        other = TWINS.get(node.func.attr)
        if other:
            yield Change([((node.func, "attr", -1), other)], node, f"{other} belongs here, not {node.func.attr}", 0,
                         f"{node.func.attr} for {other}")  # fmt: skip
        if node.func.attr in ("sum", "mean", "max", "min") and len(node.args) <= (0 if method else 1):
            had = {k.arg: text(k.value) for k in node.keywords}
            for axis, keep in itertools.product(("0", "1", "-1", "2", "(0, 1)", "(0, 2)", "None"), (False, True)):
                if axis == had.get("axis", "None") and keep == ("keepdims" in had):
                    continue
                words = [ast.keyword("axis", expression(axis))] if axis != "None" else []
                words += [ast.keyword("keepdims", ast.Constant(True))] if keep else []
                says = axis_says(node.func.attr, had.get("axis"), axis, keep, "keepdims" in had)
                yield Change([((node, "keywords", -1), words)], node, says, 0 if keep == ("keepdims" in had) else 1,
                             f"axis {had.get('axis')} for {axis}")  # fmt: skip
    for k, argument in enumerate(node.args):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean", "max", "min") and (
            isinstance(argument, ast.Constant) and k == len(node.args) - 1):  # fmt: skip
            for axis in ("0", "1", "2", "(0, 1)", "None"):
                if axis != text(argument):
                    says = axis_says(node.func.attr, text(argument), axis, False, False)
                    yield Change(
                        [((node, "args", k), expression(axis))], node, says, 0, f"axis {text(argument)} {axis}"
                    )
        if k + 1 < len(node.args):
            first, second = text(argument), text(node.args[k + 1])
            puts = [((node, "args", k), node.args[k + 1]), ((node, "args", k + 1), argument)]
            yield Change(puts, node, f"{first} and {second} are exchanged", 1)
    for k, word in enumerate(node.keywords):
        if word.arg == "axis" and function.rpartition(".")[2] not in ("sum", "mean", "max", "min"):
            for axis in ("0", "1", "2", "-1"):
                if axis != text(word.value):
                    yield Change([((word, "value", -1), expression(axis))], node,
                                 f"axis={text(word.value)} is the wrong axis", 0, f"axis {axis}")  # fmt: skip
        if word.arg == "dtype":
            yield Change([((word, "value", -1), name("float"))], node,
                         f"dtype={text(word.value)} cuts the numbers off", 0, "dtype")  # fmt: skip
        rest = node.keywords[:k] + node.keywords[k + 1 :]
        yield Change([((node, "keywords", -1), rest)], node, f"{word.arg}={text(word.value)} does not belong here", 1,
                     f"without {word.arg}")  # fmt: skip
    if is_call(node, "range") and len(node.args) == 1:
        yield change(expression(f"reversed(range({text(node.args[0])}))"),
                     "the loop runs forwards: it must go from the last to the first", 0)  # fmt: skip
        yield change(expression(f"range(1, {text(node.args[0])})"), "the loop begins one too early", 0)
    if is_call(node, "reversed"):
        yield change(node.args[0], "the loop runs backwards: it must go from the first to the last", 0)


def axis_says(function: str, had: str | None, axis: str, keep: bool, kept: bool) -> str:
    verb = {"sum": "summed up", "mean": "averaged"}.get(function, f"taken the {function} of")
    if axis == (had or "None"):
        return "keepdims=True is missing, so the shapes do not meet" if keep else "keepdims does not belong here"
    if had is None:
        return f"everything is {verb}: only axis {axis} may be"
    return f"axis {had} is {verb}, which is the wrong axis" if axis != "None" else f"only axis {had} is {verb}, not all"


def of_elements(node: ast.List | ast.Tuple) -> Iterator[Change]:
    """Elements in another order."""
    count = len(node.elts)
    orders = (
        [p for p in itertools.permutations(range(count)) if p != tuple(range(count))]
        if count <= 4
        else [tuple(j if k == i else i if k == j else k for k in range(count))
              for i, j in itertools.combinations(range(count), 2)]
    )  # fmt: skip
    for order in orders:
        elements = [node.elts[k] for k in order]
        moved = [text(e) for k, e in enumerate(node.elts) if order[k] != k]
        says = (
            f"{moved[0]} and {moved[1]} are exchanged" if len(moved) == 2 else f"{', '.join(moved)} are in wrong order"
        )
        yield Change([((node, "elts", -1), elements)], node, says, 1, f"order {order}")


def of_index(node: ast.Subscript, place: Place, change: Any, scope: Scope) -> Iterator[Change]:
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    for k, part in enumerate(elements):
        if isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None:
            rows = expression(f"np.arange({text(node.value)}.shape[{k}])")
            yield Change([((node.slice, "elts", k), rows)], node, PAIRS, 0, "pairs")
    cut = node.slice
    if isinstance(cut, ast.Slice) and text(cut) == "::-1":
        yield change(node.value, "this must not be reversed", 0)
    for index in elements or [cut]:
        if isinstance(index, ast.Slice) and index.step is None:
            if index.lower is not None and index.upper is None:
                other = ast.Slice(None, index.lower)
            elif index.upper is not None and index.lower is None:
                other = ast.Slice(index.upper, None)
            else:
                continue
            where: Place = (node.slice, "elts", elements.index(index)) if elements else (node, "slice", -1)
            yield Change([(where, other)], node, f"the other part is meant, not {text(node)}", 1, "part")


PAIRS = "':' takes every row with every index: each row has an index of its own, so count the rows along"


def of_stored(node: ast.Subscript, above: dict[int, Place]) -> Iterator[Change]:
    """The place that something is assigned to."""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    for k, part in enumerate(elements):
        if isinstance(part, ast.Slice) and part.lower is None and part.upper is None:
            rows = expression(f"np.arange({text(node.value)}.shape[{k}])")
            yield Change([((node.slice, "elts", k), rows)], node, PAIRS, 0, "pairs")
    for index in [node.slice] if not elements else []:
        if isinstance(index, ast.Name | ast.BinOp):
            for op, word in ((ast.Add(), "small"), (ast.Sub(), "large")):
                new = ast.BinOp(index, op, ast.Constant(1))
                yield Change([((node, "slice", -1), new)], node, f"the index {text(index)} is one too {word} here", 1)


def of_value(node: ast.expr, above: dict[int, Place], change: Any, scope: Scope) -> Iterator[Change]:
    """An expression that is a number or array, turned into something else, or with something more."""
    what, upper = text(node), above[id(node)][0]
    whole = isinstance(upper, ast.Assign | ast.AugAssign | ast.Return) or (
        isinstance(upper, ast.Tuple | ast.List) and isinstance(above.get(id(upper), (None,))[0], ast.Return | ast.Assign))  # fmt: skip
    one_minus = ast.BinOp(ast.Constant(1), ast.Sub(), node)
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.MatMult):
        yield change(ast.Attribute(node, "T", ast.Load()), f"{what} must be transposed here", 0, "transposed")
    yield change(ast.UnaryOp(ast.USub(), node), f"the sign of {what} is wrong", 0, "sign")
    yield change(one_minus, f"1 minus {what} belongs here", 0, "complement")
    yield change(ast.Call(expression("np.sqrt"), [node], []), f"the square root of {what} is missing", 1, "root")
    yield change(ast.BinOp(node, ast.Pow(), ast.Constant(2)), f"the square of {what} belongs here", 1, "square")
    if isinstance(upper, ast.Assign) and isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
        target = text(upper.targets[0])
        says = f"{target} is the same array as {what}, no copy: what is changed in one is changed in both"
        yield change(ast.Call(ast.Attribute(node, "copy", ast.Load()), [], []), says, 0)
    if whole or isinstance(upper, ast.Call | ast.For):
        yield change(expression(f"({what})[::-1]"), f"{what} is in reversed order", 1)
    if whole:
        yield change(expression(f"({what}).sum(0)"), "the sum over axis 0 is missing", 1)
        yield change(expression(f"({what}).sum(1, keepdims=True)"), "the sum over axis 1 is missing", 2)
        yield change(expression(f"({what}).sum((0, 1))"), "the sum over axes 0 and 1 is missing", 2)


def with_more(node: ast.expr, above: dict[int, Place], scope: Scope) -> Iterator[Change]:
    """An expression for which a name belongs, or that lacks a term or a factor."""
    place, what = above[id(node)], text(node)
    upper = place[0]
    if place[1] == "slice" or isinstance(upper, ast.Slice | ast.keyword | ast.Attribute):
        return
    whole = isinstance(upper, ast.Assign | ast.AugAssign | ast.Return | ast.Tuple)

    def change(new: Any, says: str, rank: int) -> Change:
        return Change([(place, new)], node, says, rank)

    if isinstance(node, ast.BinOp | ast.Call | ast.Subscript) and not whole:
        for other in scope.names:
            yield change(name(other), f"{other} belongs here, not {what}", 3)
    if whole or isinstance(upper, ast.BinOp | ast.Call) or isinstance(node, ast.BinOp):
        for use in scope.terms():
            rank = 2 + use.endswith("]")
            yield change(expression(f"({what}) * {use}"), f"the factor {use} is missing", rank)
            yield change(expression(f"({what}) + {use}"), f"the term {use} is missing", rank)
            if rank == 2:
                yield change(expression(f"({what}) / {use}"), f"a division by {use} is missing", rank)
                yield change(expression(f"({what}) - {use}"), f"{use} is not subtracted", rank + 1)
                yield change(expression(f"({what}) * (1 - {use})"), f"the factor 1 - {use} is missing", rank + 1)
            yield change(expression(f"({what}) * (1 - {use} ** 2)"), f"the factor 1 - {use} ** 2 is missing", rank + 1)


# ---- statements


def of_statement(node: ast.stmt, above: dict[int, Place], scope: Scope) -> Iterator[Change]:
    place = above[id(node)]
    upper, where, k = place
    if isinstance(node, ast.AugAssign):
        target = text(node.target)
        plain = ast.copy_location(ast.Assign([node.target], node.value), node)
        yield Change([(place, stored(plain))], node, f"+= adds to {target}: = belongs here", 0, "+=")
        for kind, sign in ((ast.Add, "+="), (ast.Sub, "-=")):
            if not isinstance(node.op, kind):
                yield Change([((node, "op", -1), kind())], node, f"{sign} belongs here", 0, "op=")
        if isinstance(node.target, ast.Subscript) and not any(
            isinstance(n, ast.Slice) for n in ast.walk(node.target.slice)):  # fmt: skip
            says = f"an index that occurs twice counts only once in {target}: np.add.at adds up all"
            at = f"({text(node.target.slice).strip('()')},)" if isinstance(node.target.slice, ast.Tuple) else text(
                node.target.slice)  # fmt: skip
            call = expression(f"np.add.at({text(node.target.value)}, {at}, {text(node.value)})")
            yield Change([(place, ast.copy_location(ast.Expr(call), node))], node, says, 0)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
        target = text(node.targets[0])
        added = ast.copy_location(ast.AugAssign(node.targets[0], ast.Add(), node.value), node)
        yield Change([(place, added)], node, f"= keeps only the last part of {target}: += adds up all", 0, "=")
    if isinstance(node, ast.Return | ast.FunctionDef) or k < 0:
        return
    first = text(node).splitlines()[0]
    if not isinstance(node, ast.For | ast.While | ast.With):
        yield Change([(place, ast.copy_location(ast.Pass(), node))], node, f"`{first}` does not belong here", 0)
    rows = getattr(upper, where)
    if k + 1 < len(rows) and not isinstance(rows[k + 1], ast.Return):
        swapped = [*rows[:k], rows[k + 1], node, *rows[k + 2 :]]
        yield Change([((upper, where, -1), swapped)], node, "this comes too early: it must follow the next line", 1)
    if isinstance(node, ast.For):
        for start in range(max(0, k - 3), k):
            head = rows[start:k]
            if all(isinstance(s, ast.Assign) for s in head):
                inner = copy.copy(node)
                inner.body = [*head, *node.body]
                names = ", ".join(text(s.targets[0]) for s in head)
                says = (
                    f"{names}: made once, before the loop; what one round changes, the next one finds: begin anew in it"
                )
                yield Change([((upper, where, -1), [*rows[:start], inner, *rows[k + 1 :]])], head[0], says, 1)
        if isinstance(node.body[-1], ast.stmt) and len(node.body) > 1:
            last = node.body[-1]
            outer = copy.copy(node)
            outer.body = node.body[:-1]
            says = "this stands in the loop: it must be done once, after it"
            yield Change([((upper, where, -1), [*rows[:k], outer, last, *rows[k + 1 :]])], last, says, 2)
    if isinstance(node, ast.If) and not node.orelse:
        yield Change([((upper, where, -1), [*rows[:k], *node.body, *rows[k + 1 :]])], node,
                     "this must be done in every case", 1)  # fmt: skip


def stored(node: ast.Assign) -> ast.Assign:
    return node


# ---- what reaches which output


def reached(tree: ast.Module, function: str) -> dict[int, list[int]]:
    """For each line of the function that is asked for, which of the values that it returns may change with it.

    Nothing is said of a function that returns no tuple, or in several places.
    """
    own = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function]
    returns = [n for n in ast.walk(own[-1]) if isinstance(n, ast.Return)] if own else []
    if len(returns) != 1 or not isinstance(returns[0].value, ast.Tuple):
        return {}
    graph: dict[str, set[str]] = {}
    made: dict[int, set[str]] = {}
    for node in ast.walk(own[-1]):
        names: set[str] = set()
        if isinstance(node, ast.Assign | ast.AugAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id != TICK}
        if isinstance(node, ast.For | ast.If | ast.While):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # it may change what it is called on
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if names:
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            for name_ in used:
                graph.setdefault(name_, set()).update(names)
            made.setdefault(node.lineno, set()).update(names)  # type: ignore[attr-defined]
    for k, value in enumerate(returns[0].value.elts):
        for n in ast.walk(value):
            if isinstance(n, ast.Name):
                graph.setdefault(n.id, set()).add(f"return {k}")
    found = {}
    for line, names in made.items():
        seen, todo = set(names), list(names)
        while todo:
            for further in graph.get(todo.pop(), ()):
                if further not in seen:
                    seen.add(further)
                    todo.append(further)
        found[line] = [k for k in range(len(returns[0].value.elts)) if f"return {k}" in seen]
    return found
