"""The backward pass of a plan, written as two functions: the factors of many steps, and the loop over the steps.

Each term ``factor * atom`` of a gradient has a row in the memory of a step: the factor first, the product later. Rows
with one atom are neighbors, so that one call multiplies them; those of the gates lie as R's and W's products need them.

The names are those of the cell's page. The factor ``dz_i_by_dc`` is in the row ``dz_i``, where it becomes the gradient.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from minirnn.cells.expr import BACK, Expr, is_number, needed
from minirnn.cells.linear import Linear, Target
from minirnn.cells.plan import Plan
from minirnn.devices.cpu.sequence.calls import WORD, Calls, compiled, scratch_names, unpacked
from minirnn.devices.cpu.sequence.slots import Slots

Sources = list[tuple[str, tuple[Any, ...]]]
"""The values that factors read: names in the text, and the arrays they come from."""
MANY = 6
"""The name of more rows than these has only the first and the last one."""


class Row(NamedTuple):
    """A term ``factor * atom`` of a gradient."""

    target: Expr
    atom: Expr | None
    factor: Expr | None


class Back(NamedTuple):
    """The two functions of a plan, and the layout of their rows."""

    factors: Callable[..., None]
    sources: Sources
    factor_room: tuple[int, int]
    factor_numbers: list[float | Expr]
    runs: dict[tuple[bool, bool], Callable[..., Any]]
    """The loop over steps without or with a gradient of the first state after each step, and a projected h that keeps a
    share of the old one."""
    views: list[tuple[str, int, int]]
    rows: int
    gates: list[int]
    """The gates in the order of their rows, which begin at `first`."""
    first: int
    vectors: dict[int, int]
    multiplied: dict[int, int]
    """Maps a vector, or a cut, to the row of its gradient."""
    before: frozenset[int]
    """The states before a step that the factors read."""


def back_of(plan: Plan) -> Back:
    if "numpy backward" not in plan.made:
        plan.made["numpy backward"] = Writer(plan).back()
    found: Back = plan.made["numpy backward"]
    return found


class Writer:
    """Lays out the rows of a step, and writes its functions."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.d = plan, plan.derivation
        linear = Linear(self.d)
        self.targets: dict[Expr, Target] = {t.value: t for t in linear.targets}
        self.incoming = {e: k for k, e in enumerate(self.d.incoming)}
        self.arriving = {dv: k for k, (_, dv) in enumerate(self.d.cuts) if dv.varies}
        self.atoms = [*self.d.incoming, *[e for e in self.targets if e in linear.atoms]]
        self.rank = {e: k for k, e in enumerate(self.atoms)}
        self.rank |= {e: len(self.rank) + k for k, e in enumerate(self.arriving)}
        self.gates = self.order_of_gates()
        self.rows = self.order_of_rows()
        self.first = next(k for k, row in enumerate(self.rows) if row.target is self.gate_rows[self.gates[0]].target)

    # ---- rows

    def terms(self, e: Expr) -> list[Row]:
        """The rows of a gradient: terms whose factor is not 1, or one row for the sum of the others."""
        if e not in self.targets:  # an incoming gradient, unchanged
            return [Row(e, None, None)]
        rows = [Row(e, atom, f) for atom, f in self.targets[e].form.items() if not is_number(f, 1)]
        return rows or [Row(e, None, None)]

    def order_of_gates(self) -> list[int]:
        """The gates in the order of rows: of only h, of both, of only x; within these by their gradients."""
        plan, taken = self.plan, set()
        self.gate_rows: dict[int, Row] = {}
        """The first row of each gate, which will hold its gradient. Gates with equal gradients have separate rows."""
        for k, e in enumerate(self.d.gates):
            if e in taken or not e.varies:
                self.gate_rows[k] = Row(self.d.step.graph.node("gradient", (), ("row", k)), None, None)
            else:
                taken.add(e)
                self.gate_rows[k] = self.terms(e)[0]
        n, m = plan.of_both, plan.of_both + plan.of_x
        kinds = [range(m, m + plan.of_h), range(n), range(n, m)]
        return [k for kind in kinds for k in sorted(kind, key=lambda k: (-self.atom_rank(self.gate_rows[k]), k))]

    def atom_rank(self, row: Row) -> int:
        return -1 if row.atom is None else self.rank[row.atom]

    def order_of_rows(self) -> list[Row]:
        gates = [self.gate_rows[k] for k in self.gates]
        known = set(gates)
        others: dict[Row, None] = {}
        vectors = [e for e in self.d.vectors if e.varies]
        products = [dm for dm, _ in self.d.cuts if dm.varies]
        for e in [*self.targets, *[e for e in [*self.d.before, *vectors, *products] if e.varies]]:
            for row in self.terms(e):
                if row not in known:
                    others[row] = None
        before = [row for row in others if row.atom is gates[0].atom and row.atom is not gates[-1].atom]
        after = [row for row in others if row not in before]
        after.sort(key=lambda row: (row.atom is not gates[-1].atom, self.atom_rank(row)))
        return [*before, *gates, *after]

    def place(self, e: Expr) -> str:
        """The row that finally holds a gradient."""
        return self.view(self.index(self.terms(e)[0]))

    def index(self, row: Row) -> int:
        return self.rows.index(row)

    def view(self, lo: int, hi: int | None = None) -> str:
        hi = lo + 1 if hi is None else hi
        name = f"r{lo}" if hi == lo + 1 else f"r{lo}_{hi}"
        self.views[name] = (lo, hi)
        return name

    # ---- names

    def readable(self) -> dict[str, str]:
        """The names of the page, in place of rows and other places."""
        plan, d, names, last = self.plan, self.d, self.plan.names, self.plan.states - 1
        new = {f"g{k}": names[e] for k, e in enumerate(d.incoming)} | {"da": "d_gates"}
        h = "dm" if plan.projected else "dh"
        new |= {"dh": "dy_next", "dh_t": "dy"} if plan.projected else {"dm": "through_Wp"}
        new[h] = names[d.incoming[last]]
        new |= {f"p{k}": names.get(dv, "nothing") for k, (_, dv) in enumerate(d.cuts)}
        new |= {f"U{k}": n for k, n in enumerate(plan.matrix_names)}
        owners = {e: f"d{names[owner]}" for owner, e in d.ends.items()}
        for k, row in enumerate(self.rows):
            e = row.target
            found = f"d{plan.gate_names[e.value[1]]}" if isinstance(e.value, tuple) else owners.get(e, "sum")
            name = found if e in self.incoming else names.get(e, found)
            by = f"{name}_by_{names.get(row.atom, 'sum')}" if row.atom is not None else name
            new |= {f"r{k}": name if row == self.terms(e)[0] else by, f"D{k}": by}
        for lo, hi in self.views.values():
            own = [new[f"r{k}"] for k in range(lo, hi)]
            new.setdefault(f"r{lo}_{hi}", "_".join(own) if len(own) <= MANY else f"{own[0]}_to_{own[-1]}")
        return new

    # ---- the functions

    def back(self) -> Back:
        self.views: dict[str, tuple[int, int]] = {}
        function, sources, room, numbers = self.factors()
        d, zoned = self.d, (False, True) if self.plan.projected else (False,)
        bodies = {(each, z): self.loop(each, z) for each in (False, True) for z in zoned}
        read = set(re.findall(WORD, "\n".join(line for body in bodies.values() for line in body)))
        self.views = {name: place for name, place in self.views.items() if name in read}
        runs = {key: self.around(body, *key) for key, body in bodies.items()}
        vectors = {k: self.index(self.terms(e)[0]) for k, e in enumerate(d.vectors) if e.varies}
        products = {k: self.index(self.terms(dm)[0]) for k, (dm, _) in enumerate(d.cuts) if dm.varies}
        views = [(name, lo, hi) for name, (lo, hi) in self.views.items()]
        return Back(
            function, sources, room, numbers, runs, views, len(self.rows), self.gates, self.first, vectors,
            products, frozenset(k for _, (what, k) in sources if what == "before"),
        )  # fmt: skip

    def factors(self) -> tuple[Callable[..., None], Sources, tuple[int, int], list[float | Expr]]:
        """The function that computes all factors of a piece, and the values that are multiplied."""
        plan, step = self.plan, self.d.step
        slots = Slots(plan)
        at: dict[Expr, str] = {e: f"v{k}" for k, e in enumerate(step.vectors.values())}
        for array, found in (("z", step.masks.values()), ("b", step.states.values()), ("a", step.after)):
            for k, e in enumerate(found):
                if array != "a" or not (plan.projected and k == plan.states - 1):
                    at[e] = f"{array}{k}"
        at |= {e: f"s{slots.of[e]}" for e in slots.stored}
        kinds = {"z": "masks", "b": "before", "a": "after", "s": "saved"}
        ends = [row.factor for row in self.rows if row.factor is not None]
        multiplied = {k: m.args[0] for k, m in enumerate(step.cuts) if m.op == "product"}
        more = {f"u{k}": v for k, v in multiplied.items()}
        if plan.projected:
            more["o"] = step.after[-1]
        calls = Calls([*ends, *more.values()], at)
        for row, factor in self.in_page_order():
            calls.into(factor, f"D{self.index(row)}")
        for name, v in more.items():
            calls.into(v, name)
        read = set(re.findall(WORD, "\n".join(calls.lines)))
        used = {name: (kinds[name[0]], int(name[1:])) for name in at.values() if name[0] in kinds and name in read}
        body = unpacked(
            ([f"t{k}" for k in range(calls.count["t"])], "scratch"),
            ([f"m{k}" for k in range(calls.count["m"])], "bools"),
            (list(calls.numbers.values()), "numbers"), (list(used), "values"), (list(more), "operands"),
            ([f"v{k}" for k in range(plan.vectors)], "vectors"), ([f"D{k}" for k in range(len(self.rows))], "factors"),
        )  # fmt: skip
        names = self.readable() | scratch_names(calls)
        names |= {name: plan.names[e] for e, name in at.items()} | {name: plan.names[v] for name, v in more.items()}
        parameters = ["factors", "values", "operands", "vectors", "scratch", "bools", "numbers"]
        function = compiled(f"{plan.name}_factors", parameters, [*body, *calls.lines], names)
        return function, list(used.items()), (calls.count["t"], calls.count["m"]), list(calls.numbers)

    def in_page_order(self) -> list[tuple[Row, Expr]]:
        """The rows with their factors: those of one gradient together, because they share values, in the order of the
        page. A factor that is a part of others comes before them.
        """
        lines = {line.value: k for k, line in enumerate(self.d.lines)}
        rows = [(row, row.factor) for row in self.rows if row.factor is not None]
        rows.sort(key=lambda r: (self.atom_rank(r[0]), lines.get(r[0].target, len(lines))))
        return list(dict.fromkeys(r for _, factor in rows for e in needed([factor]) for r in rows if r[1] is e))

    def loop(self, each: bool, zoned: bool) -> list[str]:
        """The lines of a step back."""
        d, plan, last = self.d, self.plan, self.plan.states - 1
        whole = "dm" if plan.projected else "dh"
        at: dict[Expr, str] = {e: whole if k == last else f"g{k}" for e, k in self.incoming.items()}
        lines: list[str] = []
        done: set[Expr] = set()
        pending = dict(self.targets)

        def atom_is_there(e: Expr) -> None:
            """Multiply all its rows."""
            own = [k for k, row in enumerate(self.rows) if row.atom is e]
            while own:
                lo = hi = own.pop(0)
                while own and own[0] == hi + 1:
                    hi = own.pop(0)
                name = self.view(lo, hi + 1)
                lines.append(f"multiply({name}, {at[e]}, {name})")
            done.add(e)

        def settle() -> None:
            """Finish the sums whose terms are complete; terms that come through products follow."""
            again = True
            while again:
                again = False
                for e, target in list(pending.items()):
                    if all(atom in done for atom in target.form):
                        del pending[e]
                        again = True
                        add_up(e, target)
                        if e in self.rank:
                            atom_is_there(e)
                for k, (dm, dv) in enumerate(d.cuts):
                    if dv.varies and dv not in done and (dm in at) and (dm not in pending):
                        source = at[dm]
                        matrix = f"U{plan.cuts[k].matrix}"
                        kind = plan.cuts[k].kind
                        call = f"dot({matrix}, {source}" if kind == "product" else f"{BACK[kind]}({source}"
                        lines.append(f"{call}, p{k})")
                        at[dv] = f"p{k}"
                        atom_is_there(dv)
                        again = True

        def add_up(e: Expr, target: Target) -> None:
            terms = [self.view(self.index(row)) for row in self.terms(e)]
            plain = [at[atom] for atom, f in target.form.items() if is_number(f, 1)]
            where, *rest = terms
            if all(is_number(f, 1) for f in target.form.values()):  # the row only reserves space
                first, *plain = plain
                lines.append(f"add({first}, {plain.pop(0)}, {where})" if plain else f"copyto({where}, {first})")
            for one in (*rest, *plain):
                lines.append(f"add({where}, {one}, {where})")
            at[e] = where

        for e in self.incoming:
            atom_is_there(e)
        settle()
        assert not pending, pending
        for e in [*d.gates, *d.before, *d.vectors, *[dm for dm, _ in d.cuts]]:  # an incoming gradient, unchanged
            if e.varies and e not in self.targets and self.terms(e)[0] in self.rows:
                target = self.view(self.index(self.terms(e)[0]))
                if f"copyto({target}, {at[e]})" not in lines:
                    lines.append(f"copyto({target}, {at[e]})")
        for k in self.gates:
            row, e = self.gate_rows[k], d.gates[k]
            if isinstance(row.target.value, tuple):  # the gradient of another gate as well, or none
                target = self.view(self.index(row))
                lines.append(f"copyto({target}, {at[e]})" if e.varies else f"{target}.fill(0)")
        for k, e in enumerate(d.before[:-1]):
            lines.append(f"g{k} = {self.place(e) if e.varies else 'nothing'}")
        h = d.before[-1]
        carried = self.place(h) if h.varies else None
        if plan.reads_h:
            into = "dh" if carried is None or plan.projected else "through_R"
            self.views["da"] = self.first, self.first + plan.of_h + plan.of_both
            lines.append(f"dot(R_T, da, {into})")
            if into == "through_R":
                lines.append(f"add(through_R, {carried}, dh)")
            if zoned:
                lines.append("add(dh, through_R, dh)")
        else:
            lines.append(f"copyto(dh, {carried})" if carried else "dh.fill(0)")
        start = ["add(dh, dy_t, dh)"]
        if plan.projected:
            start = ["add(dh, dy_t, dh_t)", "dot(Wp_T, dh_t, dm)"]
        if zoned:  # the share of dh that goes to h' waits in through_R, which no projected cell needs
            start.insert(1, "multiply(dh_t, zoneout, through_R)")
            start.insert(2, "subtract(dh_t, through_R, dh_t)")
        if each and last:
            start.append("add(g0, dc_t, g0)")
        return [*start, *lines]

    def around(self, lines: list[str], each: bool, zoned: bool) -> Callable[..., Any]:
        """The function that goes back over the steps of a piece."""
        plan = self.plan
        inner = [f"g{k}" for k in range(plan.states - 1)]
        body = unpacked(
            ([f"p{k}" for k in range(len(plan.cuts))], "products"), ([f"U{k}" for k in range(plan.matrices)], "U_T"),
            (inner, "carried"),
        )  # fmt: skip
        arrays = ["dy_t", *["dh_t"] * plan.projected, *self.views, *["dc_t"] * each, *["zoneout"] * zoned]
        body += [f"for {', '.join(arrays)}, in steps:", *[f"    {line}" for line in lines]]
        body.append(f"return ({', '.join([*inner, ''])})" if inner else "return ()")
        parameters = ["steps", "dot", "R_T", "Wp_T", "U_T", "dh", "dm", "carried", "products", "through_R", "nothing"]
        return compiled(f"{plan.name}_backward", parameters, body, self.readable())
