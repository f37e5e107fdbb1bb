"""Generating the C++ of a cell with keys, for C++ and CUDA: one step of a sample and its gradient (`keyed.h`).

A value belongs to the scope that its axes name: to the function (one number), a loop over keys, the loop over units, or
a loop over keys inside that one. A sum over keys ends the inner loop, so the values that read it follow in the next
one; its number is the value's `level`. A sum over units ends the loop over units, and begins the next `stage`.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from minirnn.cells.expr import COMPARISONS, NUMBERS, SUMS, Expr
from minirnn.cells.keyed import KeyedPlan
from minirnn.cells.rules import is_cheap
from minirnn.devices.cells.header import NAME, cpp_name, value, wrapped

OURS = "H N u k load store own one put_one add_one meet sum_of_keys sum_of_units KEYS UNITS EACH_KEY LANES Index"
"""Names in the text that a user's variable must not have."""
NO_AXES, UNITS, KEYS, MATRIX = (frozenset(axes) for axes in ("", "u", "k", "uk"))


class Header(NamedTuple):
    text: str
    vectors: int
    """How many vectors of keys the functions keep between their loops, per sample."""


def keyed_header(plan: KeyedPlan) -> Header:
    """The header of a plan, made once."""
    if "header" not in plan.made:
        forward, backward = Text(plan, backward=False), Text(plan, backward=True)
        vectors = max(forward.vectors, backward.vectors)
        plan.made["header"] = Header(written(plan, [("step", forward), ("grad", backward)], vectors), vectors)
    found: Header = plan.made["header"]
    return found


def written(plan: KeyedPlan, functions: Sequence[tuple[str, Text]], vectors: int) -> str:
    numbers = {
        "N": plan.keys, "GATES": len(plan.gates), "STATES": len(plan.states), "SAVED": len(plan.saved),
        "LEARNED": len(plan.learned) + len(plan.static), "D_LEARNED": len(plan.learned),
        "CONSTANTS": len(plan.constants), "VECTORS": vectors,
    }  # fmt: skip
    body = [*wrapped("static constexpr int ", [f"{name} = {n}" for name, n in numbers.items()]), ""]
    values = {"gate": plan.gates, "state": plan.states, "saved": plan.saved, "learned": plan.learned}
    for name, found in values.items():
        cases = "".join(f"i == {i} ? {size(e)} : " for i, e in enumerate(found))
        body.append(f"static CELL_FN Index {name}_width(int i, Index H) {{ return {cases}0; }}")
    for name, text in functions:
        body += ["", "template <class Step>", f"static CELL_FN void {name}(const Step &s) {{"]
        body += [f"    {line}".rstrip() for line in text.lines()]
        body.append("}")
    comment = [f"//     {line}".rstrip() for line in plan.formulas.splitlines()]
    made = f"// {plan.name}: one step and its gradient, made by minirnn from the Python function of this name."
    inside = [f"    {line}".rstrip() for line in body]
    lines = ["template <class V, class real>", f"struct {NAME} {{", *inside, "};", ""]
    return "\n".join([made, "//", *comment, *lines])


def size(e: Expr) -> str:
    """The number of elements of a value, in C++."""
    return {NO_AXES: "1", UNITS: "H", KEYS: "N", MATRIX: "H * N"}[e.axes]


class Scope:
    """The lines of one place in the text, and the names that are known there."""

    def __init__(self, parent: Scope | None, axes: frozenset[str], stage: int, level: int = 0) -> None:
        self.parent, self.axes, self.stage, self.level = parent, axes, stage, level
        self.names: ChainMap[Expr, str] = ChainMap({}) if parent is None else parent.names.new_child()
        self.lines: list[str] = []


class Level(NamedTuple):
    """Values of one level, and then a loop over keys."""

    lines: list[str]
    loop: Scope


class Store(NamedTuple):
    place: str
    of: Expr
    """The input or state whose axes the place has."""
    value: Expr
    add: bool = False
    """Whether the value is added to what the place has."""


