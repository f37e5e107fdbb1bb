"""What is exchanged in a backward formula: each term dropped or negated in turn.

In Python files a formula is an expression, or a call such as ``add(a, b, out)`` that writes into its last argument.
What only computes sizes and indices is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.mutants import Change

SIZES = {*"TBIHLDPGMNKnmtdkp", "lo", "hi", "t0", "t1", "width", "rows", "extra", "start", "last", "ndim", "length"}
"""Names that hold sizes, steps and axes."""
NO_FORMULA = {"shape", "ndim", "size", "kept", "attributes"}
"""Attributes that hold sizes and switches."""
ARRAY_CALLS = {"concat", "concatenate", "where", "einsum", "sum", "dot", "matmul", "reshape", "transpose", "to"}
ARRAY_CALLS |= {"broadcast_to", "astype", "put_add", "split", "flip", "or_zeros", "expand_dims"}
"""Calls whose results are negated."""
OUT_CALLS = {"add": "+", "subtract": "-", "multiply": "*", "mul": "*", "dot": "@", "matmul": "@", "tanh": "f"}
"""Calls that write into their last argument or into `out`."""


def terms(name: str, function: ast.FunctionDef) -> Iterator[Change]:
    """The changes of one function."""
    for statement in function.body:
        for node in _formulas(statement):
            yield from _variants(node, name.endswith("backward"))


def _formulas(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below this one that may be part of a formula: not an index, a size or the condition of an if."""
    if isinstance(node, (ast.Assert, ast.Raise, ast.Lambda)) or (isinstance(node, ast.expr) and _is_size(node)):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test).startswith("L == 0"):
        return  # no step at all, so that everything is 0
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("slice", "test", "annotation", "iter", "targets", "target", "keywords"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _formulas(child)


def _is_size(node: ast.expr) -> bool:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    attributes = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return names <= SIZES or (bool(attributes & NO_FORMULA) and not isinstance(node, ast.Call))


def _variants(node: ast.AST, returns_gradients: bool) -> Iterator[Change]:
    match node:
        case ast.BinOp(left, ast.Add(), right):
            both = ast.BinOp(left, ast.Sub(), right), ast.BinOp(right, ast.Sub(), left)
            yield from ((node, new) for new in (left, right, *both))
        case ast.BinOp(left, ast.Sub(), right):
            yield from ((node, new) for new in (left, _negative(right), ast.BinOp(left, ast.Add(), right)))
            yield node, _negative(node)
        case ast.BinOp(left, ast.Mult() | ast.Div() | ast.Pow() as op, right):
            yield node, left
            if isinstance(op, ast.Mult):
                yield node, right
            yield node, _negative(node)
        case ast.BinOp(_, ast.MatMult(), _) | ast.Compare(ops=[ast.Eq()]):
            yield node, _negative(node)
        case ast.UnaryOp(ast.USub(), operand):
            yield node, operand
        case ast.Compare(left, [ast.Gt() | ast.Lt() | ast.GtE() | ast.LtE() as op], [right]):
            for other in {ast.Gt: (ast.GtE, ast.Lt), ast.Lt: (ast.LtE, ast.Gt)}.get(type(op), (ast.Gt, ast.Lt)):
                yield node, ast.Compare(left, [other()], [right])
        case ast.AugAssign(target, op, value):
            yield node, ast.Pass()
            yield node, ast.AugAssign(target, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), value)
        case ast.Return(ast.Tuple() | ast.List() as value) if returns_gradients:
            for element in value.elts:
                if not isinstance(element, (ast.Constant, ast.Starred)) and not _is_size(element):
                    yield element, _negative(element)
                    yield element, ast.Constant(None)
        case ast.Return(ast.ListComp(element)) if returns_gradients:
            yield element, _negative(element)
        case ast.Assign(value=value) | ast.Return(value=value) if value is not None and not _is_size(value):
            yield from _negated(value)
        case ast.Expr(ast.Call() as call):
            yield from ((node, new) for new in _out_variants(call))


def _negated(value: ast.expr) -> Iterator[Change]:
    """The value of an assignment or return, or one element of it, negated; empty if it is not a formula."""
    match value:
        case ast.Tuple(elements):
            for element in elements:
                if not _is_size(element):
                    yield from (
                        [(element, _negative(element))] if isinstance(element, ast.Subscript) else _negated(element)
                    )
        case ast.Call(func) if _name(func) == "split":
            every = ast.comprehension(ast.Name("part", ast.Store()), value, [], 0)
            yield value, ast.ListComp(_negative(ast.Name("part", ast.Load())), [every])
        case ast.IfExp(_, part, _) | ast.ListComp(part):
            yield from _negated(part)
        case ast.BinOp():
            yield value, _negative(value)
        case ast.Call(func) if _name(func) in ARRAY_CALLS:
            yield value, _negative(value)


def _out_variants(call: ast.Call) -> Iterator[ast.AST]:
    """For ``f(a, b, out)``: the result negated or 0, only one operand, or the opposite sign."""
    kind = OUT_CALLS.get(_name(call.func))
    keyword = next((k.value for k in call.keywords if k.arg == "out"), None)
    if kind is None or (keyword is None and len(call.args) < 2):
        return
    out = keyword or call.args[-1]
    inputs = call.args if keyword else call.args[:-1]
    text = ast.unparse(out)
    done = ast.unparse(call)
    yield from ast.parse(f"({done}, np.negative({text}, {text}))").body
    yield from ast.parse(f"np.copyto({text}, 0)").body
    if kind in "+-*" and len(inputs) == 2:
        for operand in inputs:
            yield from ast.parse(f"np.copyto({text}, {ast.unparse(operand)})").body
    if kind in "+-":
        a, b = map(ast.unparse, inputs)
        yield from ast.parse(f"np.{'add' if kind == '-' else 'subtract'}({a}, {b}, {text})").body


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _negative(node: ast.AST) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node)  # type: ignore[arg-type]
