"""A mutant: the text of one file with one thing in one function changed.

It meets the tests that enter the statement of the change, which `mutation.laboratory` records.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

Change = tuple[ast.AST, ast.AST]
"""A node and its replacement."""


@dataclass(frozen=True)
class Mutant:
    """One change. `lines` are those of its statement, up to the change."""

    path: str
    function: str
    old: str
    new: str
    make: Callable[[], str | None]
    """Makes the text of the file; None if it is not valid Python."""
    lines: range
    number: int = 1
    """The index of this change among the places of the function where it can be made."""

    @property
    def change(self) -> str:
        return f"{self.function}: {self.old} -> {self.new}"

    @property
    def reason(self) -> str:
        """The key of its reason, which applies to all places of a function."""
        return f"{self.path} {self.change}"

    @property
    def key(self) -> str:
        return self.reason if self.number == 1 else f"{self.reason} ({self.number})"

    def rank(self, seed: int) -> str:
        """A random number for this mutant that is fixed as long as its function has this name and this piece."""
        return sha256(f"{seed} {self.key}".encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[-1]} {self.change}"


def changed(
    path: str,
    source: str,
    wanted: Callable[[str, ast.FunctionDef], bool],
    changes: Callable[[ast.FunctionDef], Iterator[Change]],
) -> Iterator[Mutant]:
    """The mutants that `changes` proposes for the requested functions of a module."""
    module = ast.parse(source)
    for name, function in functions(module, ""):
        if not wanted(name, function):
            continue
        # inner statements come later
        begin = {node: s.lineno for s in ast.walk(function) if isinstance(s, ast.stmt) for node in ast.walk(s)}
        seen: Counter[tuple[str, str]] = Counter()
        for old, new in changes(function):
            texts = source_of(old), source_of(new)
            seen[texts] += 1
            make = partial(spliced, source, old, new)
            yield Mutant(path, name, *texts, make, range(begin[old], old.lineno + 1), seen[texts])


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods below a node, and their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")


def spliced(source: str, old: ast.AST, new: ast.AST) -> str | None:
    """The source with `new` in place of `old`, with all other lines unchanged. None if it is not valid Python."""
    text = source.encode()
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def span(node: ast.AST) -> tuple[int, int]:
        first, last = starts[node.lineno - 1], starts[node.end_lineno - 1]  # type: ignore[attr-defined]
        return first + node.col_offset, last + node.end_col_offset  # type: ignore[attr-defined]

    if isinstance(old, ast.AugAssign) and isinstance(new, ast.AugAssign):
        begin, end = span(old.target)[1], span(old.value)[0]
        sign = ast.unparse(new)[len(ast.unparse(new.target)) :].split("=")[0].strip()
        between = text[begin:end]
        result = text[:begin] + f" {sign}".encode() + between[between.index(b"=") :] + text[end:]
    else:
        begin, end = span(old)
        value = "None" if isinstance(new, ast.Pass) else source_of(new)
        lines = b"\n" * text[begin:end].count(b"\n")
        result = text[:begin] + b"(" + value.encode() + lines + b")" + text[end:]
    try:
        compile(result, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return result.decode()


def source_of(node: ast.AST) -> str:
    """A node as one line."""
    if isinstance(node, ast.stmt):  # generated nodes have no line yet
        node = ast.fix_missing_locations(copy.deepcopy(node))
    return " ".join(ast.unparse(node).split())
