"""A variable that is a sum, of which a use lacks one summand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from minirnn.learn.hypotheses.edits import Hypothesis, Site, text_of
from minirnn.learn.hypotheses.trees import (
    PRODUCT,
    Part,
    chains,
    factors,
    formed,
    summands,
)


def bracketed(node: ast.expr) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


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
