"""The returned values that each line of a student's function may change."""

from __future__ import annotations

import ast

from .own_change import TICK

INTO = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}
"""NumPy functions that write into their arguments."""


def may_change(call: ast.Call) -> bool:
    """Whether a call may change its object or its arguments. Few of NumPy's functions do."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    plain = isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy", "math")
    return not plain or function.attr in INTO or any(keyword.arg in ("out", None) for keyword in call.keywords)


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
    for node in ast.walk(own[-1]):
        names: set[str] = set()
        if isinstance(node, ast.Assign | ast.AugAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id != TICK}
        if isinstance(node, ast.For | ast.If | ast.While):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if isinstance(node, ast.Call) and may_change(node):
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
    last = range(returns[0].lineno, (returns[0].end_lineno or returns[0].lineno) + 1)
    return found | {line: list(range(len(returns[0].value.elts))) for line in last}
