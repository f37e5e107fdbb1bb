"""The names that each statement sets, in a formula, in Python and in CUDA or C++. They connect lines on an op's page.

This works because kernels repeat the formulas with the same names in the same order: two statements belong together
when they set the same name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from docs.columns.cuts import Cut, blanked
from minirnn.devices.cpu.sequence.calls import SCOPE


class Statement(NamedTuple):
    """A part of a text, and the names that it sets."""

    start: int
    end: int
    names: tuple[str, ...]


CALLS = {*SCOPE, "dot", "product"}
"""Functions that set their last argument, or `out`; copyto sets its first one."""

ONLY_MEMORY = re.compile(r"= (device\.empty|inputs$)|\+= \(i64\)|device\.empty\(\(.*\) for ")
"""Statements that make room for an array, or go to a place in it, and compute nothing."""

Aliases = Mapping[str, str]
"""Maps a name in a source, or a whole statement, to the names in the formulas, separated by spaces; "" leaves it
out.
"""


def of_formula(text: str) -> list[Statement]:
    """`dzi = dcs * ci` sets dzi, `[r | u] = ...` sets r and u; three spaces separate two formulas on a line."""
    found = []
    for piece in re.finditer(r"(?:^|(?<=[ ,] {2}))(?! )(?:(?! {3}|, {2}| {2,}#|\n).)+", text, re.M):
        if _commented(text, piece.end()) or re.fullmatch(r"for .*:", piece[0]):
            continue
        body = re.sub(r"^(if|with|for) [^:=]*:\s*", "", piece[0])
        left, equals, right = re.match(r"(.*?)(\s[+]?=\s|$)(.*)", body).groups()  # type: ignore[union-attr]
        if not equals:
            continue
        lefts = [left, *re.findall(r"^(\w+'?) = ", right)]  # da = da2 = ...
        names = [n.strip() for side in lefts for n in re.split(r"[|,]", side.strip("[] "))]
        start = piece.start() + len(piece[0]) - len(body)
        names = [re.sub(r"\[.*", "", n.replace("gradient of ", "d")) for n in names]
        found.append(Statement(start, piece.end(), tuple(names)))
    return found


def _commented(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return "#" in line


def of_python(text: str) -> list[Statement]:
    """The names that an assignment, a `return` or a call of NumPy with a place for its result sets."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(node: ast.stmt) -> tuple[int, int]:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        return starts[first] + node.col_offset, starts[last] + (node.end_col_offset or 0)

    found = []
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called, arguments = node.value.func, node.value.args
            targets = [word.value for word in node.value.keywords if word.arg == "out"]
            if not targets and arguments and ast.unparse(called) in CALLS:
                targets = [arguments[0 if ast.unparse(called) == "copyto" else -1]]
            if isinstance(called, ast.Attribute) and called.attr == "append":
                targets = [called.value]
        names = [n for target in targets for n in _names(target)]
        if isinstance(node, ast.Return) and node.value is not None:
            names = ["return"]
        if names:
            assert isinstance(node, ast.stmt)
            found.append(Statement(*place(node), tuple(names)))
    return sorted(found)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _names(part)
    elif isinstance(target, ast.Subscript | ast.Starred):
        yield from _names(target.value)
    elif isinstance(target, ast.Call) and target.args:  # flat(x_grad[:L])
        yield from _names(target.args[0])


def of_cuda(text: str) -> list[Statement]:
    """The names that each assignment sets: `const acc dzo = ...` dzo, `i_[k] = ...` i, `da[0] = ...` da[0]."""
    found = []
    code = blanked(text)
    for start, end in _pieces(code):
        piece = code[start:end]
        if re.match(r"\s*return\b", piece):
            start += len(piece) - len(piece.lstrip())
            found.append(Statement(start, end, ("return",)))
            continue
        if stored := re.match(r"\s*(?:if \([^;]*?\)\s+)?store\(\s*(?:\w+\.)?(\w+)", piece):  # store(where, what, ...)
            start += len(piece) - len(piece.lstrip())
            found.append(Statement(start, end, (stored[1],)))
            continue
        sides = re.match(r"(.*?[^=!<>+\-*/|&])([+\-*]?=)(?!=)", piece, re.S)
        left = re.search(r"([A-Za-z_]\w*)((?:\s*\[[^\]]*\])?)\s*$", sides[1]) if sides else None
        if sides is None or left is None or sides[1].count("(") > sides[1].count(")"):
            continue
        start += len(piece) - len(piece.lstrip())
        condition = re.match(r"(if \([^;]*?\)|[\w+]*\+\+\w*\))\s+(?=\w+(\[[^\]]*\])? [+]?=)", code[start:end])
        start += condition.end() if condition else 0
        found.append(Statement(start, end, (left[1].removesuffix("_") + re.sub(r"\s+", "", left[2]),)))
    return found


def _pieces(code: str) -> Iterator[tuple[int, int]]:
    """The parts between semicolons, braces, and commas outside brackets."""
    start = depth = 0
    for at, letter in enumerate(code):
        depth += (letter in "([") - (letter in ")]")
        if letter in ";{}" or (letter == "," and depth == 0):
            yield start, at
            start = at + 1


def of(cut: Cut, aliases: Aliases) -> list[Statement]:
    """The statements of a cut from a source, under the formula's names."""
    found = of_python(cut.text) if cut.language == "python" else of_cuda(cut.text)
    found = [s for s in found if not ONLY_MEMORY.search(cut.text[s.start : s.end])]
    translated = (Statement(s.start, s.end, _names_of(s, cut.text, aliases)) for s in found)
    return [s for s in translated if s.names]


def _names_of(statement: Statement, text: str, aliases: Aliases) -> tuple[str, ...]:
    whole = aliases.get(text[statement.start : statement.end])
    if whole is not None:
        return tuple(whole.split())
    everything: list[str] = []
    for name in statement.names:
        plain = re.sub(r"\[.*", "", name)
        known = aliases.get(name, aliases.get(plain, plain))
        everything += known.split()
    return tuple(dict.fromkeys(everything))
