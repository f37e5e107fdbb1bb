"""Summands and factors that are missing, superfluous, of the wrong sign or in the wrong bracket."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from minirnn.learn.hypotheses.edits import Hypothesis, Site, text_of
from minirnn.learn.hypotheses.program import Path
from minirnn.learn.hypotheses.scope import pool
from minirnn.learn.hypotheses.trees import (
    PRODUCT,
    SUM,
    Part,
    atoms,
    chains,
    factors,
    flat,
    formed,
    slope_places,
    slopes,
    summands,
    times,
    within,
)


def of_terms(site: Site) -> Iterator[Hypothesis]:
    """A summand that is missing, counted twice, or has the wrong sign."""
    if isinstance(site.step.tree, ast.For | ast.If):
        return
    skip = slope_places(site.value, site.path)
    for node, path in values(site):
        parts = summands(node, path)
        if within(path, skip) or not is_numeric(site, node):
            continue
        whole = path == site.path or (path[:-1] == site.path and path[-1][0] == "elts")
        rank = 0 if whole else 1  # inside an expression, other hypotheses describe this better
        for part in parts:
            text = part.text
            zero, twice = times(part.node, 0.0), times(part.node, 2.0)
            # people rarely mistake a whole line
            lost = rank if len(parts) > 1 or not isinstance(part.node, ast.Call) else rank + 1
            yield site.change(part.path, zero, f"the term {text} is missing", "this term is missing", lost)
            sign = ast.UnaryOp(ast.USub(), part.node)
            yield site.change(part.path, sign, f"the sign of {text} is wrong", "this term has the wrong sign", rank)
            yield site.change(
                part.path, twice, f"the term {text} is counted twice", "this term is counted twice", rank + 1
            )


def values(site: Site) -> Iterator[tuple[ast.expr, Path]]:
    """The sums in a statement and its whole value, or those of each element of a tuple."""
    if isinstance(site.value, ast.Tuple):
        for k, element in enumerate(site.value.elts):
            yield from chains(element, (*site.path, ("elts", k)), SUM)
    else:
        yield from chains(site.value, site.path, SUM)


def is_numeric(site: Site, node: ast.expr) -> bool:
    value = site.evaluate(text_of(node))
    return value is not None and not isinstance(value, bool)


def bracketed(node: ast.expr) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


def of_factors(site: Site) -> Iterator[Hypothesis]:
    """A factor that is missing, divides instead of multiplying, or is squared; a difference in the wrong order."""
    skip = slope_places(site.value, site.path)
    for node, path in chains(site.value, site.path, PRODUCT):
        if within(path, skip):
            continue
        product = factors(node, path)
        for part in product if len(product) > 1 else ():
            text, without = part.text, [p for p in product if p is not part]
            one = (
                f"np.ones(np.shape({text}))" if is_array(site, text) and not same_shape(site, part, without) else "1.0"
            )
            yield site.change(
                part.path, formed(one), f"the factor {bracketed(part.node)} is missing", "this factor is missing", 0
            )
            turned = formed("1.0 / part", part=part.node)
            verb = "multiplies, but should divide" if part.inverse else "divides, but should multiply"
            yield site.change(part.path, turned, f"{text} {verb}", f"this {verb}", 2)
            twice = formed("part * part", part=part.node)
            says = f"the factor {text} is multiplied twice"
            yield site.change(part.path, twice, says, "this factor is multiplied twice", 2)
        for part in product:
            yield from complements(site, part)
            operands = list(flat(part.node, part.path, SUM))
            if len(operands) == 2 and isinstance(part.node, ast.BinOp) and isinstance(part.node.op, ast.Sub):
                a, b = operands
                new = ast.BinOp(part.node.right, ast.Sub(), part.node.left)
                says = f"the sign of ({part.text}) is wrong: {a.text} is subtracted from {b.text}"
                yield site.change(part.path, new, says, "the sign of this is wrong", 0)
                for this, other in ((a, b), (b, a)):
                    if not isinstance(this.node, ast.Constant):
                        zero = times(other.node, 0.0)
                        yield site.change(
                            other.path, zero, f"the term {other.text} in ({part.text}) is missing", "this is missing", 1
                        )


def complements(site: Site, part: Part) -> Iterator[Hypothesis]:
    """A gate as a factor in place of 1 minus the gate, or the reverse."""
    node, text = part.node, part.text
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and text_of(node.left) == "1":
        gate = text_of(node.right)
        if isinstance(node.right, ast.Name | ast.Subscript):
            says = f"{gate} is used where {text} belongs: the gate and 1 minus it are exchanged"
            yield site.change(part.path, node.right, says, "1 minus the gate", 0)
    elif isinstance(node, ast.Name | ast.Subscript):
        value = site.evaluate(text)
        if isinstance(value, np.ndarray) and value.size and value.dtype.kind == "f":
            says, turned = f"1 - {text} is used where {text} belongs", formed("1 - g", g=node)
            if value.min() >= 0 and value.max() <= 1:
                both = "the gate and 1 minus it are exchanged"
                yield site.change(part.path, turned, f"{says}: {both}", "the gate itself", 0)
            else:
                yield site.change(part.path, turned, says, f"{text} itself", 2)


def is_array(site: Site, text: str) -> bool:
    return isinstance(site.evaluate(text), np.ndarray)


def same_shape(site: Site, part: Part, others: list[Part]) -> bool:
    """Whether a product keeps its shape without one of its factors."""
    shape = np.shape(site.evaluate(part.text))
    return any(np.shape(site.evaluate(other.text)) == shape for other in others)


def of_extra_factors(site: Site) -> Iterator[Hypothesis]:
    """A superfluous factor: any value of the same shape."""
    for part in top_terms(site):
        value = site.evaluate(part.text)
        for name, other in pool(site).items():
            if np.shape(other) == np.shape(value) and isinstance(other, np.ndarray | float):
                new = formed(f"term * ({name})", term=part.node)
                says = f"the term {part.text} is multiplied by {name}, but {name} does not belong there"
                yield site.change(part.path, new, says, f"this is multiplied by {name} as well", 4)


def top_terms(site: Site) -> list[Part]:
    """The summands of what a statement assigns or returns, if they are numbers."""
    if isinstance(site.step.tree, ast.For | ast.If):
        return []
    parts = values_of.elts if isinstance(values_of := site.value, ast.Tuple) else []
    whole = [Part(e, (*site.path, ("elts", k))) for k, e in enumerate(parts)] or [Part(site.value, site.path)]
    terms = [term for part in whole for term in summands(part.node, part.path)]
    return [term for term in terms if is_numeric(site, term.node)]


def of_extra_terms(site: Site) -> Iterator[Hypothesis]:
    """A superfluous term: a value of the same shape, or one similar to the other terms."""
    if not site.step.target or isinstance(site.step.tree, ast.For):
        return
    own = {part.text for part in top_terms(site)}
    shape = np.shape(site.evaluate(text_of(site.value)))
    around = pool(site)
    extra = dict.fromkeys((name for name, value in around.items() if np.ndim(value)), 3)
    for part in top_terms(site):
        product = factors(part.node, ())
        if 2 <= len(product) <= 3 and not any(f.inverse for f in product):
            for k, old in enumerate(product):
                rest = [bracketed(f.node) for f in product[:k]] + ["{}"] + [bracketed(f.node) for f in product[k + 1 :]]
                for name, value in around.items():
                    if np.ndim(value) and np.shape(value) == np.shape(site.evaluate(old.text)):
                        extra.setdefault(" * ".join(rest).format(name), 4)
    for text, rank in extra.items():
        if text not in own and np.shape(site.evaluate(text)) == shape and shape:
            yield added(site, text, rank)


def of_moved_terms(site: Site) -> Iterator[Hypothesis]:
    """A superfluous term that belongs to another line."""
    if not site.step.target or isinstance(site.step.tree, ast.For):
        return
    own = {part.text for part in top_terms(site)}
    shape = np.shape(site.evaluate(text_of(site.value)))
    others = [step.tree.value for step in site.program.every.values()
              if step.number != site.step.number and isinstance(step.tree, ast.Assign | ast.AugAssign)]  # fmt: skip
    texts = [part.text for value in others for part in summands(value, ())]
    for text in dict.fromkeys(texts):
        if text not in own and shape and np.shape(site.evaluate(text)) == shape:
            yield added(site, text, 2)


def added(site: Site, text: str, rank: int) -> Hypothesis:
    new = formed(f"old + {text}", old=site.value)
    return site.change(site.path, new, f"the term {text} is added, but it does not belong there", f"no {text}", rank)


def of_inner_factors(site: Site) -> Iterator[Hypothesis]:
    """A product variable that is used as if one of its factors, or a slope in it, were missing."""
    for atom in atoms(site.value, site.path):
        made = definition(site, atom.node)
        view = made.slice if isinstance(made, ast.Subscript) and isinstance(made.value, ast.BinOp) else None
        inner = made.value if view is not None and isinstance(made, ast.Subscript) else made
        product = factors(inner, ()) if inner is not None else []
        if len(product) < 2 or product[0].inverse:
            continue
        groups = [(f.path,) for f in product] + [s.places for s in slopes(product) if len(s.places) > 1]
        for gone in groups:
            left = "".join(f" {'/' if f.inverse else '*'} {bracketed(f.node)}" for f in product if f.path not in gone)
            lost = " * ".join(bracketed(f.node) for f in product if f.path in gone)
            left = f"1.0{left}" if left.startswith(" /") else left.removeprefix(" * ")
            text = f"np.broadcast_to({left}, np.shape({text_of(inner)}))" if inner is not None else left
            viewed = "" if view is None else text_of(ast.Subscript(ast.Name("v", ast.Load()), view, ast.Load()))[1:]
            new = f"({text}){viewed}" if viewed else f"({left})"
            if left and np.shape(site.evaluate(new)) == np.shape(site.evaluate(atom.text)):
                says = f"{atom.text} is used here without its factor {lost}"
                yield site.change(atom.path, formed(new), says, says, 2, says.replace(" here", ""))


def of_inner_terms(site: Site) -> Iterator[Hypothesis]:
    """A sum variable of which a use needs only one summand, or a summand that escapes the factors around it."""
    for node, path in chains(site.value, site.path, PRODUCT):
        product = factors(node, path)
        for part in product:
            terms = sum_behind(site, part.node)
            for term in terms:
                rest = formed(f"part - ({term})", part=part.node)
                says = f"the part {term} of {part.text} is missing here"
                yield site.change(part.path, rest, says, says, 2)
                for kept in without_each(product, part):
                    left = " * ".join(f"({p.text})" for p in kept)
                    lost = " * ".join(bracketed(p.node) for p in product if p is not part and p not in kept)
                    whole = f"({term}) * {left}" if left else f"({term})"
                    others = " * ".join(f"({p.text})" for p in product if p is not part)
                    new = formed(f"({text_of(rest)}) * {others} + {whole}")
                    says = f"only a part of {part.text} is multiplied by {lost}: {term} is not"
                    yield site.change(path, new, says, f"{lost} must also multiply {term}", 2)


def without_each(product: list[Part], part: Part) -> list[list[Part]]:
    """The factors without one of the others, and without all others."""
    others = [p for p in product if p is not part and not p.inverse]
    if len(others) != len(product) - 1 or not others:
        return []
    return [[]] + ([[p for p in others if p is not gone] for gone in others] if len(others) > 1 else [])


def sum_behind(site: Site, node: ast.expr) -> list[str]:
    """The signed summands that were assigned to the variable `node`, if it was assigned once, as a sum."""
    made = definition(site, node)
    parts = summands(made, ()) if made is not None else []
    if len(parts) < 2:
        return []
    return [f"-({p.text})" if p.inverse else p.text for p in parts]


def definition(site: Site, node: ast.expr) -> ast.expr | None:
    """The expression assigned to the variable `node`, if it was assigned once, in the same loop."""
    if not isinstance(node, ast.Name):
        return None
    made = [s for s in site.program.every.values() if node.id in s.target.split(", ")]
    if len(made) != 1 or not isinstance(made[0].tree, ast.Assign) or made[0].loops != site.step.loops:
        return None
    return made[0].tree.value if made[0].target == node.id else None
