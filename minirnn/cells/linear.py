"""The way back as sums of products: what a step of it costs when all that does not depend on gradients is there.

Every gradient is linear in those that come in. So it is a sum ``factor * atom``, where a factor depends on values of
the step alone and can be computed for many steps at once; atoms are the gradients that come in, those that come through
products, and sums that are used more than once. The LSTM's way back becomes, with dh and dc as atoms::

    (da_o, dc_h) = (.., ..) * dh        dc = c_grad + dc_h    (dc_prev, da_i, da_f, da_n) = (f, .., .., ..) * dc
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import Expr, add, choose, div, is_number, mul, needed, neg, sub

Form = dict[Expr, Expr]
"""Atom -> factor."""


class Target(NamedTuple):
    """A gradient that is computed in each step: ``sum of factor * atom``."""

    value: Expr
    form: Form
    stage: int


class Linear:
    """The targets of a derivation, in an order in which they can be computed.

    Attributes
    ----------
    targets : list of Target
        Sums that are atoms of later ones, and all gradients that leave the step.
    atoms : list of Expr
        In the order in which they are there: those that come in, those through products, sums.

    With `named`, every gradient that has a name and is read again is an atom, as in the printed formulas.
    """

    def __init__(self, d: Derivation, named: bool = False) -> None:
        self.one = d.step.graph.number(1)
        self.forms: dict[Expr, Form] = {}
        ends = [e for e in d.ends.values() if e.varies]
        nodes = [e for e in needed(ends) if e.varies]
        uses = Counter(a for e in nodes for a in e.args) + Counter(dict.fromkeys(ends, 1))
        self.targets: list[Target] = []
        self.atoms = [e for e in nodes if e.op == "gradient"]
        leaves = set(ends)
        for e in nodes:
            form = self.form(e)
            is_sum = uses[e] > 1 and (len(form) > 1 or named and e in d.names and e.op != "gradient")
            if is_sum or (e in leaves and e.op != "gradient"):
                self.targets.append(Target(e, form, d.stage(e)))
            if is_sum:
                self.atoms.append(e)
                form = {e: self.one}
            self.forms[e] = form
        self.targets.sort(key=lambda t: t.stage)

    def form(self, e: Expr) -> Form:
        """A node as a sum over atoms, from the forms of its operands."""
        if e.op == "gradient":
            return {e: self.one}
        if e.op == "where":
            condition, *sides = e.args
            a, b = ({} if is_number(s, 0) else self.forms[s] for s in sides)
            return {atom: choose(condition, a.get(atom, 0), b.get(atom, 0)) for atom in {**a, **b}}
        if e.op in ("add", "sub"):
            found = dict(self.forms[e.args[0]])
            for atom, factor in self.forms[e.args[1]].items():
                join = add if e.op == "add" else sub
                found[atom] = join(found[atom], factor) if atom in found else factor if e.op == "add" else neg(factor)
            return {atom: factor for atom, factor in found.items() if not is_number(factor, 0)}
        if e.op == "neg":
            return {atom: neg(factor) for atom, factor in self.forms[e.args[0]].items()}
        left, right = e.args
        if e.op == "div":
            return {atom: div(factor, right) for atom, factor in self.forms[left].items()}
        assert e.op == "mul", e.op
        gradient, value = (left, right) if left.varies else (right, left)
        return {atom: mul(factor, value) for atom, factor in self.forms[gradient].items()}
