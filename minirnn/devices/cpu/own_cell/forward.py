"""All steps of one direction forward, in the column layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.expr import CUTS, Expr
from minirnn.cells.plan import Plan
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns.direction import forward_pieces, left_matrix, product_of_step, project
from minirnn.devices.cpu.columns.visit import Array, Visit, steps_at_once
from minirnn.devices.cpu.own_cell.calls import HALVES, Calls, compiled
from minirnn.devices.cpu.own_cell.slots import SMOOTH, Run, Slots
from minirnn.devices.cpu.own_cell.way_back import back_of


class Weights(NamedTuple):
    """The weights of one direction, gates in the order of the plan, or their gradients."""

    W: Array | None  # (rows, I)
    R: Array | None  # (rows, P)
    Wp: Array | None  # (P, H)
    b: Array  # (G*H,)
    U: Sequence[Array]  # (H, H) each
    vectors: Sequence[Array]  # (H,) each


class Direction(NamedTuple):
    """The inputs of a forward pass, and the array y that it fills."""

    x: Array  # (T, B, I)
    h0: Array  # (B, P)
    c0: Array | None  # (states-1, B, H)
    weights: Weights
    visit: Visit
    y: Array  # (T, B, P)
    masks: Sequence[Array]  # (T, B, H) each


class Kept(NamedTuple):
    """The values that the backward pass reads."""

    saved: Array  # (T, slots, H, B)
    h_before: Array | None  # (T, H, B), if it reads that
    inner: list[Array]  # (T+1, H, B), the states but the last before and after each step


class Loop(NamedTuple):
    """The steps of a piece as a function, and its arguments."""

    run: Callable[..., None]
    slots: Slots
    views: list[tuple[str, tuple[Any, ...]]]
    """Maps the names of the arrays of a step to their code."""
    temporaries: int
    masks: int
    numbers: list[float]


def loop_of(plan: Plan) -> Loop:
    """The loop over steps, written and compiled once."""
    if "numpy forward" not in plan.made:
        plan.made["numpy forward"] = written(plan)
    found: Loop = plan.made["numpy forward"]
    return found


def written(plan: Plan) -> Loop:
    slots, step = Slots(plan), plan.derivation.step
    gates = list(step.gates.values())
    views: dict[str, tuple[Any, ...]] = {}

    def view(name: str, *what: Any) -> str:
        views[name] = what
        return name

    at: dict[Expr, str] = {}
    for e, slot in slots.of.items():
        if e in gates:
            at[e] = view(f"s{slot}", "slots", slot, slot + 1)
    for k, e in enumerate(gates[plan.of_both : plan.of_both + plan.of_x]):
        at[e] = view(f"x{k}", "x", plan.of_both + k, plan.of_both + k + 1)
    for k, e in enumerate(step.states.values()):
        at[e] = view("h", "h") if k == plan.states - 1 else view(f"b{k}", "before", k)
    at |= {e: f"v{k}" for k, e in enumerate(step.vectors.values())}
    for k, e in enumerate(step.masks.values()):
        at[e] = view(f"z{k}", "masks", k)

    calls = Calls([*step.after, *slots.kept], at)
    if plan.reads_h:
        block = view("R_rows", "slots", 0, slots.rows_of_R)
        calls.say(f"dot(Rb, {view('h1', 'h1')}, {block})")
        if plan.of_both:
            own = view("both", "slots", plan.of_h, slots.rows_of_R)
            calls.say(f"add({own}, {view('x_both', 'x', 0, plan.of_both)}, {own})")
    guests = {e: run for run in slots.runs for e in run.values}
    started: set[int] = set()

    def activate(run: Run) -> None:
        for e in run.values:
            (a,) = e.args
            if a not in gates:
                calls.into(a, view(f"s{slots.of[e]}", "slots", slots.of[e], slots.of[e] + 1))
            calls.done(a)
        whole = view(f"run{run.lo}_{run.hi}", "slots", run.lo, run.hi)
        if run.lo + run.direct < run.mid:
            part = view(f"run{run.lo + run.direct}_{run.mid}", "slots", run.lo + run.direct, run.mid)
            calls.say(f"multiply({part}, HALF, {part})")
        calls.say(f"tanh({whole}, {whole})")
        if run.mid > run.lo:
            part = view(f"run{run.lo}_{run.mid}", "slots", run.lo, run.mid)
            calls.say(f"multiply({part}, HALF, {part})", f"add({part}, HALF, {part})")
        for e in run.values:
            calls.at[e] = view(f"s{slots.of[e]}", "slots", slots.of[e], slots.of[e] + 1)

    def place(e: Expr) -> str | None:
        """The place of a value: its slot, or the state after the step."""
        if e in slots.of:
            return view(f"s{slots.of[e]}", "slots", slots.of[e], slots.of[e] + 1)
        if e in step.after and not (plan.projected and e is step.after[-1]):
            k = step.after.index(e)
            return view("h_new", "h_new") if k == plan.states - 1 else view(f"a{k}", "after", k)
        return None

    for e in sorted(step.nodes, key=lambda e: (slots.levels[e], e.op not in SMOOTH, e.index)):
        if e in guests:
            if guests[e].lo not in started:
                started.add(guests[e].lo)
                activate(guests[e])
        elif e.op in CUTS:
            between(plan, calls, e)
        elif e not in calls.at and (e.op in SMOOTH or e in step.after or e in slots.kept):
            calls.into(e, place(e))
    for e in slots.kept:
        target = place(e)
        if target is not None and calls.at[e] != target:
            calls.say(f"copyto({target}, {calls.at[e]})")
    for k, e in enumerate(step.after):
        last = k == plan.states - 1
        target = view("h_new", "h_new") if last else view(f"a{k}", "after", k)
        if last and plan.projected:
            calls.say(f"dot(Wp, {calls.get(e)}, {target})")
        elif calls.at[e] != target:
            calls.say(f"copyto({target}, {calls.at[e]})")
    return finish("forward", plan, calls, slots, views)


def between(plan: Plan, calls: Calls, m: Expr) -> None:
    """The product of a value with its matrix, or its mean."""
    (v,) = m.args
    k = plan.derivation.step.cuts.index(m)
    source = calls.get(v)
    if source[0] in "vp":  # the same for all samples, or for all units
        wide = calls.new("t")
        calls.say(f"copyto({wide}, {source})")
        source = wide
    calls.done(v)
    matrix = f"U{plan.cuts[k].matrix}"
    calls.say(f"dot({matrix}, {source}, p{k})" if m.op == "product" else f"mean({source}, p{k})")
    calls.at[m] = f"p{k}"


def finish(name: str, plan: Plan, calls: Calls, slots: Slots, views: dict[str, tuple[Any, ...]]) -> Loop:
    """The loop around the calls of a step."""
    temporaries = [f"t{k}" for k in range(calls.count["t"])]
    masks = [f"m{k}" for k in range(calls.count["m"])]
    products = [f"p{k}" for k in range(len(plan.cuts))]
    parameters = ["steps", "dot", "Rb", "Wp", "U", "vectors", "HALF", "T", "M", "P", "K"]
    body = [
        f"({', '.join(names)},) = {source}"
        for names, source in (
            (temporaries, "T"), (masks, "M"), (products, "P"), (list(calls.numbers.values()), "K"),
            ([f"U{k}" for k in range(plan.products)], "U"), ([f"v{k}" for k in range(plan.vectors)], "vectors"),
        )
        if names
    ]  # fmt: skip
    body += [f"for {', '.join(views)}, in steps:", *[f"    {line}" for line in calls.lines]]
    run = compiled(f"{plan.name}_{name}", parameters, body)
    return Loop(run, slots, list(views.items()), len(temporaries), len(masks), list(calls.numbers))


def permuted(rows: Array, order: Sequence[int], H: int, start: int) -> list[tuple[Array, slice]]:
    """The rows of each gate in `order`, and their target."""
    return [(rows[(start + k) * H : (start + k + 1) * H], slice(j * H, (j + 1) * H)) for j, k in enumerate(order)]


def left_weights(
    plan: Plan, slots: Slots, w: Weights, B: int, H: int
) -> tuple[Array | None, Array | None, Array | None]:
    """[R | b] in the order of the slots; W and the bias of its own rows; halved where a sigmoid follows."""
    half, dtype = w.b.dtype.type(0.5), w.b.dtype
    n, of_x = plan.of_both, plan.of_x
    Rb = W = None
    if w.R is not None:
        P = w.R.shape[1]
        Rb = left_matrix(slots.rows_of_R * H, P + 1, B, dtype)
        of_h = slice(0, plan.of_h * H)
        Rb[of_h, :P], Rb[of_h, P] = w.R[n * H :], w.b[(n + of_x) * H :]
        for (source, to), k, halved in zip(permuted(w.R, slots.both, H, 0), slots.both, slots.halved, strict=True):
            rows = Rb[plan.of_h * H + to.start : plan.of_h * H + to.stop]
            factor = half if halved else dtype.type(1)
            np.multiply(source, factor, rows[:, :P])
            np.multiply(w.b[k * H : (k + 1) * H], factor, rows[:, P])
    if w.W is not None:
        W = workspace.empty(w.W.shape, dtype)
        for (source, to), halved in zip(permuted(w.W, slots.both, H, 0), slots.halved, strict=True):
            np.multiply(source, half if halved else dtype.type(1), W[to])
        W[n * H :] = w.W[n * H :]
    b_x = w.b[n * H : (n + of_x) * H, None] if of_x else None
    return Rb, W, b_x


def forward(plan: Plan, d: Direction, keep: bool) -> tuple[Array, list[Array], Kept | None]:
    """Set y (T, B, P); return h_n (B, P), the other states (B, H) each, and the values that the backward pass reads."""
    loop = loop_of(plan)
    slots, w = loop.slots, d.weights
    (T, B, width), P, H, dtype = d.x.shape, d.h0.shape[1], len(w.b) // len(plan.gate_names), d.x.dtype
    dot = product_of_step(B)
    Rb, W, b_x = left_weights(plan, slots, w, B, H)
    n = steps_at_once(T, B, H, width)
    rows_x = plan.of_both + plan.of_x
    a_x = workspace.empty((n, rows_x * H, B), dtype)
    states = workspace.empty((n + 1, P + 1, B), dtype)  # [h; 1] before and after each step of a piece
    states[0], states[:, P] = 0, 1
    saved = workspace.empty((T if keep else 1, slots.count, H, B), dtype)
    inner = [workspace.empty((T + 1, H, B), dtype) for _ in range(plan.states - 1)]
    for a in inner:
        a[-1 if d.visit.reverse else 0] = 0
    h_before = None
    if keep and back_of(plan).reads_before(plan.states - 1):
        h_before = workspace.empty((T, H, B), dtype)
    masks = [m[:T].transpose(0, 2, 1) for m in d.masks]
    up = int(not d.visit.reverse)

    flat = saved.reshape(len(saved), slots.count * H, B)
    whole: dict[str, list[Array]] = {}
    for name, (what, *place) in loop.views:
        if what == "slots":
            lo, hi = place
            views = list(flat[:, lo * H : hi * H])
            whole[name] = views if keep else views * T
        elif what in ("before", "after"):
            start = up if what == "after" else 1 - up
            whole[name] = list(inner[place[0]][start : start + T])
        elif what == "masks":
            whole[name] = list(np.ascontiguousarray(masks[place[0]]))

    room = [*(np.empty((H, B), dtype) for _ in range(loop.temporaries))]
    bools = [np.empty((H, B), bool) for _ in range(loop.masks)]
    products = [np.empty((H if c.kind == "product" else 1, B), dtype) for c in plan.cuts]
    numbers = [np.array(k, dtype) for k in loop.numbers]
    vectors = [v[:, None] for v in w.vectors]
    h_n, c_n = np.empty((B, P), dtype), [np.empty((B, H), dtype) for _ in inner]
    for piece, h_in, h_out in forward_pieces(d, states, h_n):
        x, k = d.x[piece.lo : piece.hi], len(h_in)
        if W is not None:
            project(W, x, a_x[:k])
            if b_x is not None:
                np.add(a_x[:k, plan.of_both * H :], b_x, a_x[:k, plan.of_both * H :])
        first = piece.first if up else piece.first + 1
        for j, a in enumerate(inner):
            assert d.c0 is not None
            piece.join(d.c0[j], a[first])
        columns = []
        for name, (what, *place) in loop.views:
            if what == "x":
                columns.append(list(piece.order(a_x[:k, place[0] * H : place[1] * H])))
            elif what == "h1":
                columns.append(list(h_in))
            elif what == "h":
                columns.append(list(h_in[:, :P]))
            elif what == "h_new":
                columns.append(list(h_out))
            else:
                columns.append(whole[name][piece.steps])
        loop.run(zip(*columns, strict=True), dot, Rb, w.Wp, w.U, vectors, HALVES[dtype], room, bools, products, numbers)
        if h_before is not None:
            h_before[piece.steps] = h_in[:, :P]
        last = piece.last + up
        for a, end in zip(inner, c_n, strict=True):
            piece.leave(a[last], end)
    return h_n, c_n, Kept(saved, h_before, inner) if keep else None
