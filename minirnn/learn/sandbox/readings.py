"""Reads the table of rewrites: all forms of an expression or a statement, in one of the two directions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, Protocol

from .patterns import filled, head, letters, matches, pattern, text
from .reworded import others
from .rewrites import FORWARD, OWN, STATEMENTS, TABLE, Rewrite


class Scope(Protocol):
    """What a reader knows about the place: the values like another one, and the terms that there are."""

    def alike(self, node: ast.expr) -> list[str]: ...

    def terms(self) -> list[str]: ...


class Reading(NamedTuple):
    """A node in another form: the new node, the part to mark, a sentence, the rank and the kind."""

    new: Any
    mark: ast.AST
    says: str
    rank: int
    kind: str


@cache
def by_head(direction: int) -> dict[str, list[tuple[Rewrite, ast.expr, str, frozenset[str]]]]:
    """The rows that are read in a direction, by the kind of node that they apply to; "" for any node."""
    found: dict[str, list[Any]] = {}
    for row in TABLE:
        if row.ranks[direction] != "-":
            code, other = (row.right, row.wrong) if direction == FORWARD else (row.wrong, row.right)
            first = pattern(code)
            free = letters(other) - letters(code)
            kind = "" if isinstance(first, ast.Name) else head(first)
            found.setdefault(kind, []).append((row, first, other, free))
            if kind == "Pow":  # a square is also written as a product
                found.setdefault("Mult", []).append((row, first, other, free))
    return found


def readings(node: ast.expr, where: str, direction: int, scope: Scope, ranks: range) -> Iterator[Reading]:
    """All forms of a node of some ranks. `where` is its place: "index", "loop", "whole" or "value"."""
    rows = by_head(direction)
    plain = isinstance(node, ast.Name | ast.Subscript | ast.Call | ast.BinOp | ast.Attribute | ast.UnaryOp)
    for row, first, other, free in itertools.chain(rows.get(head(node), ()), rows.get("", ()) if plain else ()):
        rank = int(row.ranks[direction])
        if rank not in ranks or not placed_right(row.where, where):
            continue
        for found in matches(first, node, {}):
            turned = (
                direction == OWN and row.wrong == "B - A" and isinstance(found["B"], ast.Constant)
            )  # a gate's 1 - u
            mark = next((v for k, v in found.items() if "{" + k + "}" in row.says.partition(":")[0]), node)
            mark = mark if len(found) > 1 and isinstance(node, ast.BinOp) else node
            for full in completed(found, free, scope):
                words = {k: text(v) for k, v in full.items()}
                said = row.says
                for letter, value in full.items():
                    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
                        for form in ("factor {%s}", "1 - {%s}"):
                            said = said.replace(form % letter, form.replace("{%s}", "({%s})") % letter)
                said = said.format(**words) + (wrong_step(words["X"], words["N"]) if row.wrong == "X" else "")
                kind = row.kind.format(**{**words, "A": "y"})
                yield Reading(filled(pattern(other), full), mark, said, rank + turned, kind)
    for new, says, rank, kind in others(node, where, direction) if where != "loop" else ():
        if rank in ranks:
            yield Reading(new, node, says, rank, kind)


def wrong_step(taken: str, right: str) -> str:
    """Says that a value is the right array or quantity at another step; empty if it is not."""
    a, b = taken.partition("[")[0], right.partition("[")[0]
    if a != b.removesuffix("_prev") and a.removesuffix("_prev") != b:
        return ""
    before = " (this one, not the one before)" if "_prev" in right or "- 1" in right else ""
    return f": it is taken from the wrong step{before}"


def rewritten(node: ast.stmt, direction: int) -> Iterator[Reading]:
    """All forms of a statement."""
    inside = node.value if isinstance(node, ast.Expr) else node
    for row in STATEMENTS:
        code, other = (row.right, row.wrong) if direction == FORWARD else (row.wrong, row.right)
        if row.ranks[direction] != "-":
            for found in itertools.islice(matches(pattern(code), inside, {}), 1):
                new = filled(pattern(other), found)
                said = row.says.format(**{k: text(v) for k, v in found.items()})
                made = ast.Expr(new) if isinstance(new, ast.expr) else new
                yield Reading(ast.copy_location(made, node), node, said, int(row.ranks[direction]), row.kind)


def placed_right(rule: str, where: str) -> bool:
    if rule == "any":
        return True
    if rule == "value":
        return where in ("value", "whole")
    return rule == where


def completed(found: dict[str, ast.expr], free: frozenset[str], scope: Scope) -> Iterator[dict[str, ast.expr]]:
    """The parts of a pattern, with those that only the other side names."""
    if not free:
        yield found
    elif free == {"F"} or len(free) > 1:
        return
    else:
        (letter,) = free
        like = found.get("N") or found.get("X") or found.get("A")
        names = scope.alike(like) if letter in "XN" and like is not None else scope.terms()
        for name in names:
            yield {**found, letter: pattern(name)}
