"""The places of the values of a step: gates in the rows of the product with R, and their activations in the same rows.

Rows of a step (H each) are slots: first those of R's product, gates of h alone and gates of both, then other values
that are saved. If only one sigmoid or tanh reads a gate of both, its result takes the slot of the gate. Slots that
are computed at the same time are neighbors, so that one call of tanh computes all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from minirnn.cells.expr import CUTS, NUMBERS, Expr, is_number_of
from minirnn.cells.plan import Plan
from minirnn.cells.rules import is_cheap

SMOOTH = ("sigmoid", "tanh")


class Run(NamedTuple):
    """Neighboring slots that are activated together: sigmoids at lo..mid-1, tanhs at mid..hi-1.

    The first `direct` sigmoids read gates directly; the rows of R and W are halved for them in advance.
    """

    lo: int
    mid: int
    hi: int
    direct: int
    values: tuple[Expr, ...]


class Slots:
    """The slots of a plan.

    Attributes
    ----------
    of : dict of Expr to int
        Maps a value to its slot.
    shifted : dict of Expr to Expr
        Gates of both that are only read in a sum with a number, and the sums.
    both : list of int
        The gates of both in the order of their slots, as indices in the order of the plan.
    halved : list of bool
        For each of these, whether it is halved.
    runs : list of Run
    stored : list of Expr
        The values that are saved for the backward pass.
    count : int
    rows_of_R : int
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        step = plan.derivation.step
        gates = list(step.gates.values())
        self.levels: dict[Expr, int] = {}
        for e in step.nodes:
            deeper = e.op in SMOOTH or e.op in CUTS
            self.levels[e] = max([self.levels[a] for a in e.args], default=0) + deeper
        parents: dict[Expr, list[Expr]] = {}
        for e in step.nodes:
            for a in e.args:
                parents.setdefault(a, []).append(e)
        self.stored = self.find_stored()
        saved = set(self.stored)
        sums = {z: self.shift(z, parents, saved) for z in gates[: plan.of_both]}
        self.shifted = {z: e for z, e in sums.items() if e is not None}
        guests = {z: self.guest(z, parents, saved) for z in gates[: plan.of_both]}
        order = sorted(range(plan.of_both), key=lambda k: self.key(gates[k], guests[gates[k]]))
        self.both = order
        self.of: dict[Expr, int] = {}
        of_h = gates[plan.of_both + plan.of_x :]
        for slot, z in enumerate([*of_h, *[gates[k] for k in order]]):
            self.of[z] = slot
        self.rows_of_R = len(self.of)
        self.count = self.rows_of_R
        self.halved = []
        for k in order:
            guest = guests[gates[k]]
            z = self.shifted.get(gates[k], gates[k])
            self.halved.append(guest is not None and guest.op == "sigmoid" and guest.args == (z,))
            if guest is not None:
                self.of[guest] = self.of[gates[k]]
        for e in self.stored:
            if e not in self.of:
                self.of[e] = self.count
                self.count += 1
        self.runs = self.find_runs([guests[gates[k]] for k in order])

    def find_stored(self) -> list[Expr]:
        """The values that a plan saves, and operands of products that the backward pass cannot compute again."""
        plan, step = self.plan, self.plan.derivation.step
        there = {*step.states.values(), *step.vectors.values(), *step.masks.values(), *plan.saved_values}
        there |= {*step.after[:-1]} if plan.projected else {*step.after}

        def can(e: Expr) -> bool:
            return e in there or e.op in NUMBERS or (is_cheap(e) and all(map(can, e.args)))

        operands = [m.args[0] for m in step.cuts if m.op == "product"]
        return [*plan.saved_values, *dict.fromkeys(v for v in operands if not can(v))]

    def guest(self, z: Expr, parents: dict[Expr, list[Expr]], saved: set[Expr]) -> Expr | None:
        """The sigmoid or tanh that is the only reader of the gate, through operations without other readers."""
        e = self.shifted.get(z, z)
        while e not in saved and len(parents.get(e, [])) == 1:
            (e,) = parents[e]
            if e.op in SMOOTH:
                return None if e in self.plan.derivation.step.after else e
            if not is_cheap(e):
                return None
        return None

    def shift(self, z: Expr, parents: dict[Expr, list[Expr]], saved: set[Expr]) -> Expr | None:
        """The sum of the gate and a number, if nothing else reads the gate. The number becomes part of the bias."""
        readers = parents.get(z, [])
        if len(readers) != 1 or z in saved or readers[0].op != "add" or readers[0] in self.plan.derivation.step.after:
            return None
        others = [a for a in readers[0].args if a is not z]
        return readers[0] if len(others) == 1 and is_number_of(others[0]) else None

    def key(self, z: Expr, guest: Expr | None) -> tuple[int, int, int]:
        if guest is None:
            return len(self.levels), 0, z.index
        kind = 2 if guest.op == "tanh" else 0 if guest.args == (self.shifted.get(z, z),) else 1
        return self.levels[guest], kind, z.index

    def find_runs(self, guests: list[Expr | None]) -> list[Run]:
        runs: list[Run] = []
        first = self.rows_of_R - len(guests)
        for level in sorted({self.levels[e] for e in guests if e is not None}):
            own = [k for k, e in enumerate(guests) if e is not None and self.levels[e] == level]
            values = [e for k in own if (e := guests[k]) is not None]
            sigmoids = sum(e.op == "sigmoid" for e in values)
            lo = first + own[0]
            direct = sum(self.halved[k] for k in own)
            runs.append(Run(lo, lo + sigmoids, lo + len(own), direct, tuple(values)))
        return runs
