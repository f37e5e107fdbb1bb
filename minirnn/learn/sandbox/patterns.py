"""Matches the sides of a rewrite with expressions. Capital letters of a pattern stand for parts of an expression."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

PLAIN = ("range", "len", "reversed", "list", "tuple", "_minirnn_tick", *(f"np.{f}" for f in (
    "zeros", "zeros_like", "ones", "ones_like", "empty", "empty_like", "array", "asarray")))  # fmt: skip
"""Functions that compute nothing, so nobody omits them."""
MODULES = ("np", "numpy", "math", "linalg")


def unparsed(node: ast.AST) -> str:
    """The text of a node. ``sum(x for x in y)`` has no second brackets, which Python gives it."""
    text = ast.unparse(node)
    for one in ast.walk(node) if " for " in text else ():
        if isinstance(one, ast.Call) and [*map(type, one.args), *one.keywords] == [ast.GeneratorExp]:
            inner = ast.unparse(one.args[0])
            text = text.replace(f"({inner})", inner)
    return text


text = lru_cache(maxsize=50_000)(unparsed)


@lru_cache(maxsize=4000)
def pattern(code: str) -> Any:
    """The tree of an expression or statement."""
    made = (ast.parse(code).body or [ast.Pass()])[0]
    return made.value if isinstance(made, ast.Expr) else made


def letters(code: str) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(pattern(code)) if isinstance(n, ast.Name) and is_letter(n.id))


def is_letter(name: str) -> bool:
    return len(name) == 1 and name.isupper()


def head(node: ast.AST) -> str:
    """What kind of node it is, which tells most pairs of a pattern and a node apart."""
    return type(node.op).__name__ if isinstance(node, ast.BinOp | ast.UnaryOp) else type(node).__name__


def is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and text(node.func) == "range"


def matches(form: ast.AST, node: ast.AST, found: Mapping[str, ast.expr]) -> Iterator[dict[str, ast.expr]]:
    """The parts of a node that a pattern's letters stand for, in every way. Sums and products have no order."""
    if isinstance(form, ast.Name) and is_letter(form.id):
        if form.id in found:
            if text(found[form.id]) == text(node):
                yield dict(found)
        elif isinstance(node, ast.expr) and stands_for(form.id, node):
            yield {**found, form.id: node}
    elif isinstance(form, ast.BinOp):
        if isinstance(form.op, ast.Pow) and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if text(form.right) == "2" and text(node.left) == text(node.right):
                yield from matches(form.left, node.left, found)
        elif isinstance(node, ast.BinOp) and type(node.op) is type(form.op):
            for left in matches(form.left, node.left, found):
                yield from matches(form.right, node.right, left)
            if isinstance(form.op, ast.Add | ast.Mult):
                for left in matches(form.left, node.right, found):
                    yield from matches(form.right, node.left, left)
    elif isinstance(form, ast.Constant):
        if isinstance(node, ast.Constant) and node.value == form.value and not isinstance(node.value, bool):
            yield dict(found)
    elif type(form) is type(node):
        some: list[dict[str, ast.expr]] = [dict(found)]
        for name in form._fields:
            a, b = getattr(form, name), getattr(node, name, None)
            if isinstance(a, list):
                if not isinstance(b, list) or len(a) != len(b):
                    return
                for one, two in zip(a, b, strict=True):
                    some = [m for s in some for m in matches(one, two, s)]
            elif isinstance(a, ast.expr_context):
                continue
            elif isinstance(a, ast.AST):
                some = [m for s in some for m in matches(a, b, s)] if isinstance(b, ast.AST) else []
            elif a != b:
                return
        yield from some


def stands_for(letter: str, node: ast.expr) -> bool:
    """Whether a letter can stand for a node."""
    if letter in "NX":
        plain = isinstance(node, ast.Name) or isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        return plain and not of_module(node)
    if letter == "V":
        plain = not of_module(node) and not isinstance(node, ast.Constant | ast.IfExp)
        return plain and (not isinstance(node, ast.BinOp) or head(node) == "MatMult")
    if letter == "F":
        return (isinstance(node, ast.Name) or of_module(node)) and text(node) not in PLAIN
    if letter == "I":
        fixed = isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant)  # t - 1: the row for t says it
        return isinstance(node, ast.Name | ast.BinOp | ast.Call) and not fixed
    return not of_module(node)


def of_module(node: ast.AST) -> bool:
    """Whether a node is a module or what it has, such as ``np.pi``; nobody mistakes these."""
    return (
        isinstance(node, ast.Attribute) and of_module(node.value) or isinstance(node, ast.Name) and node.id in MODULES
    )


def filled(form: ast.AST, parts: Mapping[str, ast.expr]) -> Any:
    """A pattern with expressions in place of its letters."""
    if isinstance(form, ast.Name):
        part = parts.get(form.id, form)
        if type(getattr(part, "ctx", form.ctx)) is not type(form.ctx):
            part = copy.copy(part)
            part.ctx = form.ctx  # type: ignore[attr-defined]
        return part
    new = copy.copy(form)
    for name, value in ast.iter_fields(form):
        if isinstance(value, ast.AST):
            setattr(new, name, filled(value, parts))
        elif isinstance(value, list):
            setattr(new, name, [filled(v, parts) if isinstance(v, ast.AST) else v for v in value])
    return new
