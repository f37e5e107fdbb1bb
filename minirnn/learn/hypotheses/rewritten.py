"""The table of rewrites, read from right to wrong: every expression of a formula, written in every wrong way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression, nodes
from minirnn.learn.hypotheses.program import Path
from minirnn.learn.sandbox.patterns import MODULES, is_range
from minirnn.learn.sandbox.patterns import text as text_of
from minirnn.learn.sandbox.readings import readings, rewritten
from minirnn.learn.sandbox.rewrites import FORWARD


class Around:
    """The values at a statement of the formula."""

    def __init__(self, site: Site) -> None:
        self.site = site

    @cached_property
    def pool(self) -> dict[str, Any]:
        own = "" if self.site.step.loops or isinstance(self.site.step.tree, ast.Return) else self.site.step.target
        return {name: value for name, value in pool(self.site).items() if name != own}  # not defined yet

    def alike(self, node: ast.expr) -> list[str]:
        return like(self.site, node, self.pool)

    def terms(self) -> list[str]:
        return []


def of_rewrites(site: Site, ranks: range = range(4)) -> Iterator[Hypothesis]:
    """Every row of the table, at every place of a statement that it fits."""
    around = Around(site)
    for node, path, where in expressions(site):
        shape = np.shape(site.evaluate(text_of(node)))
        for one in readings(node, where, FORWARD, around, ranks):
            kind = one.kind if " " in one.kind or one.kind.startswith("?") else ""
            place, new = neutral(node, one.new, path) or (path, as_large(site, one.new, node, shape))
            says = one.says if is_gate(site, node) else one.says.partition(": the gate and 1 minus it")[0]
            edit = site.change(place, new, says, one.rank, kind)
            mark = next((way for n, way in nodes(node, path) if n is one.mark), path)
            yield Hypothesis(edit.edits, edit.target, edit.says, edit.rank, mark, edit.kind)


def is_gate(site: Site, node: ast.expr) -> bool:
    """Whether a node is a value between 0 and 1, or 1 minus one."""
    inner = node.right if isinstance(node, ast.BinOp) and text_of(node.left) == "1" else node
    value = site.evaluate(text_of(node)) if isinstance(inner, ast.Name | ast.Subscript) else None
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(((value > 0) & (value < 1)).all())


def of_statements(site: Site) -> Iterator[Hypothesis]:
    """Every row about statements. A value that is assigned anew counts only if a loop carries it."""
    tree, name = site.step.tree, site.step.target
    carried = bool(site.step.loops) and name in site.env and isinstance(getattr(tree, "targets", [0])[0], ast.Name)
    if not isinstance(tree, ast.Assign) or carried:
        for one in rewritten(tree, FORWARD):
            new = None if isinstance(one.new, ast.Pass) else one.new
            if isinstance(tree, ast.Assign) and isinstance(
                new, ast.AugAssign
            ):  # in place, it would change other values
                new = ast.Assign(tree.targets, ast.BinOp(expression(name), new.op, new.value))
            kind = one.kind if " " in one.kind else ""
            yield Hypothesis((Edit(site.step.number, (), new),), name, one.says, one.rank, (), kind)


def neutral(old: ast.expr, new: ast.expr, path: Path) -> tuple[Path, ast.expr] | None:
    """An omitted operand as a change of that operand only, so that shapes stay and two of them can be combined."""
    if (
        not isinstance(old, ast.BinOp)
        or new is not old.left
        and (new is not old.right or isinstance(old.op, ast.Sub | ast.Div))
    ):
        return None
    lost, side = (old.right, "right") if new is old.left else (old.left, "left")
    if isinstance(old.op, ast.Add | ast.Sub):
        return (*path, (side, -1)), ast.BinOp(ast.Constant(0.0), ast.Mult(), lost)
    if isinstance(old.op, ast.Mult | ast.Div):
        return (*path, (side, -1)), ast.BinOp(lost, ast.Pow(), ast.Constant(0))
    return None


def as_large(site: Site, new: ast.expr, old: ast.expr, shape: tuple[int, ...]) -> ast.expr:
    """A wrong expression in the shape of the right one, if it is only smaller."""
    mine = site.evaluate(text_of(new)) if shape else None
    if mine is None or np.shape(mine) == shape or len(np.shape(mine)) > len(shape):
        return new
    return ast.BinOp(new, ast.Add(), ast.BinOp(ast.Constant(0.0), ast.Mult(), old))


def expressions(site: Site) -> Iterator[tuple[ast.expr, Path, str]]:
    """The numbers and arrays in a statement, with the kind of place: as `rewrites` calls it."""
    tree = site.step.tree

    def walk(node: ast.AST, path: Path, where: str) -> Iterator[tuple[ast.expr, Path, str]]:
        if isinstance(node, ast.Lambda | ast.comprehension) or text_of(node) in MODULES:
            return
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            known = where != "value" or isinstance(node, ast.IfExp | ast.Compare | ast.List | ast.Tuple)
            if known or site.evaluate(text_of(node)) is not None:
                yield node, path, where
        inside = "value"
        if isinstance(node, ast.Subscript | ast.Compare) or is_range(node) or where == "index":
            inside = "index"
        listed = isinstance(node, ast.Tuple | ast.List) and where == "whole"
        for name, value in ast.iter_fields(node):
            for k, child in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                if isinstance(child, ast.AST) and not (name == "func" and isinstance(child, ast.Name)):
                    place = "value" if name == "value" else "whole" if listed else inside
                    yield from walk(child, (*path, (name, k)), place)

    yield from walk(
        site.value, site.path, "loop" if isinstance(tree, ast.For) else "index" if isinstance(tree, ast.If) else "whole"
    )


# ---- the values that an expression can use when a statement is reached, and those that are alike


def pool(site: Site) -> dict[str, Any]:
    """The values that an expression can use at this place: variables, and their elements at the current step."""
    found: dict[str, Any] = {}
    known = {*site.program.parameters} | {name for s in site.program.every.values() for name in s.target.split(", ")}
    for name in sorted(known & set(site.env), key=list(site.env).index):
        value = site.env[name]
        is_number = isinstance(value, np.ndarray | float | int | np.number) and not isinstance(value, bool)
        if is_number and not np.isnan(value).any():  # the outputs of a CUDA kernel are still empty
            found[name] = value
    if not site.step.loops:  # before and after a loop over the steps of an array, its ends are available
        for name, value in list(found.items()):
            if np.ndim(value) == 3:
                found |= {f"{name}[0]": value[0], f"{name}[-1]": value[-1]}
    for t in site.step.loops:
        if isinstance(site.env.get(t), int):
            for name, value in list(found.items()):
                if np.ndim(value) > 1 and len(value) > site.env[t]:
                    found[f"{name}[{t}]"] = value[site.env[t]]
    return found


def kind_of(value: Any) -> Any:
    """The shape of a number or array, and whether it is an integer; None if it is neither."""
    return (np.shape(value), np.asarray(value).dtype.kind in "iub") if value is not None else None


def like(site: Site, node: ast.expr, among: Mapping[str, Any]) -> list[str]:
    """The names of values that have the shape of `node` (or differ only in the batch axis) and a different value."""
    text = text_of(node)
    kind = kind_of(site.evaluate(text))
    if kind is None:
        return []
    shape, counts = kind
    whole = np.shape(site.evaluate(text_of(site.value)))
    found = []
    for name, value in among.items():
        other, also = kind_of(value)
        fits = other == shape or (shape and other == whole and whole[-len(shape) :] == shape)
        if counts == also and name != text and (fits or (other and shape[-len(other) :] == other)):
            found.append(name)
    return found
