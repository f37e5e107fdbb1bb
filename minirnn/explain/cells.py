"""The explanation of a cell, minirnn's own or a user's: its formulas, what it learns and keeps, what computes it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator

from minirnn import devices
from minirnn.cells.axes import shape_text
from minirnn.cells.cell import Formulas
from minirnn.cells.expr import Expr
from minirnn.cells.plan import Plan
from minirnn.cells.slopes import slopes
from minirnn.cells.text import write
from minirnn.devices.cells.header import header
from minirnn.devices.cells.keyed import keyed_header
from minirnn.devices.cpu.sequence.step import text_of
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.devices.cuda.launch.sequence.choice import H200, UNITWISE, choose
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.explain.sources import place
from minirnn.nn.own.layer import can_project

NUMPY, HEADER, TAPE = "calls of NumPy", "a C++ header", "the composition from operations of the tape"


def cell_lines(cell: Formulas, where: str, source: bool = False, device: str | None = None) -> Iterator[str]:
    """The lines that explain a user's cell; with `source`, also the NumPy code and the header that are generated.

    Parameters
    ----------
    where : str
        The place of its definition, for the title.
    device : str, optional
        Only this device; by default all of them.
    """
    if cell.step.keys is not None:
        yield from keyed_lines(cell, where, source, device)
        return
    plan = cell.plan()
    yield from page_lines(cell, where)
    yield heading("what a layer learns: I inputs, H units")
    yield from table(parameters(cell))
    if can_project(cell):
        yield "its output can be projected: proj_size"
    yield heading("what a step keeps for its backward pass")
    yield saved_line(cell)
    yield from state_lines(cell)
    yield from devices_lines(plan, device)
    yield from source_lines(plan, device) if source else ()


def keyed_lines(cell: Formulas, where: str, source: bool, device: str | None) -> Iterator[str]:
    """The lines that explain a cell with keys; with `source`, also the header that is generated."""
    plan, step = cell.keyed_plan(), cell.step
    yield from page_lines(cell, where)
    yield heading(f"what a layer learns: I inputs, H units, N = {plan.keys} keys")
    counts = Counter(size_of(e) for e in plan.gates)
    rows = " + ".join(f"{n} {size}".removeprefix("1 ") if size != "1" else str(n) for size, n in counts.items())
    gates = ", ".join(step.gate_order)
    learned = [(n, shape_text(e.axes), "learned") for n, e in step.vectors.items()]
    constants = [(n, "", f"constant, {value:g}") for n, value in step.constants.items()]
    yield from table([("weight_ih", f"({rows}, I)", gates), ("bias", f"({rows},)", gates), *learned, *constants])
    yield heading("what a step keeps for its backward pass")
    kept = [(n, shape_text(e.axes), "") for n, e in zip(cell.saved(), plan.saved, strict=True)]
    states = [(n, shape_text(e.axes), "a state") for n, e in zip(plan.state_names, plan.states, strict=True)]
    yield from table([*kept, *states])
    yield from state_lines(cell)
    yield heading("what computes it")
    made = {one: keyed_made_of(one) for one in names(device)}
    yield from table(list(made.items()))
    if source and any(HEADER in how for how in made.values()):
        yield heading("the header, for C++ and CUDA")
        yield keyed_header(plan).text.rstrip()


def size_of(e: Expr) -> str:
    """The number of elements of a value for each sample."""
    return " ".join(letter for axis, letter in (("u", "H"), ("k", "N")) if axis in e.axes) or "1"


def keyed_made_of(name: str) -> str:
    """How a device computes a cell with keys."""
    reason = devices.available()[name]
    if reason is not None:
        return f"not available: {reason.splitlines()[0]}"
    device = devices.get(name)
    if "keyed_sequence" not in device.kernels:
        return TAPE
    if getattr(device, "driver", None) is not None:
        return f"{HEADER}: one launch for all steps, a block of threads for each sample"
    return (
        f"{NUMPY}: each step, formula by formula"
        if name == "cpu"
        else f"{HEADER}: compiled into the loop over the steps"
    )


def page_lines(cell: Formulas, where: str = "") -> Iterator[str]:
    """The lines of a cell's page: the step, and its backward pass with the lines that every cell has."""
    yield heading(f"{cell.__name__}: one step ({where or place(cell.function)})")
    yield from [inspect.cleandoc(cell.__doc__), ""] if cell.__doc__ else []
    yield f"{cell.__name__}({', '.join(cell.step.signature)})"
    yield ""
    yield cell.forward_formulas()
    by_hand = "" if cell.by_hand is None else f", by hand ({place(cell.by_hand[0])}), compared with the derivative"
    yield heading(f"its backward pass{by_hand}")
    yield cell.backward_formulas(products=True)


def state_lines(cell: Formulas) -> Iterator[str]:
    """Whether a scan could compute all steps, and why."""
    yield heading("is it linear in its states, unit by unit?")
    found, names = slopes(cell.step), cell.step.names
    if isinstance(found, str):
        yield f"no: {found}"
        return
    each = [f"d{n}/d{m}_prev = {write(e, names, top=True)}" for n, of_n in found.items() for m, e in of_n.items()]
    why = ", ".join(each) or "no new state reads an old one"
    yield f"yes: {why}; a scan could compute all steps at once (chapter 23)"


