"""Rewrites that no pair of expressions can say: numbers, reductions, functions that are alike, orders, parts."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from .patterns import MODULES, filled, pattern, text
from .rewrites import FORWARD

TWINS = [("sum", "mean"), ("max", "min"), ("maximum", "minimum"), ("zeros_like", "ones_like"), ("zeros", "ones"),
         ("vstack", "hstack"), ("floor", "ceil"), ("log", "log2"), ("tanh", "arctanh"),
         ("argmax", "argmin")]  # fmt: skip
TWIN = dict([*TWINS, *(pair[::-1] for pair in TWINS)])
REDUCTIONS = ("sum", "mean", "max", "min", "argmax", "prod")
BOUNDS = ("clip", "minimum", "maximum", "nan_to_num", "round", "around", "fmin", "fmax")
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
Other = Iterator[tuple[ast.expr, str, int, str]]


def others(node: ast.expr, where: str, direction: int) -> Other:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from numbers(node, where, direction)
    elif isinstance(node, ast.Call):
        yield from calls(node, direction)
        yield from reductions(node, direction)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, sign in SIGNS.items():
            if type(node.ops[0]) in SIGNS and not isinstance(node.ops[0], kind):
                had = SIGNS[type(node.ops[0])]
                wrong, right = (sign, had) if direction == FORWARD else (had, sign)
                new = ast.Compare(node.left, [kind()], node.comparators)
                yield new, f"the comparison is wrong: {wrong} is used where {right} belongs", 1 - direction, ""
    elif isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1 and where != "index":
        yield from orders(node)
    elif isinstance(node, ast.Subscript) and where != "index":
        yield from parts(node)


def numbers(node: ast.Constant, where: str, direction: int) -> Other:
    value: Any = node.value
    options = [value - 1, value + 1, -value, 2 * value, 1 / value if value else 1, value / 2, 0, 1, 2]
    options = [1 - value, *options] if where == "index" else options
    for other in dict.fromkeys(o for o in options if o != value and (o == int(o) or where != "index")):
        new = int(other) if other == int(other) and isinstance(value, int) else other
        wrong, right = (new, value) if direction == FORWARD else (value, new)
        told = direction == FORWARD or where == "index"
        says = f"{wrong} is used where {right} belongs" if told else f"the number {wrong} is wrong here"
        rank = 1 + (direction == FORWARD) if abs(other) > 2 or direction == FORWARD else 0
        yield ast.Constant(new), says, rank, f"?number {value:g} for {other:g}"


def calls(node: ast.Call, direction: int) -> Other:
    function = text(node.func)
    short = function.rpartition(".")[2]
    if isinstance(node.func, ast.Attribute) and short in TWIN:
        wrong, right = (TWIN[short], short) if direction == FORWARD else (short, TWIN[short])
        new = ast.Call(ast.Attribute(node.func.value, TWIN[short], ast.Load()), node.args, node.keywords)
        the = "the " if wrong in ("sum", "mean", "max", "min") and text(node.func.value) not in MODULES else ""
        says = f"{the}{wrong} is used where {the}{right} belongs"
        yield new, says, int(direction == FORWARD), f"the {wrong} is used where the {right} belongs"
    if direction == FORWARD:
        return
    form = node.args[0].value if short == "einsum" and node.args and isinstance(node.args[0], ast.Constant) else ""
    before, arrow, after = form.partition("->") if isinstance(form, str) else ("", "", "")
    for order in list(itertools.permutations(after))[1:] if arrow and len(after) <= 4 else ():
        letters = ast.Constant(f"{before}->{''.join(order)}")
        says = f"the letters of the result are in the wrong order: {''.join(order)} belongs"
        yield ast.Call(node.func, [letters, *node.args[1:]], node.keywords), says, 0, ""
    if short in BOUNDS:
        for argument in node.args:
            if not isinstance(argument, ast.Constant | ast.UnaryOp | ast.Starred):
                yield argument, f"{function} does not belong here: it changes numbers", 0, ""
    if isinstance(node.func, ast.Attribute) and text(node.func.value) not in (*MODULES, "np.linalg"):
        says = f".{short}({', '.join(map(text, node.args))}) does not belong here"
        yield node.func.value, says, 1, says
    for k, word in enumerate(node.keywords):
        rest = node.keywords[:k] + node.keywords[k + 1 :]
        if word.arg == "axis" and short not in REDUCTIONS:
            for axis in ("0", "1", "2", "-1"):
                if axis != text(word.value):
                    new = with_keywords(node, [*rest, ast.keyword("axis", pattern(axis))])
                    yield new, f"axis={text(word.value)} is the wrong axis", 0, f"axis {axis}"
        if word.arg == "dtype":
            says = f"dtype={text(word.value)} cuts off digits of the numbers"
            yield with_keywords(node, [*rest, ast.keyword("dtype", pattern("float"))]), says, 0, "dtype"
        if short not in REDUCTIONS:
            says = f"{word.arg}={text(word.value)} does not belong here"
            yield with_keywords(node, rest), says, 1, f"without {word.arg}"


def with_keywords(node: ast.Call, words: list[ast.keyword], args: list[ast.expr] | None = None) -> ast.Call:
    return ast.Call(node.func, node.args if args is None else args, words)


def reductions(node: ast.Call, direction: int) -> Other:
    """Another axis, or keepdims or not, in sums, means and maxima."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in REDUCTIONS:
        return
    method = text(node.func.value) not in MODULES
    args = node.args[:1] if not method else []
    said = {k.arg: k.value for k in node.keywords}
    axis = node.args[len(args)] if len(node.args) > len(args) else said.get("axis")
    kept = "keepdims" in said and text(said["keepdims"]) != "False"
    had = "None" if axis is None else text(axis)
    rest = [k for k in node.keywords if k.arg not in ("axis", "keepdims")]
    for other, keep in itertools.product((had, "0", "1", "-1", "2", "(0, 1)", "(0, 2)", "None"), (kept, not kept)):
        if (
            other == had
            and (keep == kept or node.func.attr == "argmax")
            or had in ("0", "-1", "1")
            and f"{other}{had}" == "1-1"
        ):
            continue
        words = [ast.keyword("axis", pattern(other))] if other != "None" else []
        words += [ast.keyword("keepdims", ast.Constant(True))] if keep else []
        wrong, right = ((other, keep), (had, kept)) if direction == FORWARD else ((had, kept), (other, keep))
        says = axis_says(node.func.attr, *wrong, *right)
        rank = 0 if keep == kept or other == had else 1
        yield with_keywords(node, [*words, *rest], args), says, rank + (direction == FORWARD), f"axis {had} {other}"
    what = args[0] if args else node.func.value
    if direction == FORWARD and axis is not None:
        total, name = text(node), node.func.attr
        for code, says in (
            ("0.0 * S + A.take(0, X)", f"only the first number counts, not the {name} of all"),
            ("0.0 * S + A.take(-1, X)", f"only the last number counts, not the {name} of all"),
            ("0.0 * S + A.sum()", f"everything is summed, not only axis {had}"),
            ("A", f"the {name} is missing"),
            ("0.0 * S + A.max(X)", f"the maximum is used where the {name} belongs"),
            ("0.0 * S + np.ones_like(A).sum(X)", "ones are added up, not the numbers"),
        ):
            yield filled(pattern(code), {"A": what, "S": node, "X": axis}), f"{says}: {total}", 1, says


