"""Rows, columns and axes: blocks in the wrong order, a reshape instead of a transpose, a missing reversal."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import numpy as np

from minirnn.learn.hypotheses.edits import Hypothesis, Site, expression, nodes, text_of
from minirnn.learn.hypotheses.trees import formed

JOINS = ("np.concatenate", "np.stack", "np.hstack", "np.vstack")
MOST = 4
"""Lists with more parts are not permuted, because there would be too many orders."""


def of_orders(site: Site) -> Iterator[Hypothesis]:
    """Parts that are concatenated or split in the wrong order."""
    for node, path in nodes(site.value, site.path):
        if not (isinstance(node, ast.Call) and text_of(node.func) in JOINS and node.args):
            continue
        parts = node.args[0]
        if isinstance(parts, ast.List | ast.Tuple) and 2 <= len(parts.elts) <= MOST:
            names = [text_of(e) for e in parts.elts]
            for order in list(itertools.permutations(range(len(names))))[1:]:
                taken = [names[k] for k in order]
                new = ast.List([parts.elts[k] for k in order], ast.Load())
                says = f"the order is {', '.join(taken)}; expected {', '.join(names)}"
                yield site.change((*path, ("args", 0)), new, says, f"not in the order {', '.join(taken)}", 1)
            for k, j in itertools.permutations(range(len(names)), 2):
                says = f"{names[j]} is also used where {names[k]} belongs"
                yield site.change((*path, ("args", 0), ("elts", k)), parts.elts[j], says, f"not {names[j]}", 1)
            says = f"the parts {', '.join(names)} are added, but they belong side by side"
            sum_of = ast.List([expression("+".join(f"({n})" for n in names))] * len(names), ast.Load())
            yield site.change((*path, ("args", 0)), sum_of, says, "side by side", 2)
    tree = site.step.tree
    if isinstance(tree, ast.Assign) and isinstance(tree.targets[0], ast.Tuple) and isinstance(tree.value, ast.Call):
        elements = tree.targets[0].elts
        for order in list(itertools.permutations(range(len(elements))))[1:] if len(elements) <= MOST else ():
            target = ast.Tuple([elements[k] for k in order], ast.Store())
            came, right = ", ".join(text_of(elements[k]) for k in order), text_of(tree.targets[0])
            says = f"the parts are taken in the order {came}; expected {right}"
            yield site.change((("targets", 0),), target, says, f"not {came}", 2)


def of_cuts(site: Site) -> Iterator[Hypothesis]:
    """Wrong slices: the other part, the whole array, or a missing reversal."""
    for node, path in nodes(site.value, site.path):
        if not isinstance(node, ast.Subscript):
            continue
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for k, index in enumerate(indices):
            if not isinstance(index, ast.Slice):
                continue
            way = (*path, ("slice", -1), *((("elts", k),) if isinstance(node.slice, ast.Tuple) else ()))
            text = text_of(node)
            if index.step is not None and text_of(index.step) == "-1":
                says = f"{text_of(node.value)} is not reversed where it must be: {text}"
                yield site.change(way, ast.Slice(), says, "this must be reversed", 0)
                if np.ndim(site.evaluate(text_of(node.value))) > 1 and not isinstance(node.slice, ast.Tuple):
                    says = f"an axis other than the first is reversed: {text}"
                    yield site.change(path, formed("a[:, ::-1]", a=node.value), says, "along the first axis", 1)
            elif index.lower is None and index.upper is not None and index.step is None:
                end = ast.Slice(lower=negative(index.upper))
                kind = "the two parts are cut in the wrong order"
                yield site.change(
                    way, end, f"{index_text(node, k, end)} is used where {text} belongs", "the first part", 1, kind
                )
                other = ast.Slice(lower=index.upper)
                yield site.change(
                    way, other, f"{index_text(node, k, other)} is used where {text} belongs", "the first part", 1
                )
            elif index.lower is not None and index.upper is None and index.step is None:
                start = ast.Slice(upper=negative(index.lower))
                kind = "the two parts are cut in the wrong order"
                yield site.change(
                    way, start, f"{index_text(node, k, start)} is used where {text} belongs", "the second part", 1, kind
                )
                other = ast.Slice(upper=index.lower)
                yield site.change(
                    way, other, f"{index_text(node, k, other)} is used where {text} belongs", "the second part", 1
                )


def negative(node: ast.expr) -> ast.expr:
    """An index counted from the other end: ``-H`` instead of ``H``, and ``1`` instead of ``-1``."""
    inner = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    return node.operand if isinstance(node, ast.UnaryOp) and inner else ast.UnaryOp(ast.USub(), node)


def index_text(node: ast.Subscript, k: int, new: ast.Slice) -> str:
    if not isinstance(node.slice, ast.Tuple):
        return text_of(ast.Subscript(node.value, new, ast.Load()))
    elements = [*node.slice.elts[:k], new, *node.slice.elts[k + 1 :]]
    return text_of(ast.Subscript(node.value, ast.Tuple(elements, ast.Load()), ast.Load()))


def of_axes(site: Site) -> Iterator[Hypothesis]:
    """Transposes that are missing or replaced by a reshape, and arrays that are reversed by mistake."""
    for node, path in nodes(site.value, site.path):
        if isinstance(node, ast.Attribute) and node.attr == "T":
            text = text_of(node)
            says = f"{text_of(node.value)} is reshaped where it must be transposed, so the numbers keep their order"
            yield site.change(
                path, formed("a.reshape(a.shape[::-1])", a=node.value), says, "transposed, not reshaped", 1
            )
            shape = np.shape(site.evaluate(text))
            if len(shape) == 2 and shape[0] == shape[1]:
                says = f"{text_of(node.value)} is not transposed"
                yield site.change(path, node.value, says, "this must be transposed", 0)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield from of_products(site, node, path)


def of_products(site: Site, node: ast.BinOp, path: tuple[tuple[str, int], ...]) -> Iterator[Hypothesis]:
    """A matrix product with its operands exchanged, or with square operands transposed."""
    text = text_of(node)
    for code, says in (
        ("(a @ b).T", f"{text} is transposed"),
        ("b @ a", f"the operands of {text} are exchanged"),
        ("a.T @ b", f"{text_of(node.left)} in {text} is transposed"),
        ("a @ b.T", f"{text_of(node.right)} in {text} is transposed"),
    ):
        yield site.change(path, formed(code, a=node.left, b=node.right), says, says, 2)


def of_returns(site: Site) -> Iterator[Hypothesis]:
    """Two outputs of the same shape, exchanged."""
    value = site.value
    if not (isinstance(site.step.tree, ast.Return) and isinstance(value, ast.Tuple)):
        return
    shapes = [np.shape(site.evaluate(text_of(e))) for e in value.elts]
    for a, b in itertools.combinations(range(len(shapes)), 2):
        if shapes[a] == shapes[b]:
            first, second = site.program.outputs[a], site.program.outputs[b]
            places: dict[tuple[tuple[str, int], ...], ast.AST] = {
                (*site.path, ("elts", a)): value.elts[b],
                (*site.path, ("elts", b)): value.elts[a],
            }
            says = f"{first} and {second} are exchanged in what is returned"
            edits = site.changes(places, says, "exchanged", 0)
            yield Hypothesis(edits.edits, "", says, "exchanged", 0)
