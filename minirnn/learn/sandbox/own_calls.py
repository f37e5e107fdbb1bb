"""Changes to calls in a student's file: another axis, function or order of arguments; also lists and indices."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from .own_change import Change, Place, Scope, expression, is_call, name, text
from .own_statements import PAIRS

TWINS = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum",
         "zeros_like": "ones_like", "zeros": "ones", "ones": "zeros", "vstack": "hstack", "hstack": "vstack",
         "floor": "ceil", "log": "log2", "log2": "log", "ones_like": "zeros_like"}  # fmt: skip

BOUNDS = {"clip", "minimum", "maximum", "nan_to_num", "round", "around", "fmin", "fmax"}
"""Functions that limit or round numbers. No formula contains them."""


def of_call(node: ast.Call, above: dict[int, Place], change: Any) -> Iterator[Change]:
    function = text(node.func)
    if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
        argument = node.args[0]
        yield change(argument, f"{function} does not belong here", 1, f"{function} once more")
        if isinstance(argument, ast.BinOp):  # f(a + b) in place of f(a) + b
            inner = ast.Call(node.func, [argument.left], [])
            new = ast.BinOp(inner, argument.op, argument.right)
            yield change(new, f"{text(argument.right)} is inside {function}(...), but it belongs outside", 0)
            yield change(ast.BinOp(argument.left, argument.op, ast.Call(node.func, [argument.right], [])),
                         f"{text(argument.left)} is inside {function}(...), but it belongs outside", 0)  # fmt: skip
    elif function.rpartition(".")[2] in BOUNDS:
        for argument in node.args:
            if not isinstance(argument, ast.Constant | ast.UnaryOp | ast.Starred):
                yield change(argument, f"{function} does not belong here: it changes numbers", 0)
    method = isinstance(node.func, ast.Attribute) and text(node.func.value) not in ("np", "numpy", "math", "np.linalg")
    if isinstance(node.func, ast.Attribute):
        if method:
            yield change(node.func.value, f".{node.func.attr}({', '.join(map(text, node.args))}) does not belong here",
                         1, f".{node.func.attr}")  # fmt: skip
        if node.func.attr == "reshape":
            yield change(ast.Attribute(node.func.value, "T", ast.Load()),
                         "reshape keeps the order of the numbers, but this must be transposed", 0)  # fmt: skip
        other = TWINS.get(node.func.attr)
        if other:
            yield Change([((node.func, "attr", -1), other)], node, f"{node.func.attr} is used where {other} belongs", 0,
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
            puts: list[tuple[Place, Any]] = [((node, "args", k), node.args[k + 1]), ((node, "args", k + 1), argument)]
            yield Change(puts, node, f"{first} and {second} are exchanged", 1)
    for k, word in enumerate(node.keywords):
        if word.arg == "axis" and function.rpartition(".")[2] not in ("sum", "mean", "max", "min"):
            for axis in ("0", "1", "2", "-1"):
                if axis != text(word.value):
                    yield Change([((word, "value", -1), expression(axis))], node,
                                 f"axis={text(word.value)} is the wrong axis", 0, f"axis {axis}")  # fmt: skip
        if word.arg == "dtype":
            yield Change([((word, "value", -1), name("float"))], node,
                         f"dtype={text(word.value)} cuts off digits of the numbers", 0, "dtype")  # fmt: skip
        rest = node.keywords[:k] + node.keywords[k + 1 :]
        yield Change([((node, "keywords", -1), rest)], node, f"{word.arg}={text(word.value)} does not belong here", 1,
                     f"without {word.arg}")  # fmt: skip
    if is_call(node, "range") and len(node.args) == 1:
        yield change(expression(f"reversed(range({text(node.args[0])}))"),
                     "the loop runs forwards, but it must go from the last to the first", 0)  # fmt: skip
        yield change(expression(f"range(1, {text(node.args[0])})"), "the loop begins one round too early", 0)
    if is_call(node, "reversed"):
        yield change(node.args[0], "the loop runs backwards, but it must go from the first to the last", 0)


def axis_says(function: str, had: str | None, axis: str, keep: bool, kept: bool) -> str:
    what = {"max": "maximum", "min": "minimum"}.get(function, function)
    if axis == (had or "None"):
        return "keepdims=True is missing, so the shapes do not match" if keep else "keepdims does not belong here"
    if had is None:
        return f"the {what} is taken over everything, but it must be taken over axis {axis} only"
    if axis == "None":
        return f"the {what} is taken over axis {had} only, but it must be taken over everything"
    return f"the {what} is taken over axis {had}, which is the wrong axis"


def of_elements(node: ast.List | ast.Tuple) -> Iterator[Change]:
    """The elements in another order."""
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
        names = ", ".join(moved)
        says = f"{moved[0]} and {moved[1]} are exchanged" if len(moved) == 2 else f"{names} are in the wrong order"
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
            yield Change([(where, other)], node, f"{text(node)} is used where the other part belongs", 1, "part")