class Text:
    """The text of one function.

    Attributes
    ----------
    vectors : int
        How many vectors of keys it keeps between its loops.
    """

    def __init__(self, plan: KeyedPlan, backward: bool) -> None:
        self.plan = plan
        self.vectors = 0
        self.stages: dict[Expr, int] = {}
        self.levels: dict[Expr, int] = {}
        self.kept: dict[Expr, str] = {}
        """Values in memory between loops: vectors of keys, and arrays (N,) of a unit."""
        constants = plan.derivation.step.constants
        self.taken: dict[Any, str] = {name: cpp_name(name) for name in constants}
        """The names in the text: of constants, values, and what is kept of a value."""
        self.top = Scope(None, NO_AXES, 0)
        self.small: dict[tuple[int, int], Level] = {}
        """Numbers and vectors of keys, by stage and level."""
        self.units: dict[int, Scope] = {}
        self.of_units: dict[tuple[int, int], Level] = {}
        """What each unit has, by stage and level."""
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        """What comes before and after the loop over units, by stage."""
        self.places = dict(self.inputs(backward))
        stores = list(self.stores(backward))
        nodes = plan.backward if backward else plan.forward
        self.users: dict[Expr, list[Expr]] = {}
        for e in nodes:
            for a in e.args:
                self.users.setdefault(a, []).append(e)
        self.ends = Counter(one.value for one in stores)
        ends = [one.value for one in stores]
        self.constants = {a.value[0] for a in (*ends, *[a for e in nodes for a in e.args]) if a.op == "constant"}
        for one in stores:
            self.store(one)

    # ---- what is in memory

    def inputs(self, backward: bool) -> Iterator[tuple[Expr, list[str]]]:
        """Maps each input to its places in memory, whose numbers are added."""
        plan = self.plan
        given = {"gates": plan.gates, "learned": [*plan.learned, *plan.static], "before": plan.states}
        if backward:
            given |= {"saved": plan.saved, "after": plan.after}
        for name, values in given.items():
            for i, e in enumerate(values):
                if e.op not in NUMBERS:
                    yield e, [f"s.{name}[{i}]"]
        if backward:
            arriving = {e: [f"s.d_after[{i}]"] for i, e in enumerate(plan.d_after)}
            yield from (arriving | {plan.d_output: [*arriving.get(plan.d_output, []), "s.dy"]}).items()

    def stores(self, backward: bool) -> Iterator[Store]:
        """What the function computes."""
        plan = self.plan
        if backward:
            for name, owners, found in (
                ("d_gates", plan.gates, plan.d_gates),
                ("d_before", plan.states, plan.d_states),
                ("d_learned", plan.learned, plan.d_learned),
            ):
                for i, (owner, e) in enumerate(zip(owners, found, strict=True)):
                    yield Store(f"s.{name}[{i}]", owner, e, add=name == "d_learned")
            return
        yield from (Store(f"s.saved[{i}]", e, e) for i, e in enumerate(plan.saved))
        yield from (Store(f"s.after[{i}]", b, e) for i, (b, e) in enumerate(zip(plan.states, plan.after, strict=True)))
        yield Store("s.y", plan.output, plan.output)

    # ---- where a value belongs

    def stage(self, e: Expr) -> int:
        """The number of sums over units that come before a value."""
        if e not in self.stages:
            args = () if e in self.places else e.args
            self.stages[e] = max(map(self.stage, args), default=0) + (bool(args) and e.op == "sum_u")
        return self.stages[e]

    def level(self, e: Expr) -> int:
        """The number of loops over keys that come before a value: of its unit, or in its stage of the function."""
        if e not in self.levels:
            args = () if e in self.places or e.op == "sum_u" else e.args
            same = [a for a in args if "u" in a.axes or "u" not in e.axes and self.stage(a) == self.stage(e)]
            self.levels[e] = max(map(self.level, same), default=0) + (bool(args) and e.op == "sum_k")
        return self.levels[e]

    def is_line(self, e: Expr) -> bool:
        """Whether a value has a name in the text."""
        if e.op in SUMS or e in self.places or e.op in COMPARISONS:
            return e.op not in COMPARISONS
        users = self.users.get(e, [])
        apart = any(a.axes != e.axes and a.op not in SUMS for a in users)
        return apart or e in self.plan.derivation.names or len(users) + self.ends[e] > 1

    def numbers(self, stage: int, level: int) -> Level:
        if (stage, level) not in self.small:
            self.small[stage, level] = Level([], Scope(self.top, KEYS, stage, level))
        return self.small[stage, level]

    def unit(self, stage: int) -> Scope:
        """The loop over units of a stage."""
        if stage not in self.units:
            self.units[stage] = Scope(self.top, UNITS, stage)
            self.before[stage], self.after[stage] = [], []
        return self.units[stage]

    def in_unit(self, stage: int, level: int) -> Level:
        unit = self.unit(stage)
        if (stage, level) not in self.of_units:
            self.of_units[stage, level] = Level([], Scope(unit, MATRIX, stage, level))
        return self.of_units[stage, level]

    # ---- values

    def text(self, e: Expr, scope: Scope) -> str:
        """A value as C++ in a scope, which then has all that it reads."""
        self.need(e, scope)
        return value(e, scope.names)  # type: ignore[arg-type]

    def written_out(self, e: Expr, scope: Scope) -> str:
        for a in e.args:
            self.need(a, scope)
        return value(e, scope.names, top=True)  # type: ignore[arg-type]

    def need(self, e: Expr, scope: Scope) -> None:
        """Make a value known in a scope."""
        if e.op in NUMBERS or e in scope.names:
            return
        if not self.is_line(e):
            for a in e.args:
                self.need(a, scope)
            return
        home = self.top if not e.axes else scope
        if e.axes == UNITS and scope.axes == MATRIX:
            assert scope.parent is not None
            home = scope.parent
        assert e.axes <= home.axes
        if e not in home.names:
            define = {NO_AXES: self.number, UNITS: self.of_unit, KEYS: self.of_key, MATRIX: self.of_matrix}[e.axes]
            define(e, home)
            home.names[e] = self.name(e)

    def name(self, e: Expr, what: str = "") -> str:
        """The name of a value, or of its sum or its array."""
        if (e, what) not in self.taken:
            plain = self.name(e) if what else self.plan.derivation.names.get(e, f"t{len(self.taken)}")
            found = cpp_name(plain + what, self.taken)
            while found in OURS.split():
                found = cpp_name(f"{found}_", self.taken)
            self.taken[e, what] = found
        return self.taken[e, what]

    def read(self, e: Expr, how: str) -> str:
        """A value from memory. `how` has the address in braces."""
        return f"const V {self.name(e)} = {' + '.join(how.format(p) for p in self.places[e])};"

    def number(self, e: Expr, scope: Scope) -> None:
        """One number per sample."""
        if e in self.places:
            self.numbers(0, 0).lines.append(self.read(e, "one({})"))
        elif e.op == "sum_u":
            self.sum_of_units(e)
        else:
            text = f"sum_of_keys<V>({self.keep(e.args[0])}, N)" if e.op == "sum_k" else self.written_out(e, self.top)
            self.numbers(self.stage(e), self.level(e)).lines.append(f"const V {self.name(e)} = {text};")

    def of_unit(self, e: Expr, unit: Scope) -> None:
        """One number per unit."""
        if e in self.places:
            self.in_unit(unit.stage, 0).lines.append(self.read(e, "load({} + u, H - u)"))
        elif e.op == "sum_k":
            (a,) = e.args
            level = self.in_unit(unit.stage, self.level(a))
            text = self.text(a, level.loop)
            level.lines.append(f"V {self.name(e)} = V{{}};")
            level.loop.lines.append(f"{self.name(e)} += {text};")
        else:
            text = self.written_out(e, unit)
            self.in_unit(unit.stage, self.level(e)).lines.append(f"const V {self.name(e)} = {text};")

    def of_key(self, e: Expr, scope: Scope) -> None:
        """One number per key, in a loop over keys."""
        how = "load({} + k, N - k)" if scope.axes == KEYS else "one({} + k)"
        at = self.stage(e), self.level(e)
        if e not in self.places and e.op != "sum_u" and scope.axes == KEYS and at == (scope.stage, scope.level):
            scope.lines.append(f"const V {self.name(e)} = {self.written_out(e, scope)};")
        elif e in self.places:
            scope.lines.append(self.read(e, how))
        else:
            scope.lines.append(f"const V {self.name(e)} = {how.format(self.keep(e))};")

    def of_matrix(self, e: Expr, scope: Scope) -> None:
        """One number per unit and key, in a loop over keys of a unit."""
        if e in self.places:
            scope.lines.append(self.read(e, "load({} + k * H + u, H - u)"))
        elif is_cheap(e) or self.level(e) == scope.level:
            scope.lines.append(f"const V {self.name(e)} = {self.written_out(e, scope)};")
        else:  # it takes long, and an earlier loop has it
            earlier = self.in_unit(scope.stage, self.level(e)).loop
            self.need(e, earlier)
            array = self.name(e, "_of_keys")
            if (line := f"{array}[k] = {self.name(e)};") not in earlier.lines:
                earlier.lines.append(line)
                self.in_unit(scope.stage, 0).lines.insert(0, f"V {array}[N];")
            scope.lines.append(f"const V {self.name(e)} = {array}[k];")

    def keep(self, e: Expr) -> str:
        """The address of a vector of keys, which a loop over keys fills."""
        if e in self.places:
            return self.places[e][0]
        if e not in self.kept:
            if e.op == "sum_u":
                self.sum_of_units(e)
            else:
                loop = self.numbers(self.stage(e), self.level(e)).loop
                text = self.text(e, loop)
                self.kept[e] = self.new_vector()
                loop.lines.append(f"store({self.kept[e]} + k, {text}, N - k);")
        return self.kept[e]

    def new_vector(self) -> str:
        self.vectors += 1
        return f"s.keys + {self.vectors - 1} * N" if self.vectors > 1 else "s.keys"

    def sum_of_units(self, e: Expr) -> None:
        """A sum over units: a number, or a vector of keys."""
        (a,) = e.args
        stage, total = self.stage(a), self.name(e, "_sum")
        level = self.in_unit(stage, self.level(a))
        if not e.axes:
            self.before[stage].append(f"V {total} = V{{}};")
            level.lines.append(f"{total} += own({self.text(a, self.unit(stage))}, H - u);")
            self.after[stage].append(f"const V {self.name(e)} = sum_of_units({total});")
            return
        self.kept[e] = self.new_vector()
        self.before[stage].append(f"V {total}[N] = {{}};")
        level.loop.lines.append(f"{total}[k] += own({self.text(a, level.loop)}, H - u);")
        self.after[stage].append(f"sum_of_units<N>({total}, {self.kept[e]});")

    def store(self, one: Store) -> None:
        """Put a value in memory."""
        axes, e = one.of.axes, one.value
        stage, level = self.stage(e), self.level(e) if ("u" in axes) == ("u" in e.axes) else 0
        if axes <= KEYS:
            lines, loop = self.numbers(stage, level)
            scope, lines = (loop, loop.lines) if axes else (self.top, lines)
        else:
            lines, loop = self.in_unit(stage, level)
            scope, lines = (loop, loop.lines) if axes == MATRIX else (self.unit(stage), lines)
        text = self.text(e, scope)
        place = one.place + {NO_AXES: "", KEYS: " + k", UNITS: " + u", MATRIX: " + k * H + u"}[axes]
        if not axes:
            lines.append(f"{'add_one' if one.add else 'put_one'}({place}, {text});")
            return
        count = "N - k" if axes == KEYS else "H - u"
        lines.append(f"store({place}, {f'load({place}, {count}) + ' * one.add}{text}, {count});")

    # ---- the text as a whole

    def lines(self) -> Iterator[str]:
        yield "const Index H = s.H;"
        for i, name in enumerate(self.plan.derivation.step.constants):
            if name in self.constants:
                yield f"const real {self.taken[name]} = real(s.constants[{i}]);"
        last = max([0, *[stage for stage, _ in self.small], *self.units])
        for stage in range(last + 1):
            for (own, _), level in sorted(self.small.items(), key=itemgetter(0)):
                if own == stage:
                    yield from level.lines
                    yield from loop("KEYS", level.loop.lines)
                    yield from ["meet();"] * bool(level.loop.lines)
            inside = [
                line
                for (own, _), level in sorted(self.of_units.items(), key=itemgetter(0))
                if own == stage
                for line in (*level.lines, *loop("EACH_KEY", level.loop.lines))
            ]
            yield from self.before.get(stage, ())
            yield from loop("UNITS", inside)
            yield from self.after.get(stage, ())


def loop(head: str, lines: Sequence[str]) -> list[str]:
    return [f"{head} {{", *[f"    {line}" for line in lines], "}"] if lines else []
