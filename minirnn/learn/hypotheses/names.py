"""Variables used in place of others: in one place, on a whole line, or everywhere."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression, nodes
from minirnn.learn.hypotheses.rewritten import kind_of
from minirnn.learn.hypotheses.trees import Part, atoms, factors, formed
from minirnn.learn.sandbox.patterns import matches, pattern
from minirnn.learn.sandbox.patterns import text as text_of

# ---- a whole line, and everywhere


def everywhere(all_sites: Sequence[Site]) -> Iterator[Hypothesis]:
    """One argument replaced by another on all lines, two exchanged, or a gate exchanged with its complement."""
    program = all_sites[0].program
    places: dict[str, list[tuple[Site, Part]]] = {}
    for site in all_sites:
        for atom in atoms(site.value, site.path):
            places.setdefault(atom.text, []).append((site, atom))
    kinds = {name: kind_of(uses[0][0].evaluate(name)) for name, uses in places.items()}
    given = [n for n in places if n.partition("[")[0] in program.parameters and kinds[n] is not None]

    def swap(*pairs: tuple[str, ast.expr]) -> tuple[Edit, ...]:
        return tuple(Edit(s.step.number, p.path, new) for name, new in pairs for s, p in places[name])

    for a, b in itertools.permutations(given, 2):
        if kinds[a] == kinds[b]:
            if len(places[a]) > 1:
                says = f"{b} is used where {a} belongs, on every line"
                yield Hypothesis(swap((a, expression(b))), "", says, 3)
            if a < b:
                edits = swap((a, expression(b)), (b, expression(a)))
                yield Hypothesis(edits, "", f"{a} and {b} are exchanged on every line", 3)
    for gate in given:
        yield from complement(all_sites, gate, places[gate])


def across_lines(all_sites: Sequence[Site]) -> Iterator[Hypothesis]:
    """A value of one statement exchanged with a value of another."""
    uses = [(site, {atom.text: [a for a in atoms(site.value, site.path) if a.text == atom.text]
                    for atom in atoms(site.value, site.path)}) for site in all_sites if site.step.target]  # fmt: skip
    for (one, names_of_one), (two, names_of_two) in itertools.combinations(uses, 2):
        for a, b in itertools.product(names_of_one, names_of_two):
            kind = kind_of(one.evaluate(a))
            if a == b or kind is None or kind[0] == () and kind[1] or kind != kind_of(two.evaluate(b)):
                continue
            if b in names_of_one or a in names_of_two:
                continue
            edits = [Edit(one.step.number, p.path, expression(b)) for p in names_of_one[a]]
            edits += [Edit(two.step.number, p.path, expression(a)) for p in names_of_two[b]]
            says = f"{a} and {b} are exchanged: {one.step.target} uses {b}, and {two.step.target} uses {a}"
            yield Hypothesis(tuple(edits), f"{one.step.target}, {two.step.target}", says, 2)


def complement(all_sites: Sequence[Site], gate: str, uses: list[tuple[Site, Part]]) -> Iterator[Hypothesis]:
    """`gate` and 1 minus it exchanged: everywhere, or as in a formula written with the opposite convention."""
    parents = {(s.step.number, p.path[:-1]) for s, p in uses}
    minus = [s for s in all_sites for n, path in ((s, p) for p in paths_of_complements(s, gate)) if n]
    if not minus or not parents:
        return
    turned = formed("1 - g", g=expression(gate))
    edits = tuple(Edit(s.step.number, p.path, turned) for s, p in uses)
    both = f"{gate} and 1 - {gate} are exchanged"
    yield Hypothesis(edits, "", f"{both} on every line", 1)
    slopes = "N * (1 - N)", "C * N * (1 - N)"
    signs = tuple(
        Edit(s.step.number, first.path, ast.UnaryOp(ast.USub(), first.node))
        for s in all_sites
        for first in factors(s.value, s.path)[:1]
        if any(text_of(m["N"]) == gate for node, _ in nodes(s.value) for form in slopes
               for m in matches(pattern(form), node, {}))
    )  # fmt: skip
    plain = tuple(e for e in edits if not any(e.number == f.number and e.path[: len(f.path)] == f.path for f in signs))
    if signs:
        says = f"this is the other convention of {gate}: {both}, and the sign of its gradient with them"
        yield Hypothesis(plain + signs, "", says)


def paths_of_complements(site: Site, gate: str) -> list[Any]:
    return [path for node, path in nodes(site.value, site.path)
            if isinstance(node, ast.expr) and text_of(node) == f"1 - {gate}"]  # fmt: skip
