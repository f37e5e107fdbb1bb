"""Sums of products, with their terms collected and ordered as in a textbook.

A gradient is linear in the gradients that it depends on. It is a sum of terms ``number * gradient * factors``. Terms of
one gradient are collected (``dh * h_prev - dh * n`` is ``dh * (h_prev - n)``), and terms that cancel are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

from minirnn.cells.expr import Expr, Graph, add, choose, gated, is_number, mul, sub


class Term(NamedTuple):
    number: float
    factors: list[Expr]


def term_of(e: Expr, atoms: Collection[Expr]) -> Term:
    """The factors of a product, split down to the gradients in `atoms`."""
    if e.op == "number":
        return Term(e.value, [])
    if e in atoms or e in e.graph.names:
        return Term(1, [e])
    if e.op == "neg":
        number, factors = term_of(e.args[0], atoms)
        return Term(-number, factors)
    if (sides := gate_of(e)) is not None:
        condition, yes, no = e.args
        number, factors = term_of(yes if sides == (1, 0) else no, atoms)
        return Term(number, [*factors, choose(condition, *sides)])
    if e.op == "mul":
        (m, left), (n, right) = (term_of(a, atoms) for a in e.args)
        return Term(m * n, left + right)
    return Term(1, [e])


def gate_of(e: Expr) -> tuple[int, int] | None:
    """(1, 0) or (0, 1) if `e` is a value where a condition holds, or does not hold, and else 0."""
    if e.op != "where" or e.args[1].op == e.args[2].op == "number":
        return None
    return (0, 1) if is_number(e.args[1], 0) else (1, 0) if is_number(e.args[2], 0) else None


def total(
    graph: Graph,
    parts: Sequence[Expr],
    atoms: Collection[Expr],
    leads: Callable[[Expr], bool],
    rank: Callable[[Expr], int],
) -> Expr:
    """The sum of gradients.

    `leads` returns whether a factor of a term is the gradient, and `rank` the position of a gradient.
    """
    groups: dict[Expr, list[Term]] = {}
    for e in parts:
        term = term_of(e, atoms)
        if term.number:
            groups.setdefault(next(f for f in term.factors if leads(f)), []).append(term)
    sums = [collected(graph, groups[lead]) for lead in sorted(groups, key=rank)]
    return signed(graph, sums)


def collected(graph: Graph, terms: list[Term]) -> Term:
    """The sum of terms as a single term, with common factors before a bracket."""
    merged: list[Term] = []
    for number, factors in terms:  # equal ones first
        same = next(
            (k for k, one in enumerate(merged) if sorted(map(id, one.factors)) == sorted(map(id, factors))), None
        )
        if same is None:
            merged.append(Term(number, factors))
        else:
            merged[same] = Term(merged[same].number + number, factors)
    merged = [one for one in merged if one.number]
    if not merged:
        return Term(0, [])
    if len(merged) == 1:
        return merged[0]
    common: list[Expr] = []
    for f in merged[0].factors:
        if all(one.factors.count(f) > common.count(f) for one in merged):
            common.append(f)
    rests = [reduce(without, common, one) for one in merged]
    bracket = signed(graph, cases(graph, rests))
    return Term(-1, [*common, bracket.args[0]]) if bracket.op == "neg" else Term(1, [*common, bracket])


def cases(graph: Graph, terms: list[Term]) -> list[Term]:
    """The terms, with two that are for both outcomes of one condition as a single ``where``."""
    sides = [(k, f) for k, one in enumerate(terms) for f in one.factors if f.op == "where"]
    for (k, f), (j, g) in product(sides, sides):
        condition, yes, no = f.args
        if k != j and g is choose(condition, no, yes) and is_number(yes, 1) and is_number(no, 0):
            a, b = (signed(graph, [without(terms[at], one)]) for at, one in ((k, f), (j, g)))
            both = Term(1, [choose(condition, a, b)])
            return cases(graph, [both, *[one for at, one in enumerate(terms) if at not in (k, j)]])
    return terms


def without(term: Term, factor: Expr) -> Term:
    found = list(term.factors)
    found.remove(factor)
    return Term(term.number, found)


def signed(graph: Graph, terms: Sequence[Term]) -> Expr:
    """The sum of terms. It begins with a term without a minus, if there is one."""
    first = next((k for k, one in enumerate(terms) if one.number > 0), 0)
    found = graph.number(0)
    for number, factors in [*terms[first : first + 1], *terms[:first], *terms[first + 1 :]]:
        one = times(graph, abs(number), factors)
        found = add(found, one) if number > 0 else sub(found, one)
    return found


def times(graph: Graph, number: float, factors: Sequence[Expr]) -> Expr:
    """The product of a number and factors: numbers first, then constants, then the others in their order.

    Conditions come last, and choose the product of the others or 0.
    """
    conditions = [f for f in factors if is_condition(f) and f not in graph.names]
    ordered = sorted((f for f in factors if f not in conditions), key=lambda f: f.op != "constant")
    found = reduce(mul, ordered, graph.number(number))
    for f in conditions:
        found = gated(found, f.args[0], f.args[1].value == 1) if found.varies else mul(found, f)
    return found


def is_condition(f: Expr) -> bool:
    """Whether a factor is 1 where a condition holds, or does not hold, and else 0."""
    return f.op == "where" and [a.value for a in f.args[1:] if a.op == "number"] in ([1, 0], [0, 1])
