"""Runs a student's file with small changes, in the student's own process. The judge compares the results.

The judge asks for the list of changes, then for what the answer returns with some of them. Loops count their
iterations, so an endless loop stops at the same iteration on every machine.
"""

from __future__ import annotations

import ast
import copy
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy import errstate

from .own_change import TICK, Change, Kinds, put
from .own_tree import changes

ROUNDS, UNBOUND = 20_000, 40
"""All loops of a run together may make `ROUNDS` iterations. An iteration of a ``while`` counts as `UNBOUND`, because in
an endless one the answer may call a function of the judge each time, and the judge ends an answer that calls too often.
"""
MOST_NOTED, LARGEST, TOGETHER = 400, 5000, 40_000
"""The largest number of values that are recorded per run, of numbers per value, and of numbers in all: a search looks
at the values of many runs.
"""
NOTE = "_minirnn_note"


class TooLong(BaseException):
    """Raised by a loop that does not end."""


class Trials:
    """A file and the changes to it."""

    def __init__(self, source: str, path: str, function: str) -> None:
        self.path, self.function = path, function
        self.tree = ast.fix_missing_locations(Counting().visit(ast.parse(source)))
        self.kinds: dict[str, Kinds] = {}
        self.changes: list[Change] = []

    def listed(self, far: Sequence[int]) -> list[list[Any]]:
        """Each change: line, columns from and to (0 for whole lines), words, rank and group.

        Changes for the lines `far` come after all others.
        """
        first = len(self.changes)
        self.changes += changes(self.tree, self.function, far, self.kinds) if far or not first else []
        return [
            [getattr(c.node, "lineno", 0), getattr(c.node, "col_offset", 0), self.end(c), c.says, c.rank, c.group]
            for c in self.changes[first if far else 0 :]
        ]

    def look(self, call: Callable[[Callable[..., Any]], Any]) -> None:
        """Run the unchanged file, and record the kinds of its functions' variables when they return."""

        def see(frame: Any, event: str, value: Any) -> None:
            if event == "return" and frame.f_code.co_filename == self.path:
                kinds = self.kinds.setdefault(frame.f_code.co_name, {})
                kinds.update({name: kind_of(value) for name, value in frame.f_locals.items()})

        sys.setprofile(see)
        try:
            self.run((), call)
        finally:
            sys.setprofile(None)

    @staticmethod
    def end(change: Change) -> int:
        node = change.node
        one_line = getattr(node, "lineno", 0) == getattr(node, "end_lineno", 0)
        return int(getattr(node, "end_col_offset", 0)) if one_line else 0

    def run(self, chosen: Sequence[int], call: Callable[[Callable[..., Any]], Any], note: Any = None) -> Any:
        """The results of the answer with the chosen changes; None if it fails."""
        undo: list[Any] = []
        rounds = 0

        def tick(over: Iterable[Any] | None = None) -> Any:
            return count(True, UNBOUND) if over is None else map(count, over)

        def count(one: Any, more: int = 1) -> Any:
            nonlocal rounds
            rounds += more
            if rounds > ROUNDS:
                raise TooLong
            return one

        printed = sys.stdout, sys.stderr
        try:
            for number in chosen:
                undo = [*put(self.changes[number].puts), *undo]
                for _, new in self.changes[number].puts:
                    fixed(new)
            tree = self.tree if note is None else Noting().visit(copy.deepcopy(self.tree))
            namespace: dict[str, Any] = {"__name__": "exercise", "__file__": self.path, TICK: tick, NOTE: note}
            sys.stdout = sys.stderr = io.StringIO()
            with errstate(all="ignore"), catch_warnings():
                simplefilter("ignore")
                whole = tree if note is None else ast.fix_missing_locations(tree)
                exec(compile(whole, self.path, "exec", dont_inherit=True), namespace)
                return call(namespace[self.function])
        except (Exception, TooLong, SystemExit):  # most changes make no sense and fail
            return None
        finally:
            sys.stdout, sys.stderr = printed
            for place in undo:
                put([place])


def kind_of(value: Any) -> tuple[str, tuple[int, ...]] | None:
    """The shape of a value, and whether it holds integers or floats; None if it is something else."""
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.ndarray | np.generic):
        return None
    array = np.asarray(value)
    return ("i" if array.dtype.kind in "iub" else "f", array.shape)


def fixed(new: Any) -> None:
    """Give new nodes a position in the source, which Python requires."""
    for node in new if isinstance(new, list) else [new]:
        if isinstance(node, ast.AST):
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = 1, 0, 1, 0  # type: ignore
            ast.fix_missing_locations(node)


class Counting(ast.NodeTransformer):
    """Makes loops count their iterations."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.copy_location(ast.Call(ast.Name(TICK, ast.Load()), [node.iter], []), node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        count = ast.Call(ast.Name(TICK, ast.Load()), [], [])
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [count, node.test]), node.test)
        return node


class Noting(ast.NodeTransformer):
    """Makes assignments report their values."""

    def noted(self, node: Any) -> ast.AST:
        value = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(node.lineno), node.value], [])
        node.value = ast.copy_location(value, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self.noted(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self.noted(node)


class Notes:
    """The values that a run assigns: their lines and arrays."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.values: list[np.ndarray] = []
        self.left = TOGETHER

    def __call__(self, line: int, value: Any) -> Any:
        for one in value if type(value) in (list, tuple) else (value,):
            array = type(one) is np.ndarray and one.dtype.kind == "f" and 1 < one.size <= LARGEST
            self.left -= one.size if array else 0
            if array and len(self.lines) < MOST_NOTED and self.left >= 0:
                self.lines.append(line)
                self.values.append(one.copy())
        return value
