"""Which module imports which, and the circles among them, from the text of a package alone: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def modules(root: Path, suffix: str = ".py") -> dict[str, Path]:
    """Name -> file of each module of the package in the folder `root`; with the suffix ".pyi", of each stub."""
    return {module_name(path, root): path for path in sorted(root.rglob(f"*{suffix}"))}


def module_name(path: Path, root: Path) -> str:
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass
class Import:
    line: int
    source: str
    name: str | None  # of `from source import name`
    runs_on_import: bool  # of the module: outside functions and `if TYPE_CHECKING:`


def imports(module: str, path: Path) -> tuple[Import, ...]:
    """All import statements of a file, relative ones resolved; also those in functions and for type checkers alone."""
    return imports_of(module, path.name, path.read_text(encoding="utf-8"))


@cache
def imports_of(module: str, name: str, text: str) -> tuple[Import, ...]:
    """Several tests ask for those of the whole package."""
    return tuple(found(module, name, ast.parse(text), "import_module" in text))


def found(module: str, name: str, tree: ast.AST, calls: bool) -> Iterator[Import]:
    """The imports of a tree; only where there may be `calls` of import_module, expressions are looked at, too."""
    package = module.split(".") if name == "__init__.py" else module.split(".")[:-1]
    left = [(tree, True)]
    while left:
        node, runs = left.pop()
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, None, runs) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (Import(node.lineno, source, alias.name, runs) for alias in node.names)
        elif isinstance(node, ast.Call) and _last_name(node.func) == "import_module":
            names = [a.value for a in node.args[:1] if isinstance(a, ast.Constant)]  # a variable is not followed
            yield from (Import(node.lineno, name, None, runs) for name in names)
        waits = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waits |= isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"
        fields = [getattr(node, field, ()) for field in ("body", "orelse", "handlers", "finalbody", "cases")]
        children = ast.iter_child_nodes(node) if calls else [child for field in fields for child in field]
        left += [(child, runs and not waits) for child in children]


def _last_name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def arrows(root: Path) -> dict[str, set[str]]:
    """Module -> modules that it imports, wherever the import is: at the top, in a function, for type checkers alone."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        pairs = [(one.source, f"{one.source}.{one.name}") for one in imports(module, path)]
        targets = {full if full in known else source for source, full in pairs}
        graph[module] = targets & known.keys() - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The largest groups of modules that all reach each other."""
    reached = {module: _reached_from(module, graph) for module in graph}
    groups = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }
    return sorted(sorted(group) for group in groups)


def _reached_from(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    left = list(graph[start])
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left.extend(graph[module])
    return seen
