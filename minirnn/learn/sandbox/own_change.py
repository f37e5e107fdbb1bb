"""A change to the tree of a student's file: its places, their new contents, and a description."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .patterns import unparsed as text

Place = tuple[ast.AST, str, int]
"""The parent node, its field, and the index in a list or -1."""
TICK = "_minirnn_tick"
"""The call that counts the iterations of a loop. It is in the tree, but not a part of the answer."""
Kinds = dict[str, "tuple[str, tuple[int, ...]] | None"]
"""The kind of numbers and the shape of each name's value; None if it is not a number."""


@dataclass
class Change:
    """Places and their new contents (`puts`), the node to mark, a description, and how far-fetched the change is.

    Changes of one `group` are the same mistake in several places.
    """

    puts: Sequence[tuple[Place, Any]]
    node: ast.AST
    says: str
    rank: int = 0
    group: str = ""


@dataclass
class Scope:
    """A function of the file: its names, those of steps, and their values when it returns."""

    names: list[str]
    steps: list[str] = field(default_factory=list)
    kinds: Kinds = field(default_factory=dict)

    def alike(self, node: ast.expr) -> list[str]:
        """The names whose values have the same shape as that of a name; all names if nothing is known."""
        if not isinstance(node, ast.Name):
            return []
        mine = self.kinds.get(node.id)
        return [n for n in self.names if n != node.id and (not self.kinds or self.kinds.get(n, mine) == mine)]

    def terms(self) -> list[str]:
        """The names of numbers and arrays, and their elements at a loop's current step."""
        numbers = [n for n in self.names if not self.kinds or self.kinds.get(n) is not None]
        return numbers + [f"{n}[{t}]" for n in numbers for t in self.steps
                          if len((self.kinds.get(n) or ("", ()))[1]) >= 2]  # fmt: skip


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def name(id: str) -> ast.Name:
    return ast.Name(id, ast.Load())


def put(places: Sequence[tuple[Place, Any]]) -> list[tuple[Place, Any]]:
    """Make a change and return the change that undoes it."""
    before = []
    for (above, where, k), new in places:
        value = getattr(above, where)
        before.append(((above, where, k), value if k < 0 else value[k]))
        if k < 0:
            setattr(above, where, new)
        else:
            value[k] = new
    return before[::-1]


def is_call(node: ast.AST, function: str) -> bool:
    return isinstance(node, ast.Call) and text(node.func) == function
