"""Variables used in place of others: in one place, on a whole line, or everywhere."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression, nodes, text_of
from minirnn.learn.hypotheses.scope import alike, kind_of, pool
from minirnn.learn.hypotheses.trees import Part, atoms, factors, formed, slope_places, slopes


def of_names(site: Site) -> Iterator[Hypothesis]:
    """Another value of the same shape in one place."""
    skip, around = slope_places(site.value, site.path), pool(site)
    own = site.step.target
    for atom in atoms(site.value, site.path):
        if any(atom.path[: len(path)] == path and len(atom.path) > len(path) for path in skip):
            continue
        for other in alike(site, atom.node, around):
            if other == own and not isinstance(site.step.tree, ast.Return) and not site.step.loops:
                continue  # not defined yet
            yield instead(site, atom, other)
        yield from elements(site, atom)


def instead(site: Site, atom: Part, other: str, rank: int = 1, code: str = "") -> Hypothesis:
    """`other` in place of a value. `code` computes it if it is not just a name."""
    new = expression(code or other)
    if isinstance(site.step.tree, ast.Return) and len(atom.path) <= len(site.path) + 1:
        return site.change(atom.path, new, f"{other} is returned in its place", f"not {other}", rank)
    why = wrong_step(other, atom.text) if site.step.loops or "_prev" in atom.text else ""
    says = f"{other} is used where {atom.text} belongs{why}"
    return site.change(atom.path, new, says, "", rank)


def wrong_step(taken: str, right: str) -> str:
    """Says that a value is the right array or quantity at another step; empty if it is not."""
    a, b = taken.partition("[")[0], right.partition("[")[0]
    short = b.removesuffix("_prev")
    if a != b and a != short and a.removesuffix("_prev") != b:
        return ""
    before = " (this one, not the one before)" if "_prev" in right or "- 1" in right else ""
    return f": it is taken from the wrong step{before}"


def of_steps(site: Site) -> Iterator[Hypothesis]:
    """The element of the step before or after. At the first step: that of the last step, of this step, or ones."""
    for atom in atoms(site.value, site.path):
        if not isinstance(atom.node, ast.Subscript) or not isinstance(t := atom.node.slice, ast.Name):
            continue
        base = text_of(atom.node.value)
        if t.id in site.step.loops and isinstance(site.env.get(t.id), int):
            if not isinstance(site.evaluate(base), np.ndarray):
                continue
            before, after = f"{base}[{t.id} - 1]", f"{base}[{t.id} + 1]"
            yield instead(site, atom, before, 1)
            yield instead(site, atom, before, 2, f"{base}[max({t.id} - 1, 0)]")
            yield instead(site, atom, before, 2, f"({before} if {t.id} > 0 else np.ones_like({base}[0]))")
            yield instead(site, atom, after, 1, f"{base}[min({t.id} + 1, len({base}) - 1)]")
            yield instead(site, atom, after, 3, f"({after} if {t.id} + 1 < len({base}) else np.zeros_like({base}[0]))")


def elements(site: Site, atom: Part) -> Iterator[Hypothesis]:
    """Another element of the same array: the other input, the other direction."""
    node = atom.node
    if not isinstance(node, ast.Subscript):
        return
    base, index = text_of(node.value), node.slice
    if isinstance(index, ast.Name):
        for other, value in site.env.items():
            if isinstance(value, int) and not isinstance(value, bool) and other != index.id and other.islower():
                says = f"{base}[{other}] is used where {atom.text} belongs"
                yield site.change(atom.path, expression(f"{base}[{other}]"), says, f"not {base}[{other}]", 1)
    if isinstance(index, ast.Constant) and index.value in (0, 1):
        other = f"{base}[{1 - index.value}]"
        yield site.change(atom.path, expression(other), f"{other} is used where {atom.text} belongs", f"not {other}", 1)


# ---- a whole line, and everywhere


def of_lines(site: Site) -> Iterator[Hypothesis]:
    """Two values of one statement exchanged, or one replaced by another everywhere in the statement."""
    seen: dict[str, list[Part]] = {}
    for atom in atoms(site.value, site.path):
        seen.setdefault(atom.text, []).append(atom)
    kinds = {name: kind_of(site.evaluate(name)) for name in seen}
    for (a, of_a), (b, of_b) in itertools.combinations(seen.items(), 2):
        if kinds[a] is not None and kinds[a] == kinds[b]:
            places: dict[Any, ast.AST] = {p.path: of_b[0].node for p in of_a}
            places |= {p.path: of_a[0].node for p in of_b}
            yield site.changes(places, f"{a} and {b} are exchanged", f"{a} and {b} are exchanged", 2)
    around = pool(site)
    for name, uses in seen.items():
        for other in alike(site, uses[0].node, around) if len(uses) > 1 else ():
            tree = expression(other)
            says = f"{other} is used where {name} belongs, everywhere in the line"
            yield site.changes({p.path: tree for p in uses}, says, f"{name}, not {other}", 2)


def of_wholes(site: Site) -> Iterator[Hypothesis]:
    """Another variable in place of the whole expression of a statement."""
    if isinstance(site.value, ast.Name | ast.Tuple) or not site.step.target:
        return
    for other in alike(site, site.value, pool(site)):
        if np.ndim(site.evaluate(other)):
            text = text_of(site.value)
            says = f"{other} itself is used where {text} belongs"
            yield site.change(site.path, formed("1.0 * a", a=expression(other)), says, f"not {other} itself", 3)


def of_arguments(all_sites: Sequence[Site]) -> Iterator[Hypothesis]:
    """An argument that was changed before use: a function applied again, or a wrong length, order or count."""
    program = all_sites[0].program
    uses: dict[str, list[tuple[Site, Part]]] = {}
    for site in all_sites:
        for atom in atoms(site.value, site.path):
            uses.setdefault(atom.text, []).append((site, atom))
    for name, places in uses.items():
        if name.partition("[")[0] not in program.parameters:
            continue
        value = places[0][0].evaluate(name)
        for code, says in changed_forms(value):
            new = formed(code, a=expression(name))
            edits = tuple(Edit(s.step.number, p.path, new) for s, p in places)
            yield Hypothesis(edits, "", says.format(name), f"{name} as it is", 3)


def changed_forms(value: Any) -> list[tuple[str, str]]:
    """The ways in which people change an argument before they use it."""
    if isinstance(value, int | np.integer):
        return [
            ("a - 1", "{0} - 1 is used where {0} belongs, on every line"),
            ("a + 1", "{0} + 1 is used where {0} belongs, on every line"),
        ]
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return []
    forms = [("np.tanh(a)", "tanh is applied again to {0}"),
             ("1 / (1 + np.exp(-a))", "the sigmoid is applied again to {0}"),
             ("a / np.linalg.norm(a)", "{0} is divided by its norm before it is used"),
             ("-a", "the sign of {0} is wrong"),
             ("a[::-1]", "{0} is reversed along its first axis before it is used")]  # fmt: skip
    if np.abs(value).max(initial=0) < 1:
        forms.append(("np.arctanh(a)", "the argument of tanh is used where its output {0} belongs"))
    return forms


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
                yield Hypothesis(swap((a, expression(b))), "", says, f"not {b}", 3)
            if a < b:
                edits = swap((a, expression(b)), (b, expression(a)))
                yield Hypothesis(edits, "", f"{a} and {b} are exchanged on every line", f"{a} and {b} exchanged", 3)
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
            yield Hypothesis(tuple(edits), f"{one.step.target}, {two.step.target}", says, f"{a}, not {b}", 2)


def complement(all_sites: Sequence[Site], gate: str, uses: list[tuple[Site, Part]]) -> Iterator[Hypothesis]:
    """`gate` and 1 minus it exchanged: everywhere, or as in a formula written with the opposite convention."""
    parents = {(s.step.number, p.path[:-1]) for s, p in uses}
    minus = [s for s in all_sites for n, path in ((s, p) for p in paths_of_complements(s, gate)) if n]
    if not minus or not parents:
        return
    turned = formed("1 - g", g=expression(gate))
    edits = tuple(Edit(s.step.number, p.path, turned) for s, p in uses)
    both = f"{gate} and 1 - {gate} are exchanged"
    yield Hypothesis(edits, "", f"{both} on every line", f"{gate} and its complement are exchanged", 1)
    signs = tuple(
        Edit(s.step.number, product[0].path, ast.UnaryOp(ast.USub(), product[0].node))
        for s in all_sites
        for product in [factors(s.value, s.path)]
        if any(sl.kind == "sigmoid" and text_of(sl.of) == gate for sl in slopes(product))
    )
    plain = tuple(e for e in edits if not any(e.number == f.number and e.path[: len(f.path)] == f.path for f in signs))
    if signs:
        says = f"this is the other convention of {gate}: {both}, and the sign of its gradient with them"
        yield Hypothesis(plain + signs, "", says, f"{gate} and its complement are exchanged", 0)
        only = tuple(e for e in plain if e.number not in {f.number for f in signs})
        if only:
            yield Hypothesis(only, "", f"{both}, except in the slope", f"{gate} and its complement are exchanged", 1)


def paths_of_complements(site: Site, gate: str) -> list[Any]:
    return [path for node, path in nodes(site.value, site.path)
            if isinstance(node, ast.expr) and text_of(node) == f"1 - {gate}"]  # fmt: skip
