"""The backward formulas of a step, found by a sweep back over its values, and the values that the step must save.

The rules are those of the tape. The formulas are then simplified: zero terms are dropped, common factors come before a
bracket, slopes are written with outputs (``i * (1 - i)``), and a gradient that is used once gets no name. A value is
saved only if a formula reads it and it cannot be computed from values that are available.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from minirnn.cells.axes import through
from minirnn.cells.expr import BACK, CUTS, LEAVES, NUMBERS, Expr, add, is_number, needed
from minirnn.cells.rules import RULES, is_cheap
from minirnn.cells.terms import term_of, times, total
from minirnn.cells.trace import Step

FAR = 10**6


class Line(NamedTuple):
    name: str
    value: Expr
    of: Expr
    """The expression whose gradient this is."""


def is_scaled(e: Expr, atoms: Collection[Expr]) -> bool:
    """Whether `e` is another gradient times numbers. It then needs no name."""
    return e not in atoms and sum(f.op != "constant" for f in term_of(e, atoms).factors) == 1 and e.op in ("mul", "neg")


class Derivation:
    """A `Step` and its backward pass.

    Attributes
    ----------
    incoming : list of Expr
        The gradients of the new states from the next step and from the loss, such as ``c_grad``. The name is ``dc`` if
        the step adds nothing to it, because ``dc`` is always the whole gradient of c.
    gates, before, vectors : list of Expr
        The gradients of the inputs, 0 where there is none.
    cuts : list of (dm, dv)
        For each product, the gradient of its result, and the resulting gradient of its operand, which belongs to the
        next stage.
    lines : list of Line
        The formulas in their order. Those of vectors are summed over steps and samples.
    saved : list of Expr
        Values that the step saves. `again` are values that are computed again from available ones.
    names : dict of Expr to str
        Of values and of gradients.
    recomputed : set of Expr
        Values that are computed again whatever they cost.
    """

    def __init__(self, step: Step, projected: bool = False) -> None:
        self.step = step
        self.projected = projected
        self.recomputed: set[Expr] = set()
        self.page: list[Expr] = []
        """The lines of a backward pass by hand, in its order, which devices keep."""
        self.names = dict(step.names)
        self.own = set(step.nodes) | set(step.names)
        """Values of the step, without gradients."""
        self.stages: dict[Expr, int] = {}
        self.taken = {*self.names.values(), *step.constants}
        self.came: set[str] = set()
        """The labels of gradients that come from outside. Each is a separate node, so labels are unique."""
        self.incoming = [self.gradient(f"d{n}", 0) for n in step.order]
        for e, d in zip(step.after, self.incoming, strict=True):
            d.axes = e.axes
        self.cuts: list[tuple[Expr, Expr]] = []
        self.arrived = self.sweep()
        for n, after, e in zip(step.order, step.after, self.incoming, strict=True):
            if self.arrived.get(after) is not e:  # the step adds to it, so the total gets the name d..
                self.names[e] = self.free(f"{n}_grad")
        zero = step.graph.number(0)
        self.gates, self.before, self.vectors = (
            [self.arrived.get(e, zero) for e in inputs.values()] for inputs in (step.gates, step.states, step.vectors)
        )
        self.ends = dict(
            zip(
                [*step.gates.values(), *step.states.values(), *step.vectors.values(), *step.cuts],
                [*self.gates, *self.before, *self.vectors, *[dm for dm, _ in self.cuts]],
                strict=True,
            )
        )
        self.uses = self.count_uses()
        self.lines = self.statements()
        self.saved, self.again = self.what_is_saved()

    # ---- the sweep

    def gradient(self, name: str, stage: int) -> Expr:
        """A gradient that comes from outside a stage."""
        name = self.free(name)
        while name in self.came:
            name += "_"
        self.came.add(name)
        e = self.step.graph.node("gradient", (), name)
        self.stages[e] = stage
        self.names[e] = name
        return e

    def free(self, name: str) -> str:
        """`name`, with underscores appended if the function uses it."""
        while name in self.taken:
            name += "_"
        return name

    def stage(self, e: Expr) -> int:
        """The number of products of the backward pass that come before `e`; 0 for values of the step."""
        if e not in self.stages:
            self.stages[e] = max([self.stage(a) for a in e.args]) if e.varies else 0
        return self.stages[e]

    def sweep(self) -> dict[Expr, Expr]:
        """The gradient of each value."""
        step, graph = self.step, self.step.graph
        arriving: dict[Expr, list[Expr]] = {}
        for e, d in zip(step.after, self.incoming, strict=True):
            arriving.setdefault(e, []).append(d)
        inside = {a for e in step.nodes if len(e.args) == 1 for a in e.args}
        atoms = set(self.incoming)
        ranks = {d: k for k, d in enumerate(self.incoming)}
        """The order of the terms of a sum: those through a product, then states, then others as in the step."""
        found: dict[Expr, Expr] = {}
        cuts: dict[Expr, tuple[Expr, Expr]] = {}
        for e in reversed(step.nodes):
            own = step.after.index(e) if e in step.after else None

            def rank(d: Expr, own: int | None = own) -> int:
                return -FAR if own is not None and d is self.incoming[own] else ranks.get(d, FAR)

            d = total(graph, arriving.pop(e, []), atoms, lambda f: f.varies, rank)
            if e.op == "unit_norm":
                for v, dv in self.through_norm(e, d, found, cuts):
                    arriving.setdefault(v, []).append(dv)
            if is_number(d, 0):
                continue
            found[e] = d
            if (e in self.names or e in inside) and not is_scaled(d, atoms):
                atoms.add(d)  # it may get a name, so its factors stay together from here on
                graph.whole.add(d)
                ranks.setdefault(d, own if own is not None else FAR // 2 - len(ranks))
            if e.op in CUTS:
                (v,) = e.args
                number, factors = term_of(d, atoms - {d}) if e.op in BACK else (1, [])
                outside = number not in (0, 1)  # numbers come before a mean or a sum
                dv = self.through_cut(e, times(graph, 1, factors) if outside else d, cuts)
                ranks[dv] = len(ranks) - FAR // 2
                dv = number * dv if outside else dv
                if e.op == "unit_max":
                    dv = dv * graph.shares[e]
                arriving.setdefault(v, []).append(dv)
            elif e.op == "unit_softmax":
                v, _, total_of = e.args
                arriving.setdefault(v, []).append((d - self.through_cut(total_of, d * e, cuts)) * e)
            elif e.op != "unit_norm" and (rule := RULES.get(e.op)):
                assert rule.derivative is not None or e.op in ("gt", "lt", "ge", "le")
                terms = rule.derivative(d, e, *e.args) if rule.derivative else ()
                for a, term in zip(e.args, terms, strict=False):
                    if term is not None and not is_number(term, 0) and a.op not in NUMBERS:
                        arriving.setdefault(a, []).append(term if graph.keys is None else through(term, e, a))
        zero = graph.number(0)
        self.cuts = [cuts.get(m, (zero, zero)) for m in step.cuts]
        return found

    def through_cut(self, m: Expr, dm: Expr, cuts: dict[Expr, tuple[Expr, Expr]]) -> Expr:
        """What comes back through a product, or as a sum or mean over units. The next stage reads it."""
        (v,) = m.args
        partly = v.op in LEAVES or v in self.step.after or sum(m.args == (v,) for m in self.step.cuts) > 1
        label = f"d{self.names[v]}" + (f"_{self.names[m]}" if partly else "")
        dv = self.gradient(label, self.stage(dm) + 1)
        cuts[m] = dm, dv
        return dv

    def through_norm(
        self, y: Expr, dy: Expr, arrived: Mapping[Expr, Expr], cuts: dict[Expr, tuple[Expr, Expr]]
    ) -> Iterator[tuple[Expr, Expr]]:
        """The gradients of values that were normalized together, after the last of their gradients:

        ``dv = (dy - mean(dy) - mean(dy * y) * y) / std``, with means over all units of all values.
        """
        which, group = next((k, one) for k, one in enumerate(self.step.graph.norms) if y in one)
        gradients = {e: d for e in group if not is_number(d := dy if e is y else arrived.get(e, dy * 0), 0)}
        if y is not group[0] or not gradients:
            return
        mean, var = (m for m in self.step.cuts if m.args == y.args[:1] and m.value == f"norm {which}")
        n = len(group)
        plain = self.through_cut(mean, reduce(add, gradients.values()), cuts)
        along = self.through_cut(var, reduce(add, [d * e for e, d in gradients.items()]), cuts)
        for e in group:
            v, _, std = e.args
            yield v, (gradients.get(e, 0) - plain / n - along / n * e) / std

    # ---- the lines

    def count_uses(self) -> Counter[Expr]:
        ends = self.varying()
        return Counter(a for e in needed(ends) for a in e.args) + Counter(ends)

    def varying(self) -> list[Expr]:
        """The gradients that leave the step, or a stage of it, and are not 0."""
        return [e for e in self.ends.values() if e.varies]

    def named(self) -> dict[Expr, tuple[str, Expr]]:
        """The gradients that get a name. These leave the step or are used twice."""
        found: dict[Expr, tuple[str, Expr]] = {}
        taken = set(self.taken) | {f"d{n}" for n in self.step.order}
        vectors = set(self.step.vectors.values())
        read = {a for e in needed(self.varying()) for a in e.args}
        """Expressions that a line reads. The gradient of a vector is a sum over steps, so no line may read its name."""

        def give(e: Expr, name: str, owner: Expr) -> None:
            while name in (n for n, _ in found.values()):
                name += "_"
            taken.add(name)
            found[e] = name, owner

        for after, before in zip(self.step.after, self.before, strict=True):
            if before is self.arrived.get(after) and before not in self.incoming:  # the step passes on the total
                give(before, self.free(f"d{self.names[after]}"), after)
        for owner, e in self.ends.items():
            if owner in vectors and e in read:
                continue
            if e.varies and e.op != "gradient" and e not in found and owner.op == "input":
                give(e, self.free(f"d{self.names[owner]}"), owner)
        for owner, e in self.arrived.items():
            named = e in self.step.graph.whole and e.op != "gradient"
            if named and self.uses[e] > 1 and e not in found and owner not in vectors:
                if owner in self.names:
                    give(e, self.free(f"d{self.names[owner]}"), owner)
                elif (result := self.function_of(owner)) is not None:
                    name = f"da_{self.names[result]}"  # the gradient of a function's argument
                    if name not in taken:
                        give(e, name, owner)
        atoms = {*self.incoming, *found}
        owners = {e: e if owner in vectors else owner for owner, e in reversed(self.arrived.items())}
        sums = [e for e in needed(self.varying()) if e.varies and e.op in ("add", "sub", "div")]
        for e in [*reversed(owners), *sums]:
            if self.uses[e] > 1 and e not in found and e.op not in ("gradient", "neg") and not is_scaled(e, atoms):
                self.counted.append(e)
                give(e, f"d{len(self.counted)}", owners.get(e, e))
        return found

    def function_of(self, e: Expr) -> Expr | None:
        """The named result that is a function of only `e`, if there is one."""
        results = [r for r in self.step.nodes if r.args == (e,) and r in self.names and r.op not in CUTS]
        return results[0] if len(results) == 1 else None

    def statements(self) -> list[Line]:
        self.counted: list[Expr] = []
        """Gradients that have only a number: d1, d2, .., in the order of their lines."""
        given = self.named()
        lines: list[Line] = []
        done: set[Expr] = set()

        def emit(e: Expr) -> None:
            if e in done or e in self.own:
                return
            done.add(e)
            for a in e.args:
                emit(a)
            if e in given:
                name, owner = given[e]
                lines.append(Line(name, e, owner))

        order = [self.ends[e] for e in (*self.step.gates.values(), *self.step.cuts)]
        order += [self.ends[e] for e in (*self.step.states.values(), *self.step.vectors.values())]
        for e in order:
            emit(e)
        lines.sort(key=lambda line: self.stage(line.value))
        taken = {line.name for line in lines if line.value not in self.counted} | self.taken
        free = (n for k in range(1, 999) if (n := f"d{k}") not in taken)
        lines = [line._replace(name=next(free)) if line.value in self.counted else line for line in lines]
        self.names |= {line.value: line.name for line in lines}
        return lines

    # ---- saved values

    def is_cheap(self, e: Expr) -> bool:
        """Whether computing `e` again costs less than saving it."""
        return e in self.recomputed or is_cheap(e)

    def is_leaf(self, e: Expr) -> bool:
        """Whether the backward pass uses the name of this value of the step and does not write it out."""
        if e in self.recomputed:
            return False
        return (
            e in self.own and e.op not in NUMBERS and (e.op == "input" or e in self.step.names or not self.is_cheap(e))
        )

    def leaves(self, ends: Iterable[Expr]) -> list[Expr]:
        """The values of the step that formulas read."""
        found: dict[Expr, None] = {}
        seen: set[Expr] = set()

        def visit(e: Expr) -> None:
            if e not in seen:
                seen.add(e)
                if self.is_leaf(e):
                    found[e] = None
                else:
                    for a in e.args:
                        visit(a)

        for e in ends:
            visit(e)
        return list(found)

    def formulas(self) -> list[Expr]:
        """All expressions that the backward pass computes."""
        return self.varying() + [line.value for line in self.lines]

    def what_is_saved(self) -> tuple[list[Expr], list[Expr]]:
        """Values that are saved, and cheap values that are computed again because their operands are available."""
        step = self.step
        last = step.after[-1]
        there = {*step.states.values(), *step.vectors.values(), *step.masks.values(), *step.after}
        if step.keys is not None:  # a layer keeps its gates, and has what depends on learned parameters alone
            there |= set(step.gates.values()) | set(step.static())
        read = self.leaves(self.formulas())
        if self.projected:  # the state is the output of the projection
            there.discard(last)
            read.append(last)
        must = {e for e in read if e not in there and (e.op in LEAVES or not self.is_cheap(e))} | set(
            self.read_later(there)
        )
        again: list[Expr] = []

        def can(e: Expr) -> bool:
            if e in there or e in must or e in again:
                return True
            if e.op in LEAVES or not self.is_cheap(e) or not all(map(can, self.leaves(e.args))):
                return False
            again.append(e)
            return True

        must |= {e for e in read if not can(e)}
        saved = [e for e in step.nodes if e in must]
        again = [e for e in again if e not in must]
        for e in [*saved, *again]:
            if e not in self.names:
                self.names[e] = self.own_name(e)
        return saved, again

    def read_later(self, there: set[Expr]) -> list[Expr]:
        """Values of one stage that a later stage of the step reads and cannot compute from values in `there`."""
        found: dict[Expr, None] = {}

        def need(e: Expr) -> None:
            if e in there or e.op in NUMBERS or e.op == "input":  # these are available in all stages
                return
            if is_cheap(e):
                for a in e.args:
                    need(a)
            else:
                found[e] = None

        for e in self.step.nodes:
            for a in e.args if e.op not in CUTS else ():
                if a.stage < e.stage:
                    need(a)
        return list(found)

    def own_name(self, e: Expr) -> str:
        """The name of a value without one: ``tanh_c`` for tanh(c), else ``t1``."""
        operand = self.names.get(e.args[0]) if len(e.args) == 1 else None
        taken = {*self.names.values(), *self.step.constants}
        if operand and f"{e.op}_{operand}" not in taken:
            return f"{e.op}_{operand}"
        return next(n for k in range(1, 99) if (n := f"t{k}") not in taken)

    def reads(self, which: Sequence[Expr]) -> list[int]:
        """The indices of the values that the backward pass reads."""
        read = set(self.leaves([*self.formulas(), *[a for e in self.again for a in e.args]]))
        return [k for k, e in enumerate(which) if e in read]