def axis_says(function: str, had: str, kept: bool, axis: str, keep: bool) -> str:
    """What is wrong with a reduction over axis `had`, if it must be over `axis`."""
    what = {"max": "maximum", "min": "minimum"}.get(function, function)
    if axis == had:
        return "keepdims=True is missing, so the shapes do not match" if keep else "keepdims does not belong here"
    if had == "None":
        return f"the {what} is taken over everything, but it must be taken over axis {axis} only"
    if axis == "None":
        return f"the {what} is taken over axis {had} only, but it must be taken over everything"
    if axis.startswith("(") and had in axis:
        return f"the {what} is taken over axis {had} only, but it must be taken over the axes {axis}"
    return f"the {what} is taken over axis {had}, which is the wrong axis"


def orders(node: ast.List | ast.Tuple) -> Other:
    """The elements in another order."""
    count = len(node.elts)
    swaps = [
        tuple(j if k == i else i if k == j else k for k in range(count))
        for i, j in itertools.combinations(range(count), 2)
    ]
    for order in list(itertools.permutations(range(count)))[1:] if count <= 4 else swaps:
        elements = [node.elts[k] for k in order]
        moved = [text(e) for k, e in enumerate(node.elts) if order[k] != k]
        says = (
            f"{moved[0]} and {moved[1]} are exchanged"
            if len(moved) == 2
            else f"{', '.join(moved)} are in the wrong order"
        )
        yield type(node)(elements, ast.Load()), says, 1, f"order{order}".replace(" ", "")


def parts(node: ast.Subscript) -> Other:
    """The other part of an array, each row with its own index, the other one of two."""
    many = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    for index in many or [node.slice]:
        new: Any = None
        if isinstance(index, ast.Slice) and index.step is None and (index.lower is None) != (index.upper is None):
            new, says = ast.Slice(index.upper, index.lower), f"{text(node)} is used where the other part belongs"
        elif isinstance(index, ast.Constant) and index.value in (0, 1) and not many:
            new, says = (
                ast.Constant(1 - index.value),
                f"{text(node.value)}[{index.value}] is used where the other one belongs",
            )
        if new is not None:
            inner = ast.Tuple([new if i is index else i for i in many], ast.Load()) if many else new
            yield ast.Subscript(node.value, inner, ast.Load()), says, 1, "part"
