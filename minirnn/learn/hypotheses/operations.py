"""Wrong constants and powers, means instead of sums, missing roots, and operations in the wrong order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from minirnn.learn.hypotheses.edits import Hypothesis, Site, at, expression, nodes, text_of
from minirnn.learn.hypotheses.program import Path
from minirnn.learn.hypotheses.terms import definition
from minirnn.learn.hypotheses.trees import (
    PRODUCT,
    Part,
    atoms,
    chains,
    factors,
    formed,
    is_module,
    slope_places,
    summands,
)

ONCE = {"np.sqrt": "the square root", "np.tanh": "tanh", "np.exp": "exp", "np.log": "the logarithm", "np.abs": "abs"}
TWINS = {"np.sum": "np.mean", "np.mean": "np.sum", "min": "max", "max": "min", "np.minimum": "np.maximum",
         "np.maximum": "np.minimum", "np.zeros_like": "np.ones_like"}  # fmt: skip


def of_constants(site: Site) -> Iterator[Hypothesis]:
    """A wrong constant."""
    skip = slope_places(site.value, site.path)
    for node, path in nodes(site.value, site.path):
        if any(path[: len(s)] == s for s in skip):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            for other in {0, 1, 2, node.value + 1, node.value - 1, 0.5} - {node.value}:
                says = f"{number(other)} is used where {node.value} belongs, in {context(site, path)}"
                yield site.change(path, ast.Constant(other), says, f"not {number(other)}", 2)


def number(value: float) -> str:
    return f"{value:g}"


def context(site: Site, path: Path) -> str:
    """The smallest expression around a place that is meaningful to a reader."""
    for k in range(len(path) - 1, len(site.path) - 1, -1):
        node = at(site.step.tree, path[:k])
        if isinstance(node, ast.BinOp | ast.Call | ast.Subscript):
            return text_of(node)
    return text_of(site.value)


def of_powers(site: Site) -> Iterator[Hypothesis]:
    """Powers that are omitted, taken of the wrong number, or replaced by a product, and omitted squares."""
    for node, path in nodes(site.value, site.path):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            text, base, power = text_of(node), text_of(node.left), text_of(node.right)
            yield site.change(path, node.left, f"the power {power} of {base} is missing", "the power is missing", 0)
            says = f"{base} * {power} is used where the power {text} belongs"
            product = ast.BinOp(node.left, ast.Mult(), node.right)
            yield site.change(
                path, product, says, "a power", 1, f"a product with {power} is used where a power belongs"
            )
            for shift, code in (("-1", "b ** (p - 1)"), ("+1", "b ** (p + 1)")):
                new = formed(code, b=node.left, p=node.right)
                says = f"the power is off by {shift}: {text}"
                yield site.change(path, new, says, f"the power is {power}", 1)
            if not isinstance(node.right, ast.Constant):
                says = f"the power 2 is used where {power} belongs: {text}"
                yield site.change(path, formed("b ** 2", b=node.left), says, f"the power is {power}", 1)
    skip = slope_places(site.value, site.path)
    for node, path in chains(site.value, site.path, PRODUCT):
        if any(path[: len(s)] == s for s in skip):
            continue
        parts = factors(node, path)
        for k, part in enumerate(parts):
            if any(part.text == other.text and part.inverse == other.inverse for other in parts[k + 1 :]):
                yield site.change(part.path, expression("1.0"), f"{part.text}: the square is missing", "the square", 0)
                says = f"abs({part.text}) is used where its square belongs"
                yield site.change(part.path, formed("np.sign(p)", p=part.node), says, "a square", 1)


def of_functions(site: Site) -> Iterator[Hypothesis]:
    """A function that is omitted, applied twice, or replaced by a similar one; a root over too much or too little."""
    for node, path in nodes(site.value, site.path):
        if not isinstance(node, ast.Call):
            continue
        name, text = text_of(node.func), text_of(node)
        if name in ONCE and len(node.args) == 1:
            yield site.change(path, node.args[0], f"{ONCE[name]} is missing: {text}", f"{ONCE[name]} is missing", 0)
            twice = ast.Call(node.func, [node], [])
            yield site.change(path, twice, f"{ONCE[name]} is taken twice: {text}", "taken once", 1)
            square = formed("p ** 2", p=node.args[0])
            if name == "np.sqrt":
                yield site.change(path, square, f"a square is used where the root {text} belongs", "a root", 2)
            yield from of_widths(site, node, path)
        if name == "sum" and node.args and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
            for end, which in (("-1", "last"), ("0", "first")):
                new = formed(f"list(a)[{end}]", a=node.args[0])
                says = f"only the {which} of the terms counts, not their sum: {text}"
                yield site.change(path, new, says, "the sum of all", 1)
        if name == "np.sum" and len(node.args) == 1:
            says = f"the norm, a root of squares, is used where the sum belongs: {text}"
            yield site.change(path, formed("np.sqrt(np.sum(a ** 2))", a=node.args[0]), says, "the sum", 1)
            product = factors(node.args[0], (*path, ("args", 0)))
            if len(product) == 2 and not product[1].inverse:
                a, b = (p.node for p in product)
                for code, words in (
                    ("np.linalg.norm(a) * np.linalg.norm(b)", "the norms are multiplied, not the numbers"),
                    ("np.sum(a) * np.sum(b)", "the sums are multiplied, not the numbers"),
                    ("np.sum(np.abs(a * b))", "the signs are lost"),
                    ("np.sum(a * b) / np.linalg.norm(a)", f"it is divided by the norm of {product[0].text}"),
                    ("np.sum(a * b) / np.linalg.norm(b) ** 2", f"it is divided by the square of {product[1].text}"),
                    (
                        "np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)",
                        "it is divided by both norms, which gives a cosine",
                    ),
                    ("np.trace(np.atleast_2d(a) @ np.atleast_2d(b))", "a matrix product is taken"),
                ):
                    yield site.change(path, formed(code, a=a, b=b), f"{words}: {text}", "the sum of products", 1)
        if name in TWINS:
            func = expression(TWINS[name])
            says = f"{TWINS[name].removeprefix('np.')} is used where {name.removeprefix('np.')} belongs: {text}"
            yield site.change((*path, ("func", -1)), func, says, name.removeprefix("np."), 1)
        if name == "min" and len(node.args) == 2:
            for k, kept in enumerate(node.args):
                lost = text_of(node.args[1 - k])
                says = f"the limit {lost} is missing: {text_of(kept)} is always used, not {text}"
                yield site.change(path, kept, says, f"at most {lost}", 0)
        yield from of_sums(site, node, path)


def of_widths(site: Site, call: ast.Call, path: Path) -> Iterator[Hypothesis]:
    """``f(a) + b`` in place of ``f(a + b)``, ``f(a / b)`` in place of ``f(a) / b``, and the reverse."""
    name, text = text_of(call.func), text_of(call)
    for node, way in chains(site.value, site.path, (ast.Add, ast.Sub)):
        parts = summands(node, way)
        if len(parts) == 2 and any(part.path == path for part in parts):
            other = next(p for p in parts if p.path != path)
            new: ast.expr = ast.Call(call.func, [ast.BinOp(call.args[0], ast.Add(), other.node)], [])
            says = f"{other.text} is added inside {name.removeprefix('np.')}, but it belongs outside: {text_of(node)}"
            yield site.change(way, new, says, f"{other.text} outside", 0)
            yield from of_late_quotients(site, call, other, way)
    for node, way in chains(site.value, site.path, PRODUCT):
        product = factors(node, way)
        others = [p.text for p in product if p.path != path]
        if len(others) == len(product) - 1 > 0 and not any(p.inverse for p in product):
            inner = formed(f"a * {' * '.join(f'({o})' for o in others)}", a=call.args[0])
            says = f"{' * '.join(others)} is multiplied inside {name.removeprefix('np.')}, but it belongs outside"
            yield site.change(way, ast.Call(call.func, [inner], []), says, "outside", 1)
    parts = factors(call.args[0], (*path, ("args", 0)))
    for part in parts if len(parts) > 1 else ():
        if not part.inverse:
            rest = formed("whole / (part)", whole=call.args[0], part=part.node)
            says = f"{part.text} is outside {name.removeprefix('np.')}, but it belongs inside"
            new = formed("f * p", f=ast.Call(call.func, [rest], []), p=part.node)
            yield site.change(path, new, says, f"{part.text} inside", 1)
    inside = summands(call.args[0], (*path, ("args", 0)))
    for part in inside if len(inside) > 1 else ():
        rest = formed("whole - (part)", whole=call.args[0], part=part.node)
        new = formed("f + p", f=ast.Call(call.func, [rest], []), p=part.node)
        says = f"{part.text} is outside {name.removeprefix('np.')}, but it belongs inside: {text}"
        yield site.change(path, new, says, f"{part.text} inside", 1)


def of_late_quotients(site: Site, call: ast.Call, other: Part, way: Path) -> Iterator[Hypothesis]:
    """``f(a) + b`` with ``a = n / c``, divided by f(c) only after adding b. `f` is a root."""
    made = definition(site, call.args[0])
    if text_of(call.func) == "np.sqrt" and isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
        new = formed("(np.sqrt(n) + b) / np.sqrt(c)", n=made.left, b=other.node, c=made.right)
        divisor = text_of(made.right)
        says = (
            f"{other.text} is added before the division by {divisor}, so it is divided as well, but it must be "
            "added last"
        )
        yield site.change(way, new, says, f"{other.text} is added last", 1)


def of_sums(site: Site, node: ast.Call, path: Path) -> Iterator[Hypothesis]:
    """Sums over an axis replaced by the mean, the total, one sample, or the sum over another axis that fits."""
    func = node.func
    if not (isinstance(func, ast.Attribute) and func.attr in ("sum", "mean") and not is_module(func.value)):
        return
    what, text, right = func.value, text_of(node), func.attr
    inside = ", ".join([*map(text_of, node.args), *(text_of(k) for k in node.keywords)])
    axis = (
        text_of(node.args[0]) if node.args else next((text_of(k.value) for k in node.keywords if k.arg == "axis"), "")
    )
    if not axis:
        return
    rest = "".join(f", {text_of(k)}" for k in node.keywords if k.arg != "axis")
    for other in range(np.ndim(site.evaluate(text_of(what)))):
        if str(other) != axis:
            says = f"the {right} is taken over axis {other}, not over axis {axis}"
            yield site.change(path, formed(f"a.{right}({other}{rest})", a=what), says, f"over axis {axis}", 0)
    twin, one = "mean" if right == "sum" else "sum", "sample" if axis == "0" else "number"
    whole = f"the {right} over all"
    for code, says in (
        (f"a.{twin}({inside})", f"the {twin} is used where the {right} belongs: {text}"),
        (f"np.zeros_like(a.sum({inside})) + a.{right}()", f"everything is summed, not only axis {axis}: {text}"),
        (f"0.0 * a.sum({inside}) + a.take(0, {axis})", f"only the first {one} counts, not {whole}: {text}"),
        (f"0.0 * a.sum({inside}) + a.take(-1, {axis})", f"only the last {one} counts, not {whole}: {text}"),
        ("a", f"the {right} is missing: {text}"),
        (f"np.ones_like(a).sum({inside})", f"ones are added up, not the numbers: {text}"),
        (f"a.max({inside})", f"the maximum is used where the {right} belongs: {text}"),
        (f"np.repeat(a.sum(-1, keepdims=True).sum(0)[None], a.shape[-1]) + 0 * a.sum({inside})",
         f"the sum is taken over both axes: {text}"),
    ):  # fmt: skip
        kind = says.partition(":")[0]
        yield site.change(path, formed(code, a=what), says, kind, 1, kind)


def of_largest(site: Site) -> Iterator[Hypothesis]:
    """The maximum of a row replaced by that of all rows, by the minimum, or by one that is never below zero."""
    for node, path in nodes(site.value, site.path):
        func = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(func, ast.Attribute) and func.attr == "max" and not is_module(func.value)):
            continue
        text, what = text_of(node), func.value
        for new, says in (
            ("0.0 * m + a.max()", "the largest of all is taken, not that of each row"),
            (
                "np.maximum(m, 0.0)",
                "the search for the largest number begins at 0, which is above all negative numbers",
            ),
            ("0.0 * m + a.min()", "the smallest of all is taken"),
            ("-((-a).max(1)).reshape(m.shape)", "the smallest is taken, not the largest"),
            ("0.0 * m", "the largest number is not subtracted: exp overflows"),
            ("np.abs(a).max(1).reshape(m.shape)", "the largest magnitude is taken"),
            ("a[:, 0].reshape(m.shape)", "the first number is taken, not the largest"),
        ):
            yield site.change(path, formed(new, a=what, m=node), f"{says}: {text}", says, 1)  # type: ignore[arg-type]


def of_divisions(site: Site) -> Iterator[Hypothesis]:
    """Quotients that are inverted, use integer division, or lack their brackets."""
    for node, path in nodes(site.value, site.path):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        text = text_of(node)
        turned = ast.BinOp(node.right, ast.Div(), node.left)
        yield site.change(path, turned, f"the quotient is inverted: {text}", "inverted", 1)
        whole = ast.BinOp(node.left, ast.FloorDiv(), node.right)
        says = f"// is used where / belongs, so fractions are cut off: {text}"
        yield site.change(path, whole, says, "/ and not //", 1)
        for small in (1e-6, 1e-8, 1e-12, 1e-7, 1e-5, 1e-10, 1e-9, 1e-3):
            more = ast.BinOp(node.left, ast.Div(), ast.BinOp(node.right, ast.Add(), ast.Constant(small)))
            says = f"{small:g} is added to the divisor {text_of(node.right)}"
            yield site.change(path, more, says, "nothing is added", 2)
        product = factors(node.right, (*path, ("right", -1)))
        if len(product) == 2:
            new = formed("a / b * c", a=node.left, b=product[0].node, c=product[1].node)
            says = f"the brackets around {text_of(node.right)} are missing, so {product[1].text} multiplies, in {text}"
            yield site.change(path, new, says, "this divides as a whole", 0)
            for kept, lost in (product, product[::-1]):
                less = ast.BinOp(node.left, ast.Div(), kept.node)
                says = f"{lost.text} is missing in the divisor of {text}"
                yield site.change(path, less, says, f"{lost.text} is missing", 1)
        yield site.change(path, node.left, f"it is not divided by {text_of(node.right)}: {text}", "not divided", 0)


def of_counters(site: Site) -> Iterator[Hypothesis]:
    """An integer that counts from a wrong start."""
    for atom in atoms(site.value, site.path):
        value = site.evaluate(atom.text)
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            for shift in ("+ 1", "- 1"):
                says = f"{atom.text} {shift} is used where {atom.text} belongs"
                yield site.change(atom.path, expression(f"{atom.text} {shift}"), says, f"not {atom.text} {shift}", 1)


def of_infinite_precision(site: Site) -> Iterator[Hypothesis]:
    """A line whose result is truncated to integers."""
    if isinstance(site.step.tree, ast.Assign) and isinstance(site.evaluate(text_of(site.value)), np.ndarray):
        says = "it is cut to whole numbers: was the array made with an integer dtype?"
        yield site.change(site.path, formed("np.trunc(a)", a=site.value), says, "whole numbers", 3)
