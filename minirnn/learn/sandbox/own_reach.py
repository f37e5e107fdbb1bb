"""The returned values that each line of a student's function may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .own_change import TICK

INTO = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}
"""NumPy functions that write into their arguments."""
PURE = {"sum", "mean", "max", "min", "dot", "copy", "astype"}
"""Methods of arrays that neither change them nor return a part of them."""
SHARING = ast.Name | ast.Subscript | ast.Attribute | ast.IfExp
"""Values that are, or are parts of, the variables in them."""


def may_change(call: ast.Call) -> bool:
    """Whether a call may change its object or its arguments. Few of NumPy's functions do."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    plain = isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy", "math")
    if not plain:
        return function.attr not in PURE
    return function.attr in INTO or any(keyword.arg in ("out", None) for keyword in call.keywords)


def flows(node: ast.AST, written: set[str]) -> Iterator[tuple[set[str], set[str]]]:
    """The names that a statement or call may change, and those that they depend on."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.For):
        value = node.iter if isinstance(node, ast.For) else node.value
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            index = {n for s in ast.walk(target) if isinstance(s, ast.Subscript) for n in names_in(s.slice)}
            names = names_in(target) - index
            bound = isinstance(target, ast.Name) and isinstance(node, ast.Assign) and isinstance(value, SHARING)
            one_array = names & written and (bound or isinstance(node, ast.For))
            shared = names | names_in(value) if one_array else set()
            yield names | shared, names_in(value) | index | shared
    if isinstance(node, ast.For | ast.If | ast.While):  # the statements in it say what they depend on
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        yield stored, names_in(node.iter if isinstance(node, ast.For) else node.test)
    if isinstance(node, ast.Call) and may_change(node):
        yield names_in(node), names_in(node)


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id != TICK}


def reached(tree: ast.Module, function: str) -> dict[int, list[int]]:
    """For each line of the requested function, the returned values that may change with it.

    The result is empty if the function does not return a tuple, or returns in several places.
    """
    own = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function]
    returns = [n for n in ast.walk(own[-1]) if isinstance(n, ast.Return)] if own else []
    if len(returns) != 1 or not isinstance(returns[0].value, ast.Tuple):
        return {}
    graph: dict[str, set[str]] = {}
    made: dict[int, set[str]] = {}
    written: set[str] = set()
    for node in ast.walk(own[-1]):
        if isinstance(node, ast.Subscript | ast.AugAssign) and not isinstance(getattr(node, "ctx", None), ast.Load):
            written |= names_in(node.value if isinstance(node, ast.Subscript) else node.target)
    for node in ast.walk(own[-1]):
        for names, used in flows(node, written):
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
    last = range(returns[0].lineno, (returns[0].end_lineno or returns[0].lineno) + 1)
    return found | {line: list(range(len(returns[0].value.elts))) for line in last}
