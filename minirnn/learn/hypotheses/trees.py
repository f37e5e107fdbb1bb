"""Reads expressions: finds summands, factors and the values in them, each with its path."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from minirnn.learn.hypotheses.edits import expression, nodes
from minirnn.learn.hypotheses.program import Path
from minirnn.learn.sandbox.patterns import filled
from minirnn.learn.sandbox.patterns import text as text_of


class Part(NamedTuple):
    """A summand or factor: its tree, its path, and whether it is subtracted or divides."""

    node: ast.expr
    path: Path
    inverse: bool = False

    @property
    def text(self) -> str:
        return text_of(self.node)


SUM, PRODUCT = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


def is_operation(node: ast.AST, kinds: tuple[type, ...]) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, kinds)


def flat(node: ast.expr, path: Path, kinds: tuple[type, ...], inverse: bool = False) -> Iterator[Part]:
    """The operands of a chain of sums and differences, or of products and quotients."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        turned = inverse ^ isinstance(node.op, ast.Sub | ast.Div)
        yield from flat(node.left, (*path, ("left", -1)), kinds, inverse)
        yield from flat(node.right, (*path, ("right", -1)), kinds, turned)
    else:
        yield Part(node, path, inverse)


def summands(node: ast.expr, path: Path) -> list[Part]:
    return list(flat(node, path, SUM))


def factors(node: ast.expr, path: Path) -> list[Part]:
    return list(flat(node, path, PRODUCT))


def chains(value: ast.expr, path: Path, kinds: tuple[type, ...]) -> Iterator[tuple[ast.expr, Path]]:
    """The largest sums (or products) in an expression; the expression itself is always the first."""
    inside: set[Path] = set()
    yield value, path
    if is_operation(value, kinds):
        inside |= {part.path[:k] for part in flat(value, path, kinds) for k in range(len(path), len(part.path))}
    for node, way in nodes(value, path):
        if is_operation(node, kinds) and way not in inside and isinstance(node, ast.expr):
            inside |= {part.path[:k] for part in flat(node, way, kinds) for k in range(len(way), len(part.path))}
            yield node, way


def atoms(value: ast.expr, path: Path) -> Iterator[Part]:
    """The values in an expression: names, and elements such as ``h[t - 1]``, but no functions."""

    def walk(node: ast.AST, way: Path) -> Iterator[Part]:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                yield Part(node, way)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield Part(node, way)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
                yield from walk(node.func.value, (*way, ("func", -1), ("value", -1)))
            for k, argument in enumerate(node.args):
                yield from walk(argument, (*way, ("args", k)))
        elif not is_closed(node):
            for name, child in ast.iter_fields(node):
                if isinstance(child, ast.AST):
                    yield from walk(child, (*way, (name, -1)))
                elif isinstance(child, list):
                    for k, item in enumerate(child):
                        if isinstance(item, ast.AST):
                            yield from walk(item, (*way, (name, k)))

    yield from walk(value, path)


def is_closed(node: ast.AST) -> bool:
    """Whether a node cannot be used elsewhere: nodes that define names, and ``np.pi``."""
    own_names = isinstance(node, ast.ListComp | ast.GeneratorExp | ast.Lambda)
    return own_names or (isinstance(node, ast.Attribute) and is_module(node.value))


def is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "math")


def formed(code: str, **parts: ast.expr) -> ast.expr:
    """The tree of `code` with names replaced by expressions."""
    tree = filled(expression(code), parts)
    assert isinstance(tree, ast.expr)
    return tree
