"""Cutting a function, a method or a block of formulas out of a source file, by its name, with its line number."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from minirnn.explain.sources import ROOT


class Cut(NamedTuple):
    """Lines of a source file, or lines that were made from it."""

    path: str
    """The path of the file, relative to the folder of the package."""
    line: int
    """The number of the first line in the file, from 1."""
    text: str
    written_in: str = ""
    """The language, if it is not that of the file."""

    @property
    def language(self) -> str:
        """The language of the lines: "python" or "cuda"."""
        return self.written_in or ("python" if self.path.endswith(".py") else "cuda")


def function(path: str, name: str) -> Cut:
    """The function of this name; `Class.method` for one inside a class or struct.

    If several C++ functions have this name, `name(Type)` is the one whose first parameter has that type.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    first, last = _python(text, name) if path.endswith(".py") else _braces(text, name)
    return Cut(path, first, textwrap.dedent("\n".join(text.splitlines()[first - 1 : last])))


def _python(text: str, name: str) -> tuple[int, int]:
    body: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        [node] = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part]
        body = node.body
    return node.lineno, node.end_lineno or node.lineno


def _braces(text: str, name: str) -> tuple[int, int]:
    """The lines of a definition in CUDA or C++, with the comment above it."""
    start, end = 0, len(text)
    for part in name.split("."):
        stem, _, arguments = part.rstrip(")").partition("(")
        begin = f"{stem}({arguments}" if arguments else ""
        found = next(
            (
                (at, last)
                for n, at, last in definitions(text)
                if n == stem and start <= at and last <= end and text.startswith(begin, at)
            ),
            None,
        )
        if found is None:
            raise LookupError(f"nothing called {name!r} is defined here")
        start, end = found
    lines = text.splitlines()
    first, last = text.count("\n", 0, start), text.count("\n", 0, end) + 1
    while first and re.match(r"\s*(//|template\b)", lines[first - 1]):
        first -= 1
    return first + 1, last


def definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first character and last character of each function and struct that CUDA or C++ defines."""
    code = blanked(text)
    for found in re.finditer(r"^[ \t]*(?:struct|class)\s+(\w+)[^;{]*\{", code, re.M):
        yield found[1], found.start(), closing(code, found.end() - 1)
    heading = r"^[ \t]*(?!(?:if|for|while|switch|return|else|do)\b)[\w:<>,&*\"\[\]\- \t\n]*?\b(\w+)\s*\("
    for found in re.finditer(heading, code, re.M):
        after = closing(code, found.end() - 1) + 1
        body = re.compile(r"\s*(?:const|noexcept|\s)*\{").match(code, after)
        if body and found[1] not in ("if", "for", "while", "switch"):
            yield found[1], found.end(1) - len(found[1]), closing(code, body.end() - 1)


def blanked(text: str) -> str:
    """The same text with spaces instead of comments and preprocessor lines."""
    hidden = r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*"
    return re.sub(hidden, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def closing(code: str, opening: int) -> int:
    """The position where the bracket that opens at `opening` closes."""
    pair = {"(": ")", "{": "}"}[code[opening]]
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == code[opening]) - (code[at] == pair)
        if depth == 0:
            return at
    return len(code) - 1


def formulas(path: str, block: int) -> Cut:
    """The formulas of a module's docstring: the literal block with this index."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    docstring = next(at for at, line in enumerate(lines) if '"""' in line and at > 0 or line.count('"""') == 2)
    first = [at for at in range(docstring) if lines[at].endswith("::")][block] + 2
    last = next(at for at in range(first, docstring + 1) if at == docstring or (lines[at] and lines[at][0] != " "))
    return Cut(path, first + 1, textwrap.dedent("\n".join(lines[first:last])).rstrip())