def devices_lines(plan: Plan, device: str | None = None) -> Iterator[str]:
    """What computes a sequence on each device, or on this one."""
    yield heading("what computes it")
    yield from table([(one, made_of(plan, one)) for one in names(device)])


def source_lines(plan: Plan, device: str | None = None, sequence: bool = True) -> Iterator[str]:
    """The code that devices generate from a plan, for one step and for a sequence."""
    made = {made_of(plan, one).partition(":")[0] for one in names(device)}
    if NUMPY in made:
        yield heading("NumPy: one step, and its backward pass")
        yield f"{text_of(plan, False)}\n{text_of(plan, True)}".rstrip()
    if NUMPY in made and sequence:
        back = back_of(plan)
        yield heading("NumPy: the steps of a piece, forward")
        yield str(loop_of(plan).run.__doc__).rstrip()
        yield heading("NumPy: the factors of all steps, then the steps backward")
        yield f"{back.factors.__doc__}\n{back.runs[False, False].__doc__}".rstrip()
    if HEADER in made:
        yield heading("the header, for C++ and CUDA")
        yield header(plan).rstrip()


def names(device: str | None) -> list[str]:
    return list(devices.available()) if device is None else [devices.get(device).name]


def parameters(cell: Formulas) -> Iterator[tuple[str, ...]]:
    """Name, shape and meaning of the parameters of a layer."""
    step = cell.step
    for name, kinds, width in (("weight_ih", "zx", "I"), ("weight_hh", "zh", "H"), ("bias", "zxh", "")):
        gates = [n for n in step.gate_order if n[0] in kinds]
        if gates:
            rows = f"{len(gates)} H" if len(gates) > 1 else "H"
            yield name, f"({rows}, {width})" if width else f"({rows},)", ", ".join(gates)
    for n, text in step.matrices.items():
        yield n, "(H, H)", text
    for n in step.vectors:
        yield n, "(H,)", "vector"
    for n, value in step.constants.items():
        yield n, "", f"constant, {value:g}"
    for n, rate in step.masked.items():
        yield n, "", "mask, given in every call" if rate is None else f"mask, 1 with the probability {rate:g}"


def saved_line(cell: Formulas) -> str:
    """The values that a step saves, by name."""
    plan, order = cell.plan(), cell.step.order
    read = [f"{n}_prev" for k, n in enumerate(order) if plan.reads_before >> k & 1]
    read += [n for k, n in enumerate(order) if plan.reads_after >> k & 1]
    values = [*cell.saved(), *read]
    if not values:
        return "nothing"
    states = [n for n in read if n in cell.step.user_states or n.removesuffix("_prev") in cell.step.user_states]
    said = [f"{', '.join(states)}, which {'is a state' if len(states) == 1 else 'are states'}"] if states else []
    said += [f"{n}, the output" for n in read if n not in states]
    also = f"; of them {', and '.join(said)}" if said else ""
    count = "1 number" if len(values) == 1 else f"{len(values)} numbers"
    factors = [(cell.derivation.names[m.args[0]], plan.matrix_names[k]) for m, k in cell.step.matrix_of.items()]
    more = [f"{n} for d{matrix}" for n, matrix in factors if n not in values]
    again = f"; {', '.join(more)} is saved or computed again, depending on the device" if more else ""
    return f"{', '.join(values)}: {count} for each unit{also}{again}"


def made_of(plan: Plan, name: str) -> str:
    """How a device computes a plan."""
    reason = devices.available()[name]
    if reason is not None:
        return f"not available: {reason.splitlines()[0]}"
    device = devices.get(name)
    if "cell_sequence" not in device.kernels or not device.runs_plan(plan):
        return TAPE
    if name == "cpu":
        ahead = "; what no state reaches is computed for many steps at once" if loop_of(plan).ahead.slots else ""
        return f"{NUMPY}: a sequence in two functions, with buffers that are allocated once{ahead}"
    if getattr(device, "driver", None) is None:
        return f"{HEADER}: compiled into the loop over the steps"
    found = choose(Sizes(plan, T=2, B=1, H=32, P=32, D=1, itemsize=4), H200, backward=True)
    if found.rung == UNITWISE:
        return f"{HEADER}: in a kernel, one launch for all steps, forward and backward: {found.reason}"
    n, m = len(plan.forward), len(plan.backward)
    fits = (
        "not one for all steps: " + found.reason.removeprefix("not persistent: ")
        if found.layout is None
        else "one launch for all steps of a layer that fits (persistent)"
    )
    return f"{HEADER}: in a kernel, {n} {'launch' if n == 1 else 'launches'} per step forward, {m} backward; {fits}"


def table(rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> Iterator[str]:
    """Rows of words as lines, in columns."""
    found = list(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    for row in found:
        yield "  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip()


def heading(text: str) -> str:
    return f"\n== {text}\n"
