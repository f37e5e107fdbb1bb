"""A variable that is computed correctly but used too early, too late, or without one of its parts."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression
from minirnn.learn.hypotheses.program import GIVEN
from minirnn.learn.hypotheses.terms import sum_behind
from minirnn.learn.hypotheses.trees import Part, atoms, formed

MOST_USERS = 5
"""Variables with more uses are skipped, because there would be too many groups of uses."""


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
                yield Hypothesis(edits, "", says, f"{name} with {term}", 2)


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
            yield site.change(atom.path, old, says, "the new one", 1, "old values are used where the new ones belong")
