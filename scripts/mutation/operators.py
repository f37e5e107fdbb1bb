"""The changes of any Python function: an operator, a constant, a condition or two arguments.

Error texts (raise statements, f-strings, warnings), annotations and docstrings are not changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.mutants import Change

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
TWINS = {"1": "2", "2": "1"}
"""Last letters of names that come in pairs: beta1 and beta2."""
WORDS = {"warn", "shown", "ValueError", "TypeError", "isinstance", "hasattr", "getattr", "TypeVar", "cast", "super"}
"""Calls whose arguments are the text of an error, or whose change is immediately an error."""
WORDING = {"strict", "stacklevel"}
"""Keywords that only affect how a programmer's mistake is reported."""


def operators(function: ast.FunctionDef) -> Iterator[Change]:
    """The changes of one function."""
    for statement in function.body:
        for node in _nodes(statement):
            yield from _variants(node)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below this one that compute or decide something."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.ImportFrom, ast.Import)):
        return
    if isinstance(node, ast.Call) and _called(node) in WORDS:
        return
    if isinstance(node, ast.keyword) and node.arg in WORDING:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _variants(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not _is_text(left) and not _is_text(right):
            yield node, ast.BinOp(left, ARITHMETIC[type(op)](), right)
            if isinstance(op, (ast.Sub, ast.Div)):
                yield node, ast.BinOp(right, op, left)
        case ast.AugAssign(target, op, value) if type(op) in ARITHMETIC and not _is_text(value):
            yield node, ast.AugAssign(target, ARITHMETIC[type(op)](), value)
        case ast.Compare(left, [op], [right]):
            yield node, ast.Compare(left, [COMPARISONS[type(op)]()], [right])
            if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                yield node, ast.UnaryOp(ast.Not(), node)
        case ast.BoolOp(op, values):
            yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, operand
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
                yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Constant(bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(int(value)):
            yield node, ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield node, ast.Constant(2 * value + 1)
        case ast.Call(ast.Name(name), args, keywords) if name in CALLS:
            yield node, ast.Call(ast.Name(CALLS[name], ast.Load()), args, keywords)
        case ast.Call(func, [ast.Name(a) as one, ast.Name(b) as two, *rest], keywords) if a != b:
            yield node, ast.Call(func, [two, one, *rest], keywords)
        case ast.Attribute(value, str(name)) if _is_a_twin(name) and isinstance(node.ctx, ast.Load):
            yield node, ast.Attribute(value, name[:-1] + TWINS[name[-1]], ast.Load())


def _is_a_twin(name: str) -> bool:
    """Dtypes are not changed, because there is no float31."""
    return name[-1:] in TWINS and not name[-2:-1].isdigit()


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_text(node: ast.expr) -> bool:
    """Whether an operand is a string, as far as the text shows, and therefore part of a message."""
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        for n in ast.walk(node)
    )
