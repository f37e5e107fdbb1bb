"""The table of rewrites, read from wrong to right in a student's file. One that makes the answer right is the mistake.

Each change is described in the student's own names. Nothing is run here; `trials` does that.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from .own_change import TICK, Change, Kinds, Place, Scope, expression, is_call
from .own_statements import of_statement, of_stored
from .patterns import is_range
from .patterns import unparsed as text
from .readings import readings
from .rewrites import OWN

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
        if isinstance(node, ast.stmt) and not far:
            yield from of_statement(node, above, scope)
        elif (
            isinstance(node, ast.expr)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and not (id(node) in called or is_call(node, TICK) or (far and node.lineno not in far))
        ):
            yield from of_expression(node, above, scope, bool(far))
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and not far:
            yield from of_stored(node, above)


def of_expression(node: ast.expr, above: dict[int, Place], scope: Scope, far: bool) -> Iterator[Change]:
    place = above[id(node)]
    for one in readings(node, where_is(node, above), OWN, scope, range(3, 4) if far else range(3)):
        yield Change([(place, one.new)], one.mark, one.says, one.rank, one.kind)
    upper = place[0]
    if isinstance(upper, ast.Assign) and isinstance(node, ast.Name | ast.Subscript | ast.Attribute) and not far:
        says = (
            f"{text(upper.targets[0])} is the same array as {text(node)}, not a copy, so a change to one changes both"
        )
        yield Change([(place, expression(f"({text(node)}).copy()"))], node, says)
    if where_is(node, above) == "whole" and not far and not isinstance(node, ast.Constant):
        for k, axis in enumerate(("0", "1, keepdims=True", "(0, 1)")):
            says = f"the sum over axis {axis.partition(',')[0] if k < 2 else axis} is missing"
            yield Change([(place, expression(f"({text(node)}).sum({axis})"))], node, says, 1 + (k > 0))


def where_is(node: ast.expr, above: dict[int, Place]) -> str:
    """The kind of place: an index, what a loop goes through, all that is assigned or returned, or any other value."""
    upper, field, _ = above[id(node)]
    over = above.get(id(upper), (None, "", -1))
    inside = field == "slice" and isinstance(upper, ast.Subscript) or isinstance(upper, ast.Slice)
    inside = inside or isinstance(upper, ast.Tuple) and over[1] == "slice"
    if inside or isinstance(upper, ast.Compare) or is_range(upper):
        return "index"
    if isinstance(upper, ast.Call) and text(upper.func) in ("min", "max") and over[0] is not None:
        return where_is(upper, above)
    if is_call(upper, TICK) or isinstance(upper, ast.For | ast.comprehension):
        return "loop"
    listed = isinstance(upper, ast.Tuple | ast.List) and isinstance(over[0], ast.Return | ast.Assign)
    return "whole" if listed or isinstance(upper, ast.Assign | ast.AugAssign | ast.Return) else "value"
