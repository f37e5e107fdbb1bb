"""A variable that is used too early, too late, or without one of its summands."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression
from minirnn.learn.hypotheses.program import GIVEN
from minirnn.learn.hypotheses.trees import PRODUCT, Part, atoms, chains, factors, formed, summands
from minirnn.learn.sandbox.patterns import text as text_of

MOST_USERS = 5
"""Variables with more uses are skipped, because there would be too many groups of uses."""


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
                yield site.change(part.path, rest, f"the part {term} of {part.text} is missing here", 2)
                for kept in without_each(product, part):
                    left = " * ".join(f"({p.text})" for p in kept)
                    lost = " * ".join(bracketed(p.node) for p in product if p is not part and p not in kept)
                    whole = f"({term}) * {left}" if left else f"({term})"
                    others = " * ".join(f"({p.text})" for p in product if p is not part)
                    new = formed(f"({text_of(rest)}) * {others} + {whole}")
                    says = f"only a part of {part.text} is multiplied by {lost}: {term} is not"
                    yield site.change(path, new, says, 2)


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


def of_late_terms(all_sites: Sequence[Site]) -> Iterator[Hypothesis]:
    """A sum that some lines use before one of its terms is added to it."""
    uses: dict[str, dict[int, tuple[Site, list[Part]]]] = {}
    for site in all_sites:
        for atom in atoms(site.value, site.path):
            if isinstance(atom.node, ast.Name):
                uses.setdefault(atom.text, {}).setdefault(site.step.number, (site, []))[1].append(atom)
    for name, users in uses.items():
        lines = list(users.values())
        terms = sum_behind(lines[0][0], lines[0][1][0].node) if 2 <= len(lines) <= MOST_USERS else []
        for term, count in itertools.product(terms, range(2, len(lines))):
            for some in itertools.combinations(lines, count):
                edits = tuple(
                    Edit(site.step.number, part.path, formed(f"part - ({term})", part=part.node))
                    for site, parts in some for part in parts
                )  # fmt: skip
                targets = ", ".join(dict.fromkeys(site.step.target or "what is returned" for site, _ in some))
                says = f"{targets}: {name} is used without its term {term}, as if that were added too late"
                yield Hypothesis(edits, "", says, 2)


def of_old_values(site: Site) -> Iterator[Hypothesis]:
    """An argument that gets a new value, but is used with its old one."""
    if isinstance(site.step.tree, ast.Return):
        return
    made = [s.number for s in site.program.every.values() for n in s.target.split(", ") if n in site.program.parameters]
    for atom in atoms(site.value, site.path):
        name = atom.text
        new = [n for n in made if n < site.step.number and site.program.every[n].target == name]
        if isinstance(atom.node, ast.Name) and new and isinstance(site.evaluate(name), np.ndarray):
            says = f"the old {name} is used where the new one belongs"
            old = expression(f"{GIVEN}[{name!r}]")
            yield site.change(atom.path, old, says, 1, "old values are used where the new ones belong")
