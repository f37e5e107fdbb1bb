"""The imports between modules, and cycles among them, from the text of a package, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def modules(root: Path, suffix: str = ".py") -> dict[str, Path]:
    """Maps a name to the file of each module of the package in `root`, or of each stub with the suffix ".pyi"."""
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
    """All import statements of a file, with relative ones resolved, including those in functions and for type
    checkers.
    """
    return imports_of(module, path.name, path.read_text(encoding="utf-8"))


@cache
def imports_of(module: str, name: str, text: str) -> tuple[Import, ...]:
    """Cached, because several tests read the imports of the whole package."""
    return tuple(found(module, name, ast.parse(text), "import_module" in text))


def found(module: str, name: str, tree: ast.AST, calls: bool) -> Iterator[Import]:
    """The imports of a tree. Expressions are searched only if there may be `calls` of import_module."""
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
    """Maps a module to the modules that it imports at the top, in a function, or only for type checkers."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        pairs = [(one.source, f"{one.source}.{one.name}") for one in imports(module, path)]
        targets = {full if full in known else source for source, full in pairs}
        graph[module] = targets & known.keys() - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The largest groups of modules that all import each other, directly or indirectly."""
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
