"""A hypothesis: a formula's tree with some nodes replaced, and a description in words."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import numpy as np

from minirnn.learn.hypotheses.program import Path, Program, Step, code_of
from minirnn.learn.sandbox.patterns import unparsed


@dataclass(frozen=True, eq=False)
class Edit:
    """Replaces the node at `path` of statement `number` by `new`, or removes the statement if `new` is None."""

    number: int
    path: Path
    new: ast.AST | None

    @cached_property
    def placed(self) -> ast.AST | None:
        """The new node in the form that Python compiles, with a source position wherever it has none."""
        return None if self.new is None else placed(self.new)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Something that a student may have done instead of the formula.

    Attributes
    ----------
    edits : tuple of Edit
        What changes in the formula.
    says : str
        What is wrong, in words, about the line of `target`.
    rank : int
        How far-fetched it is. Of those that give the same numbers, the one with the lowest rank is shown.
    shown : path or None
        The place to mark; None for that of the first edit.
    kind : str
        The name of the mistake without its place, if people tend to repeat it on every line; otherwise empty.
    """

    edits: tuple[Edit, ...]
    target: str
    says: str
    rank: int = 0
    shown: Path | None = None
    kind: str = ""

    @property
    def number(self) -> int:
        return self.edits[0].number

    @property
    def path(self) -> Path:
        return self.edits[0].path if self.shown is None else self.shown

    def sentence(self) -> str:
        return f"{self.target}: {self.says}" if self.target else self.says


@dataclass(frozen=True)
class Site:
    """A statement whose expression can be wrong, with the variables as they are when it is first reached."""

    program: Program
    step: Step
    value: ast.expr
    path: Path
    env: dict[str, Any] = field(repr=False)
    known: dict[str, Any] = field(default_factory=dict, repr=False)

    def target(self, path: Path = ()) -> str:
        """The name that the statement assigns; for a return, the output at `path`."""
        if isinstance(self.step.tree, ast.For | ast.If):
            return ""
        if not isinstance(self.step.tree, ast.Return):
            return self.step.target
        outputs = self.program.outputs
        if len(outputs) == 1:
            return outputs[0]
        inside = path[len(self.path) :]
        return outputs[inside[0][1]] if inside and inside[0][0] == "elts" else ""

    def change(self, path: Path, new: ast.AST, says: str, rank: int = 0, kind: str = "") -> Hypothesis:
        """This statement with one node replaced."""
        return self.changes({path: new}, says, rank, kind)

    def changes(self, places: Mapping[Path, ast.AST], says: str, rank: int = 0, kind: str = "") -> Hypothesis:
        """This statement with several nodes replaced."""
        edits = tuple(Edit(self.step.number, path, new) for path, new in places.items())
        return Hypothesis(edits, self.target(edits[0].path), says, rank, kind=kind)

    def evaluate(self, code: str) -> Any:
        """The array or number that an expression evaluates to at this place, or None if it is neither."""
        if code not in self.known:
            try:
                with np.errstate(all="ignore"):
                    value = eval(code, self.env)
            except Exception:  # a name that is not defined yet, or an index out of range: no value
                value = None
            self.known[code] = value if isinstance(value, np.ndarray | np.generic | int | float) else None
        return self.known[code]


def sites(program: Program, inputs: Mapping[str, Any]) -> list[Site]:
    """All statements with an expression, in order."""
    environments = program.environments(inputs)
    return [
        Site(program, step, *step.value, environments[number])
        for number, step in program.every.items()
        if step.value is not None and number in environments
    ]


def alike(hypotheses: Sequence[Hypothesis], program: Program) -> Iterator[Hypothesis]:
    """The same mistake at every place that allows it: in the whole function, in one block of lines, and in one line."""
    Place = tuple[int, Path]
    kinds: dict[tuple[str, int], dict[Place, Hypothesis]] = {}
    for hypothesis in hypotheses:
        if hypothesis.kind and hypothesis.kind[0] != "?":
            for block in (-1, program.blocks[hypothesis.number], -2 - hypothesis.number):
                kinds.setdefault((hypothesis.kind, block), {})[hypothesis.number, hypothesis.path] = hypothesis
    seen: set[tuple[str, tuple[Place, ...]]] = set()
    for (kind, _), lines in kinds.items():
        if len(lines) > 1 and (kind, tuple(lines)) not in seen:
            seen.add((kind, tuple(lines)))
            where = ", ".join(dict.fromkeys(h.target for h in lines.values() if h.target))
            yield Hypothesis(
                tuple(e for h in lines.values() for e in h.edits), "", f"{where}: {kind}" if where else kind, 1
            )


# ---- trees


@lru_cache(maxsize=20_000)
def expression(code: str) -> ast.expr:
    """The tree of an expression. It is shared, so it must not be changed."""
    return ast.parse(code, mode="eval").body


def nodes(node: ast.AST, path: Path = ()) -> Iterator[tuple[ast.AST, Path]]:
    """A node and all nodes below it, with their paths."""
    yield node, path
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from nodes(value, (*path, (name, -1)))
        elif isinstance(value, list):
            for k, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from nodes(item, (*path, (name, k)))


def put(tree: ast.AST, path: Path, new: ast.AST) -> ast.AST:
    """`tree` with the node at `path` replaced. Only the nodes along the path are copied."""
    if not path:
        return new
    (name, k), rest = path[0], path[1:]
    fresh = copy.copy(tree)
    child = getattr(tree, name)
    if k < 0:
        setattr(fresh, name, put(child, rest, new))
    else:
        setattr(fresh, name, [*child[:k], put(child[k], rest, new), *child[k + 1 :]])
    return fresh


def compiled(program: Program, hypotheses: tuple[Hypothesis, ...]) -> dict[int, CodeType | None] | None:
    """The code of the statements that several hypotheses change together, or None if two of them change the
    same place.
    """
    trees: dict[int, ast.stmt] = {}
    changed: dict[int, CodeType | None] = {}
    places: list[tuple[int, Path]] = []
    for hypothesis in hypotheses:
        mine = [(edit.number, edit.path) for edit in hypothesis.edits]
        if any(n == m and (p[: len(q)] == q or q[: len(p)] == p) for n, p in places for m, q in mine):
            return None
        places += mine
        for edit in hypothesis.edits:
            if edit.placed is None:
                changed[edit.number] = None
            else:
                tree = trees.get(edit.number, program.every[edit.number].tree)
                fresh = put(tree, edit.path, edit.placed)
                assert isinstance(fresh, ast.stmt)
                trees[edit.number] = fresh
    for number, tree in trees.items():
        if number not in changed:
            changed[number] = code_of(tree)
    return changed


def placed(tree: ast.AST) -> ast.AST:
    """`tree` with a source position for every node that lacks one, because Python requires it."""
    for node in ast.walk(tree):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    return tree


def marked(tree: ast.stmt, path: Path) -> tuple[str, int, int]:
    """The text of a statement (for a loop, its first line), with the position and width of the node at `path`."""
    text = unparsed(tree).splitlines()[0]
    try:
        other = unparsed(ast.fix_missing_locations(put(tree, path, ast.Name("\x01", ast.Load()))))
    except Exception:  # a place where no name is allowed
        return text, 0, len(text)
    before, found, after = other.splitlines()[0].partition("\x01")
    if not found:
        return text, 0, len(text)
    return text, len(before), len(text) - len(before) - len(after)
