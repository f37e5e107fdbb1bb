"""The backward pass as sums of products. A step computes only these sums if all other values are available.

Every gradient is linear in the incoming gradients. It is therefore a sum of ``factor * atom``. A factor depends only on
values of the step, so it can be computed for many steps at once. Atoms are the incoming gradients, those that come
through products, and sums that are used more than once. With dh and dc as atoms, the LSTM's backward pass becomes::

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
    """A gradient that each step computes as ``sum of factor * atom``."""

    value: Expr
    form: Form
    stage: int


class Linear:
    """The targets of a derivation, in an order in which they can be computed.

    Attributes
    ----------
    targets : list of Target
        Sums that are atoms of later sums, and all gradients that leave the step.
    atoms : list of Expr
        In the order in which they become available: incoming gradients, those through products, sums.

    With `named`, every named gradient that is read again is an atom, as in the printed formulas.
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
        """A node as a sum over atoms, computed from the forms of its operands."""
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
