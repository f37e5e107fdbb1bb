"""All steps of one direction backward, in the column layout.

The way back is linear (`minirnn.cells.linear`): the factors of many steps are computed at once, into the rows of their
steps. Then a step multiplies neighboring rows by one gradient, adds what belongs together, and multiplies by R.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.expr import Expr, is_number
from minirnn.cells.linear import Linear, Target
from minirnn.cells.plan import Plan
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns import direction
from minirnn.devices.cpu.columns.direction import all_steps, backward_pieces, product_of_step
from minirnn.devices.cpu.columns.visit import Array, steps_at_once
from minirnn.devices.cpu.own_cell.calls import Calls, compiled
from minirnn.devices.cpu.own_cell.forward import Direction, Kept, Weights, mean
from minirnn.devices.cpu.own_cell.slots import Slots


class Row(NamedTuple):
    """A term ``factor * atom`` of a gradient."""

    target: Expr
    atom: Expr | None
    factor: Expr | None


class Gradients(NamedTuple):
    """What a backward pass reads besides the direction, and the arrays that it fills."""

    dy: Array  # (T, B, P)
    dh_n: Array  # (B, P)
    dc_n: Array | None  # (states-1, B, H)
    dweights: Weights
    dx: Array | None  # (T, B, I), if it is wanted
    accumulate: bool  # add to dx rather than set it


class Back(NamedTuple):
    """The two functions of a plan, and where everything lies."""

    factors: Callable[..., None]
    sources: list[tuple[str, tuple[Any, ...]]]
    factor_room: tuple[int, int]
    factor_numbers: list[float]
    run: Callable[..., Any]
    views: list[tuple[str, int, int]]
    rows: int
    gates: list[int]
    """The gates in the order of their rows, which begin at `first`."""
    first: int
    vectors: dict[int, int]
    multiplied: dict[int, int]
    """Vector, or cut, -> row of its gradient."""


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
        self.first = next(k for k, row in enumerate(self.rows) if row.target is self.gate_row(self.gates[0]).target)

    # ---- rows

    def terms(self, e: Expr) -> list[Row]:
        """The rows of a gradient: terms whose factor is not 1, or one row for the sum of the others."""
        if e not in self.targets:  # a gradient that came in, as it is
            return [Row(e, None, None)]
        rows = [Row(e, atom, f) for atom, f in self.targets[e].form.items() if not is_number(f, 1)]
        return rows or [Row(e, None, None)]

    def gate_row(self, k: int) -> Row:
        """The first row of a gate, where its gradient will be. Gates with equal gradients have rows of their own."""
        return self.gate_rows[k]

    def order_of_gates(self) -> list[int]:
        """The gates in the order of rows: of h alone, of both, of x alone; within these by their gradients."""
        plan, taken = self.plan, set()
        self.gate_rows: dict[int, Row] = {}
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
        """The row where a gradient is in the end."""
        return self.view(self.index(self.terms(e)[0]))

    def index(self, row: Row) -> int:
        return self.rows.index(row)

    def view(self, lo: int, hi: int | None = None) -> str:
        hi = lo + 1 if hi is None else hi
        name = f"r{lo}" if hi == lo + 1 else f"r{lo}_{hi}"
        self.views[name] = (lo, hi)
        return name

    # ---- the functions

    def back(self) -> Back:
        self.views: dict[str, tuple[int, int]] = {}
        factors = self.factors()
        run = self.loop()
        d, plan = self.d, self.plan
        vectors = {k: self.index(self.terms(e)[0]) for k, e in enumerate(d.vectors) if e.varies}
        products = {k: self.index(self.terms(dm)[0]) for k, (dm, _) in enumerate(d.cuts) if dm.varies}
        views = [(name, lo, hi) for name, (lo, hi) in self.views.items()]
        return Back(*factors, run, views, len(self.rows), self.gates, self.first, vectors, products)

    def factors(self) -> tuple[Any, ...]:
        """The function that computes all factors of a piece, and the values that are multiplied."""
        plan, d, step = self.plan, self.d, self.d.step
        slots = Slots(plan)
        at: dict[Expr, str] = {e: f"v{k}" for k, e in enumerate(step.vectors.values())}
        sources: dict[str, tuple[Any, ...]] = {}
        for array, found in (("z", step.masks.values()), ("b", step.states.values()), ("a", step.after)):
            for k, e in enumerate(found):
                if array != "a" or not (plan.projected and k == plan.states - 1):
                    at[e] = f"{array}{k}"
        at |= {e: f"s{slots.of[e]}" for e in plan.saved_values}
        kinds = {"z": "masks", "b": "before", "a": "after", "s": "saved"}
        ends = [row.factor for row in self.rows if row.factor is not None]
        multiplied = {k: m.args[0] for k, m in enumerate(step.cuts) if m.op == "product"}
        more = {f"u{k}": v for k, v in multiplied.items()}
        if plan.projected:
            more["o"] = step.after[-1]
        calls = Calls([*ends, *more.values()], at)
        for row in sorted(self.rows, key=lambda r: -1 if r.factor is None else r.factor.index):
            if row.factor is not None:
                calls.into(row.factor, f"D{self.index(row)}")
        for name, v in more.items():
            calls.into(v, name)
        text = "\n".join(calls.lines)
        for name in at.values():
            if name[0] in kinds:
                sources[name] = kinds[name[0]], int(name[1:])
        used = {n: s for n, s in sources.items() if f"({n}," in text or f" {n}," in text or f" {n})" in text or f"={n})" in text}
        body = [
            f"({', '.join(names)},) = {source}"
            for names, source in (
                ([f"t{k}" for k in range(calls.count["t"])], "T"), ([f"m{k}" for k in range(calls.count["m"])], "M"),
                (list(calls.numbers.values()), "K"), (list(used), "S"), (list(more), "O"),
                ([f"v{k}" for k in range(plan.vectors)], "vectors"), ([f"D{k}" for k in range(len(self.rows))], "D"),
            )
            if names
        ]  # fmt: skip
        function = compiled(f"{plan.name}_factors", ["D", "S", "O", "vectors", "T", "M", "K"], [*body, *calls.lines])
        return function, list(used.items()), (calls.count["t"], calls.count["m"]), list(calls.numbers)

    def loop(self) -> Callable[..., Any]:
        """The function that goes back over the steps of a piece."""
        d, plan = self.d, self.plan
        at: dict[Expr, str] = {e: f"g{k}" for e, k in self.incoming.items()}
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
                if hi == lo:
                    name = self.view(lo)
                    lines.append(f"multiply({name}, {at[e]}, {name})")
                else:
                    name = self.view(lo, hi + 1)
                    lines.append(f"multiply({name}, {at[e]}, {name})")
            done.add(e)

        def settle() -> None:
            """Finish the sums whose terms are all there; what comes through products follows."""
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
                        is_product = plan.cuts[k].kind == "product"
                        lines.append(f"dot({matrix}, {source}, p{k})" if is_product else f"mean({source}, p{k})")
                        at[dv] = f"p{k}"
                        atom_is_there(dv)
                        again = True

        def add_up(e: Expr, target: Target) -> None:
            terms = [self.view(self.index(row)) for row in self.terms(e)]
            plain = [at[atom] for atom, f in target.form.items() if is_number(f, 1)]
            where, *rest = terms
            if all(is_number(f, 1) for f in target.form.values()):  # the row is only a place
                first, *plain = plain
                lines.append(f"add({first}, {plain.pop(0)}, {where})" if plain else f"copyto({where}, {first})")
            for one in (*rest, *plain):
                lines.append(f"add({where}, {one}, {where})")
            at[e] = where

        for e in self.incoming:
            atom_is_there(e)
        settle()
        assert not pending, pending
        for e in [*d.gates, *d.before, *d.vectors, *[dm for dm, _ in d.cuts]]:  # what came in as it is
            if e.varies and e not in self.targets and self.terms(e)[0] in self.rows:
                target = self.view(self.index(self.terms(e)[0]))
                if f"copyto({target}, {at[e]})" not in lines:
                    lines.append(f"copyto({target}, {at[e]})")
        for k in self.gates:
            row, e = self.gate_rows[k], d.gates[k]
            if isinstance(row.target.value, tuple):  # a gradient that another gate has, too, or none
                target = self.view(self.index(row))
                lines.append(f"copyto({target}, {at[e]})" if e.varies else f"{target}.fill(0)")
        last = plan.states - 1
        for k, e in enumerate(d.before[:-1]):
            lines.append(f"g{k} = {self.place(e) if e.varies else 'nothing'}")
        h = d.before[-1]
        carried = self.place(h) if h.varies else None
        if plan.reads_h:
            into = "dh" if carried is None or plan.projected else "through_R"
            lines.append(f"dot(R_T, {self.view(self.first, self.first + plan.of_h + plan.of_both)}, {into})")
            if into == "through_R":
                lines.append(f"add(through_R, {carried}, dh)")
        else:
            lines.append(f"copyto(dh, {carried})" if carried else "dh.fill(0)")
        start = ["add(dh, dy_t, dh)"]
        if plan.projected:
            start = ["add(dh, dy_t, dh_t)", f"dot(Wp_T, dh_t, g{last})"]
        products = [f"p{k}" for k in range(len(plan.cuts))]
        inner = [f"g{k}" for k in range(last)]
        body = [
            f"({', '.join(names)},) = {source}"
            for names, source in (
                (products, "P"), ([f"U{k}" for k in range(plan.products)], "U_T"), (inner, "G"),
            )
            if names
        ]  # fmt: skip
        body.append(f"g{last} = dm" if plan.projected else f"g{last} = dh")
        names = ["dy_t", "dh_t", *self.views]
        body += [f"for {', '.join(names)}, in steps:", *[f"    {line}" for line in (*start, *lines)]]
        body.append(f"return ({', '.join([*inner, ''])})" if inner else "return ()")
        parameters = ["steps", "dot", "R_T", "Wp_T", "U_T", "dh", "dm", "G", "P", "through_R", "nothing"]
        return compiled(f"{plan.name}_backward", parameters, body, {"mean": mean})


def reordered(rows: Array, gates: Sequence[int], H: int) -> Array:
    """A copy of rows, H for each gate, in another order of the gates; the same array if that is theirs already."""
    if list(gates) == list(range(len(gates))):
        return rows
    out = workspace.empty(rows.shape, rows.dtype)
    for k, gate in enumerate(gates):
        out[k * H : (k + 1) * H] = rows[gate * H : (gate + 1) * H]
    return out


def put_back(rows: Array, gates: Sequence[int], H: int, out: Array) -> None:
    """The inverse of `reordered`, into `out`."""
    if rows is not out:
        for k, gate in enumerate(gates):
            out[gate * H : (gate + 1) * H] = rows[k * H : (k + 1) * H]


def backward(plan: Plan, d: Direction, g: Gradients, kept: Kept) -> tuple[Array, list[Array]]:
    """Set the gradients of the weights and dx (or add to dx); return dh0 (B, P) and those of the other states (B, H)."""
    back, w = back_of(plan), d.weights
    (T, B, _), P, dtype = d.x.shape, d.h0.shape[1], d.x.dtype
    H, dot = len(w.b) // len(plan.gate_names), product_of_step(B)
    n = steps_at_once(T, B, H)
    D = workspace.empty((n, back.rows, H, B), dtype)
    flat = D.reshape(n, back.rows * H, B)
    G = len(back.gates)
    step_da = flat[:, back.first * H : (back.first + G) * H]
    da = all_steps(step_da, T)
    dy = g.dy.transpose(0, 2, 1)
    R_T = R = None
    n_h = plan.of_h + plan.of_both
    of_R = [k if k < plan.of_both else k - plan.of_x for k in back.gates[:n_h]]
    if w.R is not None:
        R = reordered(w.R, of_R, H)
        R_T = direction.transposed(R) if B > 1 else R.T
    dh = np.zeros((P, B), dtype)
    nothing = np.zeros((H, B), dtype)
    dm, through_R = np.empty((H, B), dtype), np.empty((P, B), dtype)
    inner = [np.zeros((H, B), dtype) for _ in range(plan.states - 1)]
    dh_all = workspace.empty((T, P, B), dtype) if plan.projected else None
    room = [np.empty((n, H, B), dtype) for _ in range(back.factor_room[0])]
    bools = [np.empty((n, H, B), bool) for _ in range(back.factor_room[1])]
    multiplied = [k for k, c in enumerate(plan.cuts) if c.kind == "product"]
    extra = [workspace.empty((n, H, B), dtype) for _ in multiplied]
    m_all = workspace.empty((T, H, B), dtype) if plan.projected else None
    products = [np.empty((H if c.kind == "product" else 1, B), dtype) for c in plan.cuts]
    numbers = [np.array(k, dtype) for k in back.factor_numbers]
    vectors, U_T = [v[:, None] for v in w.vectors], [U.T for U in w.U]
    for dv in (*g.dweights.vectors, *g.dweights.U):
        dv[...] = 0
    values = arrays_of(plan, back, d, kept, T)
    views = [list(flat[:, lo * H : hi * H]) if hi > lo + 1 else list(D[:, lo]) for _, lo, hi in back.views]
    blocks = [list(D[:, lo:hi]) if hi > lo + 1 else v for (_, lo, hi), v in zip(back.views, views, strict=True)]
    for j, (_, lo, hi) in enumerate(back.views):  # a block times a gradient (H, B); R's rows as a matrix
        if (lo, hi) == (back.first, back.first + n_h) and back.views[j][0] in back.run.__doc__.split("dot(R_T, ")[-1]:
            continue
        views[j] = blocks[j]
    dh0, dc0 = np.empty((B, P), dtype), [np.empty((B, H), dtype) for _ in inner]
    for piece in backward_pieces(d, g.dh_n, dh, dh0, step_da, da):
        lo, hi, k = piece.lo, piece.hi, piece.hi - piece.lo outs = [*(a[:k] for a in extra), *([] if m_all is None else
        [m_all[lo:hi]])] rows = list(D[:k].swapaxes(0, 1)) back.factors(rows, [a[lo:hi] for a in values], outs, vectors,
        [t[:k] for t in room], [b[:k] for b in bools], numbers) for j, a in enumerate(inner):
            assert g.dc_n is not None
            piece.join(g.dc_n[j], a)
        columns = [dy[lo:hi], [None] * k if dh_all is None else dh_all[lo:hi], *[v[:k] for v in views]] steps =
        [piece.order(c) for c in columns] ends = back.run(zip(*steps, strict=True), dot, R_T, None if w.Wp is None else
        w.Wp.T, U_T, dh, dm, inner, products,
                        through_R, nothing)  # fmt: skip
        for a, end, out in zip(inner, ends, dc0, strict=True):
            a[...] = end
            piece.leave(a, out)
            if d.visit.lengths is not None:
                a[:, piece.leaving] = 0
        if d.visit.lengths is not None:
            D[:k, :, :, d.visit.lengths <= lo] = 0  # columns without a sample
            for a in outs:
                a[:, :, d.visit.lengths <= lo] = 0
        for v, row in back.vectors.items():
            g.dweights.vectors[v][...] += np.add.reduce(D[:k, row], (0, 2))
        for a, cut in zip(extra, multiplied, strict=True):
            if cut in back.multiplied:
                left = D[:k, back.multiplied[cut]].transpose(1, 0, 2).reshape(H, k * B)
                g.dweights.U[plan.cuts[cut].matrix][...] += left @ a[:k].transpose(1, 0, 2).reshape(H, k * B).T
    weight_gradients(plan, back, d, g, da.reshape(G * H, T * B), of_R, H)
    if m_all is not None and dh_all is not None and g.dweights.Wp is not None:
        left, right = (a.transpose(1, 0, 2).reshape(a.shape[1], T * B) for a in (dh_all, m_all))
        np.matmul(left, right.T, out=g.dweights.Wp)
    return dh0, dc0


def arrays_of(plan: Plan, back: Back, d: Direction, kept: Kept, T: int) -> list[Array]:
    """The values that factors read, (T, H, B) each."""
    found = []
    up = int(not d.visit.reverse)
    for _, (what, k) in back.sources:
        if what == "saved":
            found.append(kept.saved[:, k])
        elif what == "masks":
            found.append(d.masks[k][:T].transpose(0, 2, 1))
        elif k == plan.states - 1:
            source = kept.h_before if what == "before" else d.y.transpose(0, 2, 1)
            assert source is not None
            found.append(source)
        else:
            start = up if what == "after" else 1 - up
            found.append(kept.inner[k][start : start + T])
    return found


def weight_gradients(
    plan: Plan, back: Back, d: Direction, g: Gradients, da: Array, of_R: Sequence[int], H: int
) -> None:
    """The gradients of x, W, R and b        da (G*H, T*B), gates in the order of `back`"""
    w, n_h = d.weights, plan.of_h + plan.of_both
    dW, dR, db = g.dweights.W, g.dweights.R, g.dweights.b
    if w.W is not None and dW is not None:
        of_W = back.gates[plan.of_h :]
        W = reordered(w.W, of_W, H)
        own = dW if W is w.W else workspace.empty(W.shape, W.dtype)
        like = direction.Weights(W, w.b, None, w.b, w.b)
        at = direction.Direction(d.x, d.h0, None, like, None, d.visit, d.y)
        to = direction.Gradients(g.dy, g.dh_n, None, like._replace(W=own), g.dx, g.accumulate)
        direction.input_gradients(at, to, da[plan.of_h * H :])
        put_back(own, of_W, H, dW)
    elif g.dx is not None and not g.accumulate:
        g.dx[...] = 0
    if dR is not None:
        like = direction.Weights(None, w.b, None, w.b, w.b)
        at = direction.Direction(d.x, d.h0, None, like, None, d.visit, d.y)
        own = dR if of_R == list(range(len(of_R))) else workspace.empty(dR.shape, dR.dtype)
        direction.recurrent_gradient(at, da[: n_h * H], own)
        put_back(own, of_R, H, dR)
    put_back(da @ np.ones(da.shape[1], da.dtype), back.gates, H, db)
