"""Changes to whole statements of a student's file: assignments, the body of a loop, and where values are stored."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from .own_change import Change, Place, Scope, expression
from .patterns import unparsed as text
from .readings import rewritten
from .rewrites import OWN

PAIRS = "':' combines every row with every index, but each row must be combined with its own index only"


def of_stored(node: ast.Subscript, above: dict[int, Place]) -> Iterator[Change]:
    """The target of an assignment."""
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


def of_statement(node: ast.stmt, above: dict[int, Place], scope: Scope) -> Iterator[Change]:
    place = above[id(node)]
    upper, where, k = place
    for one in rewritten(node, OWN):
        yield Change([(place, one.new)], node, one.says, one.rank, one.kind)
    if isinstance(node, ast.Return | ast.FunctionDef) or k < 0:
        return
    first = text(node).splitlines()[0]
    if not isinstance(node, ast.For | ast.While | ast.With):
        yield Change([(place, ast.copy_location(ast.Pass(), node))], node, f"`{first}` does not belong here", 0)
    rows = getattr(upper, where)
    if k + 1 < len(rows) and not isinstance(rows[k + 1], ast.Return):
        swapped = [*rows[:k], rows[k + 1], node, *rows[k + 2 :]]
        says = "this comes too early, because it must follow the next line"
        yield Change([((upper, where, -1), swapped)], node, says, 1)
    if isinstance(node, ast.For):
        for start in range(max(0, k - 3), k):
            head = rows[start:k]
            if all(isinstance(s, ast.Assign) for s in head):
                inner = copy.copy(node)
                inner.body = [*head, *node.body]
                names = ", ".join(text(s.targets[0]) for s in head)
                says = (
                    f"{names} is set once before the loop, so each round goes on with what the round before has changed"
                )
                yield Change([((upper, where, -1), [*rows[:start], inner, *rows[k + 1 :]])], head[0], says, 1)
        if isinstance(node.body[-1], ast.stmt) and len(node.body) > 1:
            last = node.body[-1]
            outer = copy.copy(node)
            outer.body = node.body[:-1]
            says = "this is inside the loop, but it must be done once, after it"
            yield Change([((upper, where, -1), [*rows[:k], outer, last, *rows[k + 1 :]])], last, says, 2)
    if isinstance(node, ast.If) and not node.orelse:
        yield Change([((upper, where, -1), [*rows[:k], *node.body, *rows[k + 1 :]])], node,
                     "this is done only under a condition, but it must be done in every case", 1)  # fmt: skip
