"""Generating the header of a plan: a custom cell in the form of `form.h`, for C++ and CUDA.

It walks over the stages of the plan and writes what each loads, computes and stores, in the plan's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from minirnn.cells.expr import COMPARISONS, NUMBERS, REDUCTIONS, Expr, needed
from minirnn.cells.plan import Plan, Stage
from minirnn.cells.text import write
from minirnn.cells.words import FUNCTIONS

NAME = "OwnCell"
"""The name of the struct."""
LINE = 120

KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
    template this throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq half
"""
OURS = "V real s Stage Step Gradient OwnCell CELL CELL_FN REAL ACC acc"
TAKEN = {*KEYWORDS.split(), *OURS.split(), *FUNCTIONS}
"""Names that a user's variable must not have in the header; it gets an underscore."""


def header(plan: Plan) -> str:
    """The text of the header. Whoever makes a cell sets the values of its constants."""
    body = [*counts(plan), "", *where(plan), *members(plan)]
    for backward in (False, True):
        body += ["", *functions(plan, backward)]
    comment = [f"//     {line}".rstrip() for line in plan.formulas.splitlines()]
    inside = [f"    {line}".rstrip() for line in body]
    made = (
        f"// {cpp_name(plan.name)}: one step and its gradient, made by minirnn from the Python function of this name."
    )
    lines = ["#pragma once", "", "template <class V, class real>", f"struct {NAME} {{", *inside, "};", ""]
    return "\n".join([made, "//", *comment, *lines])


def functions(plan: Plan, backward: bool) -> Iterator[str]:
    """The lines of ``step`` or ``grad``, one function for each stage."""
    name, struct, stages = ("grad", "Gradient", plan.backward) if backward else ("step", "Step", plan.forward)
    for k, stage in enumerate(stages):
        first = f"Stage<{k}>, " if len(stages) > 1 else ""
        yield from ("",) * (k > 0)
        yield from (f"template <class {struct}>", f"CELL_FN void {name}({first}{struct} &s) const {{")
        yield from (f"    {line}".rstrip() for line in statements(stage))
        yield "}"


def counts(plan: Plan) -> Iterator[str]:
    """The constants of the struct: how many states, gates and so on there are."""
    numbers = {
        "OF_BOTH": plan.of_both, "OF_X": plan.of_x, "OF_H": plan.of_h, "STATES": plan.states, "SAVED": plan.saved,
        "VECTORS": plan.vectors, "PRODUCTS": len(plan.cuts), "MATRICES": plan.matrices, "MASKS": plan.masks,
        "CARRIED": plan.carried, "STAGES": len(plan.forward), "D_STAGES": len(plan.backward),
        "READS_BEFORE": plan.reads_before, "READS_AFTER": plan.reads_after,
    }  # fmt: skip
    yield from wrapped("static constexpr int ", [f"{name} = {n}" for name, n in numbers.items()])
    yield f"static constexpr bool CARRIES = {'true' if plan.carries else 'false'};"


def members(plan: Plan) -> Iterator[str]:
    """The constants, which a launch sets; their names are those of the formulas."""
    if plan.constants:
        yield ""
        yield from wrapped("real ", [cpp_name(n) for n in plan.constant_names])


def where(plan: Plan) -> Iterator[str]:
    """The functions that return the stage that sets an element, or the last one that reads it."""
    read = [("gate", plan.forward, "gates"), *[(name, plan.backward, name) for name in ("d_after", "d_multiplied")]]
    found = {name: last_loads(stages, array) for name, stages, array in read}
    found |= {name: stores(plan.forward, name) for name in ("saved", "after", "multiplied")}
    found |= {
        name: stores(plan.backward, name) for name in ("d_gates", "d_before", "d_vectors", "d_products", "carried")
    }
    functions = {f"{name}_stage": at for name, at in found.items()}
    functions["matrix_of"] = {k: code(cut.kind, cut.matrix) for k, cut in enumerate(plan.cuts)}
    for name, at in functions.items():
        cases = "".join(f"k == {k} ? {n} : " for k, n in at.items() if n)
        yield f"static CELL_FN constexpr int {name}(int{' k' if cases else ''}) {{ return {cases}0; }}"


def code(kind: str, matrix: int) -> int:
    """The number of a matrix, or -1, -2, .. for the functions of all units, in the order of `REDUCTIONS`."""
    return matrix if kind == "product" else -1 - REDUCTIONS.index(kind)


def last_loads(stages: Iterable[Stage], array: str) -> dict[int, int]:
    """Maps an index to the last stage that reads this element."""
    return {load.place.index: k for k, stage in enumerate(stages) for load in stage.loads if load.place.array == array}


def stores(stages: Iterable[Stage], array: str) -> dict[int, int]:
    """Maps an index to the stage that sets this element."""
    return {one.place.index: k for k, stage in enumerate(stages) for one in stage.stores if one.place.array == array}


def statements(stage: Stage) -> Iterator[str]:
    """The lines of one function."""
    names: dict[Expr, str] = {}
    taken = {c: cpp_name(c.value[0]) for one in stage.statements for c in needed([one.value]) if c.op == "constant"}
    for load in stage.loads:
        names[load.value] = name = cpp_name(load.name, {**taken, **names})
        yield f"const V {name} = s.{load.place};"
    if stage.loads:
        yield ""
    for line in stage.statements:
        name, kind = cpp_name(line.name, {**taken, **names}), "auto" if line.value.op in COMPARISONS else "V"
        yield f"const {kind} {name} = {value(line.value, names, top=True)};"
        names[line.value] = name
    if stage.statements:
        yield ""
    for store in stage.stores:
        yield f"s.{store.place} = {value(store.value, names)};"


def value(e: Expr, names: dict[Expr, str], top: bool = False) -> str:
    """An expression that is a V."""
    text = write(e, names, "cpp", literal, top=top)
    if not is_constant(e):
        return text
    return "V{}" if e.op == "number" and number(e) == 0 else f"V{{}} + ({text})"


def is_constant(e: Expr) -> bool:
    """Whether an expression contains only numbers."""
    return e.op in NUMBERS or bool(e.args) and all(map(is_constant, e.args))


def number(e: Expr) -> float:
    return float(e.value[1] if e.op == "constant" else e.value)


def literal(e: Expr) -> str:
    """A number, exactly, or the name of a constant."""
    if e.op == "constant":
        return cpp_name(e.value[0])
    n = number(e)
    return f"real({int(n) if n.is_integer() and abs(n) < 1e6 else repr(n)})"


def cpp_name(name: str, others: Mapping[Expr, str] | None = None) -> str:
    """A Python name as a C++ name: ASCII, not a reserved word, and different from the other names."""
    found = "".join(c if c.isascii() else f"u{ord(c):x}_" for c in name)
    while found in TAKEN or (others and found in others.values()):
        found += "_"
    return found


def wrapped(start: str, words: list[str]) -> Iterator[str]:
    """A statement, split into several if it does not fit on a line."""
    line = start + words[0]
    for word in words[1:]:
        if len(f"    {line}, {word};") > LINE:
            yield f"{line};"
            line = start + word
        else:
            line = f"{line}, {word}"
    yield f"{line};"
