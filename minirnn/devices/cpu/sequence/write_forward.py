"""The loop over the steps of a plan forward, written as a function of NumPy calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from minirnn.cells.expr import COMPARISONS, CUTS, Expr
from minirnn.cells.plan import Plan
from minirnn.devices.cpu.sequence.calls import WORD, Calls, compiled, scratch_names, unpacked
from minirnn.devices.cpu.sequence.slots import SMOOTH, Run, Slots


class Ahead(NamedTuple):
    """The values that no state reaches, as a function that computes them for many steps, and its arguments."""

    run: Callable[..., None]
    sources: list[tuple[str, int]]
    """The gates and masks that it reads."""
    slots: list[int | None]
    """The slot of each value that it sets, or None for one that is not saved."""
    temporaries: int
    masks: int
    numbers: list[float | Expr]


class Loop(NamedTuple):
    """The steps of a piece as a function, and its arguments. `ahead` comes before it."""

    run: Callable[..., None]
    ahead: Ahead
    slots: Slots
    views: list[tuple[str, tuple[Any, ...]]]
    """Maps the names of the arrays of a step to their code."""
    temporaries: int
    masks: int
    numbers: list[float | Expr]


def loop_of(plan: Plan, merged: bool = False, zoned: bool = False, wide: bool = False) -> Loop:
    """The loop over steps, written and compiled once. `merged`: the product of a step includes x.

    `zoned`: the projected h keeps a share of the old one. `wide`: one step is work enough for each call, so nothing
    comes before the loop.
    """
    name = f"numpy forward {merged} {zoned} {wide}"
    if name not in plan.made:
        plan.made[name] = written(plan, merged, zoned, wide)
    found: Loop = plan.made[name]
    return found


def written(plan: Plan, merged: bool, zoned: bool, wide: bool) -> Loop:
    slots, step = Slots(plan), plan.derivation.step
    gates = list(step.gates.values())
    views: dict[str, tuple[Any, ...]] = {}

    def view(name: str, *what: Any) -> str:
        views.setdefault(name, what)
        return name

    at: dict[Expr, str] = {}
    early: set[Expr] = set() if wide else independent(plan)
    for e, slot in slots.of.items():
        if e in gates and e not in early:
            at[e] = at[slots.shifted.get(e, e)] = view(f"s{slot}", "slots", slot, slot + 1)
    for k, e in enumerate(gates[plan.of_both : plan.of_both + plan.of_x]):
        at[e] = view(f"x{k}", "x", plan.of_both + k, plan.of_both + k + 1)
    for k, e in enumerate(step.states.values()):
        at[e] = view("h", "h") if k == plan.states - 1 else view(f"b{k}", "before", k)
    at |= {e: f"v{k}" for k, e in enumerate(step.vectors.values())}
    for k, e in enumerate(step.masks.values()):
        at[e] = view(f"z{k}", "masks", k)

    front = read_by_loop(plan, slots, early)
    outputs = {e: f"s{slots.of[e]}" if e in slots.of else f"_early{k}" for k, e in enumerate(front)}
    ahead = written_ahead(plan, slots, outputs)
    for k, (e, name) in enumerate(outputs.items()):
        at[e] = view(name, "ahead", k)
    calls = Calls([*step.after, *slots.stored], at)
    if plan.reads_h:
        block = view("R_rows", "slots", 0, slots.rows_of_R)
        calls.say(f"dot(Rb, {view('h1', 'h1')}, {block})")
        if plan.of_both and not merged:
            own = view("both", "slots", plan.of_h, slots.rows_of_R)
            calls.say(f"add({own}, {view('x_both', 'x', 0, plan.of_both)}, {own})")
    guests = {e: run for run in slots.runs for e in run.values}
    started: set[int] = set()

    def slots_of(lo: int, hi: int) -> str:
        return view(f"s{lo}" if hi == lo + 1 else f"run{lo}_{hi}", "slots", lo, hi)

    def activate(run: Run) -> None:
        for e in run.values:
            (a,) = e.args
            if a not in gates and a not in slots.shifted.values():
                calls.into(a, view(f"s{slots.of[e]}", "slots", slots.of[e], slots.of[e] + 1))
            calls.done(a)
        whole = slots_of(run.lo, run.hi)
        if run.lo + run.direct < run.mid:
            part = slots_of(run.lo + run.direct, run.mid)
            calls.say(f"multiply({part}, HALF, {part})")
        calls.say(f"tanh({whole}, {whole})")
        if run.mid > run.lo:
            part = slots_of(run.lo, run.mid)
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

    late = [e for e in step.nodes if e not in early]
    for e in sorted(late, key=lambda e: (slots.levels[e], e.op not in SMOOTH, e.index)):
        if e in guests:
            if guests[e].lo not in started:
                started.add(guests[e].lo)
                activate(guests[e])
        elif e.op in CUTS:
            between(plan, calls, e)
        elif e not in calls.at and (e.op in SMOOTH or e in step.after or e in slots.stored):
            calls.into(e, place(e))
    for e in slots.stored:
        target = place(e)
        if target is not None and calls.at[e] != target:
            calls.say(f"copyto({target}, {calls.at[e]})")
    for k, e in enumerate(step.after):
        last = k == plan.states - 1
        target = view("h_new", "h_new") if last else view(f"a{k}", "after", k)
        if last and plan.projected:
            calls.say(f"dot(Wp, {calls.get(e)}, {target})")
            if zoned:
                zoneout, rest = view("zoneout", "masks", plan.masks), view("rest", "masks", plan.masks + 1)
                part = view("part", "part")
                calls.say(f"multiply({view('h', 'h')}, {zoneout}, {part})", f"multiply({target}, {rest}, {target})")
                calls.say(f"add({target}, {part}, {target})")
        elif calls.at[e] != target:
            calls.say(f"copyto({target}, {calls.at[e]})")
    return finish(plan, calls, slots, views, ahead)


def independent(plan: Plan) -> set[Expr]:
    """The values that gates of x or masks reach, but neither a state nor a function of all units."""
    step = plan.derivation.step
    found = {*list(step.gates.values())[plan.of_both : plan.of_both + plan.of_x], *step.masks.values()}
    late = {*step.gates.values(), *step.states.values()} - found | {e for e in step.nodes if e.op in CUTS}
    for e in step.nodes:
        if any(a in late for a in e.args):
            late.add(e)
        elif e not in late and any(a in found for a in e.args):
            found.add(e)
    return found


def read_by_loop(plan: Plan, slots: Slots, early: set[Expr]) -> list[Expr]:
    """Those of the `early` values that the loop reads or a step saves. The loop makes comparisons itself."""
    step = plan.derivation.step
    found = {e for e in slots.stored if e in early}
    waiting = [a for e in step.nodes if e not in early for a in e.args] + step.after
    for e in waiting:
        if e in early and e.op in COMPARISONS:
            waiting += e.args
        elif e in early and e.args:
            found.add(e)
    return sorted(found, key=lambda e: e.index)


def written_ahead(plan: Plan, slots: Slots, outputs: dict[Expr, str]) -> Ahead:
    """The function that sets `outputs`, values with their names in the text."""
    step = plan.derivation.step
    of_x = list(enumerate(step.gates.values()))[plan.of_both : plan.of_both + plan.of_x]
    sources = {f"x{k}": ("x", k) for k, _ in of_x} | {f"z{k}": ("masks", k) for k in range(plan.masks)}
    at = {e: f"x{k}" for k, e in of_x} | {e: f"z{k}" for k, e in enumerate(step.masks.values())}
    at |= {e: f"v{k}" for k, e in enumerate(step.vectors.values())}
    calls = Calls(list(outputs), at)
    for e, name in outputs.items():
        calls.into(e, name)
    read = set(re.findall(WORD, "\n".join(calls.lines)))
    sources = {name: what for name, what in sources.items() if name in read}
    body = unpacked(
        ([*sources, *outputs.values()], "values"), ([f"t{k}" for k in range(calls.count["t"])], "scratch"),
        ([f"m{k}" for k in range(calls.count["m"])], "bools"), ([f"v{k}" for k in range(plan.vectors)], "vectors"),
        (list(calls.numbers.values()), "numbers"),
    )  # fmt: skip
    names = {name: plan.names.get(e, name) for e, name in (*at.items(), *outputs.items())} | scratch_names(calls)
    parameters = ["values", "scratch", "bools", "vectors", "numbers"]
    run = compiled(f"{plan.name}_ahead", parameters, [*body, *calls.lines], names)
    places = [slots.of.get(e) for e in outputs]
    return Ahead(run, list(sources.values()), places, calls.count["t"], calls.count["m"], list(calls.numbers))


def between(plan: Plan, calls: Calls, m: Expr) -> None:
    """The product of a value with its matrix, or a function of all its units."""
    (v,) = m.args
    k = plan.derivation.step.cuts.index(m)
    source = calls.get(v)
    if source[0] in "vp":  # the same for all samples, or for all units
        wide = calls.new("t")
        calls.say(f"copyto({wide}, {source})")
        source = wide
    calls.done(v)
    matrix = f"U{plan.cuts[k].matrix}"
    calls.say(f"dot({matrix}, {source}, p{k})" if m.op == "product" else f"{m.op}({source}, p{k})")
    calls.at[m] = f"p{k}"


def finish(plan: Plan, calls: Calls, slots: Slots, views: dict[str, tuple[Any, ...]], ahead: Ahead) -> Loop:
    """The loop around the calls of a step."""
    read = set(re.findall(r"\w+", "\n".join(calls.lines)))
    views = {n: what for n, what in views.items() if n in read}
    temporaries = [f"t{k}" for k in range(calls.count["t"])]
    masks = [f"m{k}" for k in range(calls.count["m"])]
    products = [f"p{k}" for k in range(len(plan.cuts))]
    parameters = ["steps", "dot", "Rb", "Wp", "U", "vectors", "HALF", "scratch", "bools", "products", "numbers"]
    body = unpacked(
        (temporaries, "scratch"), (masks, "bools"), (products, "products"), (list(calls.numbers.values()), "numbers"),
        ([f"U{k}" for k in range(plan.matrices)], "U"), ([f"v{k}" for k in range(plan.vectors)], "vectors"),
    )  # fmt: skip
    body += [f"for {', '.join(views)}, in steps:", *[f"    {line}" for line in calls.lines]]
    names = readable(plan, slots) | scratch_names(calls)
    names |= {place: plan.names.get(e, place) for e, place in calls.at.items() if place[:2] == "_e"}
    run = compiled(f"{plan.name}_forward", parameters, body, names)
    if ahead.slots:
        run.__doc__ = f"{ahead.run.__doc__}\n{run.__doc__}"
    return Loop(run, ahead, slots, list(views.items()), len(temporaries), len(masks), list(calls.numbers))


def readable(plan: Plan, slots: Slots) -> dict[str, str]:
    """The names of the page, in place of slots."""
    step, names = plan.derivation.step, plan.names
    new = {f"s{slot}": names.get(e, f"s{slot}") for e, slot in slots.of.items()}  # the value that ends in a slot
    for e in (e for run in slots.runs for e in run.values):
        new[f"s{slots.of[e]}"] = names.get(e, f"s{slots.of[e]}")
    new |= {f"b{k}": names[e] for k, e in enumerate(step.states.values())}
    new |= {f"a{k}": names[e] for k, e in enumerate(step.after)}
    new |= {"h": names[step.states[step.order[-1]]], "h_new": names[step.after[-1]], "h1": "h_prev_and_1"}
    new |= {"R_rows": "gates_of_h", "both": "gates_of_both", "x_both": "W_x", "Rb": "R_and_b"}
    new |= {f"p{k}": names[m] for k, m in enumerate(step.cuts)} | {f"U{k}": n for k, n in enumerate(plan.matrix_names)}
    new |= {f"v{k}": n for k, n in enumerate(plan.vector_names)} | {f"z{k}": n for k, n in enumerate(plan.mask_names)}
    gates = list(step.gates.values())
    new |= {f"x{k}": names[e] for k, e in enumerate(gates[plan.of_both : plan.of_both + plan.of_x])}
    for run in slots.runs:
        for lo, hi in ((run.lo, run.hi), (run.lo, run.mid), (run.lo + run.direct, run.mid)):
            if hi > lo:
                new[f"run{lo}_{hi}"] = "_".join(new[f"s{k}"] for k in range(lo, hi))
    return new
