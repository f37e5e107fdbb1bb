"""A backward pass that was written by hand: its lines, its names, and what it saves, for all devices to compute.

It is compared with the derived one first (`compare`), so it computes the same gradients; only its form is the author's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from minirnn.cells.compare import compare
from minirnn.cells.derive import Derivation, Line
from minirnn.cells.expr import CellError, Expr


class ByHand(Derivation):
    """A derivation with the lines of `function`, a backward pass of the same step.

    Parameters
    ----------
    derived : Derivation
    function : callable
        As `Formulas.backward` takes it. Its local variables are the lines.
    again : names of values that the pass computes again rather than reads from memory
    """

    def __init__(self, derived: Derivation, function: Callable[..., Any], again: Collection[str] = ()) -> None:
        mine = compare(derived, function)
        self.step, self.projected, self.own, self.stages = derived.step, derived.projected, derived.own, derived.stages
        step = self.step
        self.taken, self.came, self.arrived = derived.taken, derived.came, derived.arrived
        self.incoming, self.cuts = derived.incoming, self.own_cuts(derived.cuts, mine)
        values = {n: e for e, n in derived.names.items() if not e.varies}
        unknown = [n for n in again if n not in values]
        if unknown:
            raise CellError(
                f"{step.name}: again= has {unknown[0]!r}\n  expected values of the step: {', '.join(values)}"
            )
        self.recomputed = {values[n] for n in again}
        self.names = dict(step.names) | {e: n for e, n in derived.names.items() if e.op == "gradient" or not e.varies}

        def ends(inputs: Mapping[str, Expr], derived_ends: list[Expr]) -> list[Expr]:
            pairs = zip(inputs.values(), derived_ends, strict=True)
            return [mine.get(f"d{step.names[owner]}", e) for owner, e in pairs]

        self.gates, self.before = ends(step.gates, derived.gates), ends(step.states, derived.before)
        self.vectors = ends(step.vectors, derived.vectors)
        owners = [*step.gates.values(), *step.states.values(), *step.vectors.values(), *step.cuts]
        found = [*self.gates, *self.before, *self.vectors, *[dm for dm, _ in self.cuts]]
        self.ends = dict(zip(owners, found, strict=True))
        owner_of = {e: owner for owner, e in reversed(self.ends.items())}  # a gate rather than a product
        formulas = {n: e for n, e in mine.items() if e.varies and e.op != "gradient"}
        self.lines = [Line(n, e, owner_of.get(e, e)) for n, e in formulas.items()]
        self.names |= {e: n for n, e in formulas.items()}
        self.page = list(formulas.values())
        self.uses = self.count_uses()
        self.saved, self.again = self.what_is_saved()

    def own_cuts(self, cuts: list[tuple[Expr, Expr]], mine: Mapping[str, Expr]) -> list[tuple[Expr, Expr]]:
        """The gradient of each product, as the author wrote it."""
        named = [mine.get(f"d{self.step.names[m]}", dm) for m, (dm, _) in zip(self.step.cuts, cuts, strict=True)]
        return [(dm, dv) for dm, (_, dv) in zip(named, cuts, strict=True)]
