"""The graphs of a cell's picture: values that depend on each other, and gradients with the factors between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from minirnn.cells.cell import Formulas
from minirnn.cells.expr import BACK, COMPARISONS, Expr, is_number, needed
from minirnn.cells.formulas import Writer
from minirnn.cells.linear import Linear
from minirnn.cells.rules import RULES
from minirnn.cells.text import write
from minirnn.ops.cudnn_rnn.cells import CELLS
from minirnn.ops.gru_block.cells import gru_block

LETTERS = {
    CELLS["lstm"]: {"n": r"\tilde c", "z_n": "z_c"},
    CELLS["gru"]: {"n": r"\tilde h", "z": "u", "z_z": "z_u"},
    gru_block: {"c": r"\tilde h"},
}
"""The letters of the book for names of libraries, by cell."""
NEGATED = {"gt": r"\leq", "lt": r"\geq", "ge": "<", "le": ">"}

GATE, STATE, VALUE, NEW, FACTOR = "gate", "state", "value", "new state", "factor"
"""Kinds of nodes. A factor is written on an arrow, and multiplies the gradient that goes along the arrow."""


@dataclass
class Graph:
    """Nodes and edges. Each node comes after the nodes that lead to it."""

    labels: list[str] = field(default_factory=list)
    """Labels in the part of LaTeX that Matplotlib supports."""
    kinds: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """The same for screen readers: names in the user's notation, and factors as text."""
    edges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, label: str, kind: str, text: str, sources: Iterable[int] = ()) -> int:
        self.labels.append(label)
        self.kinds.append(kind)
        self.texts.append(text)
        self.edges += [(a, len(self.labels) - 1) for a in dict.fromkeys(sources)]
        return len(self.labels) - 1


def ordered(g: Graph) -> Graph:
    """The same graph, with every node after the nodes that lead to it."""
    before = {b: [a for a, c in g.edges if c == b] for b in range(len(g.labels))}
    order: list[int] = []

    def visit(k: int) -> None:
        if k not in order:
            for a in before[k]:
                visit(a)
            order.append(k)

    for k in before:
        visit(k)
    new = {k: n for n, k in enumerate(order)}
    labels, kinds, texts = ([row[k] for k in order] for row in (g.labels, g.kinds, g.texts))
    return Graph(labels, kinds, texts, [(new[a], new[b]) for a, b in g.edges])


class Notation:
    """Writes expressions of one cell in the mathematics that Matplotlib supports, without cases and with squares."""

    def __init__(self, cell: Formulas) -> None:
        self.math, self.text = Writer(cell.derivation, "latex"), Writer(cell.derivation)
        self.letters = LETTERS.get(cell, {})
        names = cell.derivation.names
        self.math.names |= {e: self.called(n) for e, n in names.items() if n in self.letters or n[1:] in self.letters}

    def called(self, name: str) -> str:
        """How the name of a value or of a gradient is written: in the letters of the book, if it has other ones."""
        if name[:1] == "d" and name[1:] in self.letters:
            return rf"\delta {self.letters[name[1:]]}"
        return self.letters.get(name) or self.math.name(name, True)

    def carried(self, state: str) -> str:
        """The gradient of a state that is passed from step to step, with the arrow of chapter 3."""
        return rf"{self.called(f'd{state}')}^{{\leftarrow}}"

    def prepare(self, ends: Iterable[Expr]) -> None:
        """``where(a > b, v, 0)`` becomes ``[a > b] v``."""
        for e in needed(list(ends)):
            if e.op == "where" and e not in self.math.names:
                self.math.inline[e] = self.bracket(*e.args)

    def bracket(self, condition: Expr, a: Expr, b: Expr) -> str:
        left, right = (self.write(v) for v in condition.args)
        terms = []
        for sign, v in (
            (r"\leq", a) if condition.op == "le" else (COMPARISONS[condition.op], a),
            (NEGATED[condition.op], b),
        ):
            sign = {">=": r"\geq", "<=": r"\leq"}.get(sign, sign)
            if not is_number(v, 0):
                known = v in self.math.names or v in self.math.inline or v.op in ("mul", "number")
                value = self.write(v) if known else f"({self.write(v)})"
                terms.append(f"[{left} {sign} {right}]" + rf"\,{value}" * (not is_number(v, 1)))
        return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

    def write(self, e: Expr, top: bool = False) -> str:
        w = self.math
        return write(e, w.names, "latex", w.literal, w.inline, top)

    def plain(self, e: Expr) -> str:
        return write(e, self.text.names)


def forward(cell: Formulas) -> Graph:
    """The graph of a step, with a node for each input and for each named value."""
    d, step, words, g = cell.derivation, cell.step, Notation(cell), Graph()
    words.prepare([*step.after, *step.cuts])
    used = set(step.nodes)
    at = {e: g.add(words.write(e), GATE, n) for n, e in (*step.gates.items(), *step.masks.items()) if e in used}
    at |= {e: g.add(words.write(e), STATE, f"{n}_prev") for n, e in step.states.items() if e in used}
    vectors = set(step.vectors.values())
    for e in step.nodes:
        if e in at or e in vectors or e not in d.names or e in words.math.inline:
            continue
        name = words.write(e)
        value = words.bracket(*e.args) if e.op == "where" else words.math.line(e)
        sources = [at[a] for a in _named(e.args, at, d.names)]
        kind = NEW if e in step.after else VALUE
        at[e] = g.add(name if name == value else f"{name} = {value}", kind, d.names[e], sources)
    return g


def _named(args: Iterable[Expr], at: dict[Expr, int], names: dict[Expr, str]) -> list[Expr]:
    """The nodes that a formula reads."""
    found: list[Expr] = []
    for a in args:
        found += [a] if a in at else _named(a.args, at, names)
    return found


def backward(cell: Formulas) -> Graph:
    """The graph of the backward pass, with a node for each named gradient and for each factor that is not 1."""
    d, step, words, g = cell.derivation, cell.step, Notation(cell), Graph()
    linear = Linear(d, named=True)
    words.prepare([f for t in linear.targets for f in t.form.values()])
    vectors = set(step.vectors.values())
    sums = {line.value for line in d.lines if line.of in vectors}
    owners: dict[Expr, Expr] = {}
    for owner, e in d.ends.items():
        if owner not in vectors or e in sums:
            owners.setdefault(e, owner)
    at: dict[Expr, int] = {}
    for e in d.incoming:
        if any(e in t.form for t in linear.targets) or e in d.before:
            state = next((n for n, of in zip(step.states, d.incoming, strict=True) if of is e), "")
            label = words.carried(state) if d.names[e].endswith("_grad") else words.math.names[e]
            at[e] = g.add(label, NEW, d.names[e])
    cuts = {dv: (m, dm) for m, (dm, dv) in zip(step.cuts, d.cuts, strict=True) if dv.varies}

    def source(atom: Expr) -> int:
        if atom not in at:
            m, dm = cuts[atom]
            way = BACK.get(m.op)
            text = RULES[way].latex.format(r"\;\cdot\;") if way else words.math.matrix(m)
            said = f"the {way[5:]} over units" if way else words.math.plain(m)
            at[atom] = g.add(text, FACTOR, f"@ {said}", [at[dm]])
            if atom not in words.math.inline:
                at[atom] = g.add(words.math.names[atom], VALUE, d.names[atom], [at[atom]])
        return at[atom]

    def through(atom: Expr, factor: Expr, summed: bool) -> int:
        if is_number(factor, 1) and not summed:
            return source(atom)
        label = r"\Sigma\;" * summed + words.write(factor)
        return g.add(label, FACTOR, "sum of " * summed + words.plain(factor), [source(atom)])

    def kind(owner: Expr | None) -> str:
        return {"z": GATE, "x": GATE, "h": GATE}.get(_prefix(owner, cell), VALUE)

    for target in linear.targets:
        e, of = target.value, owners.get(target.value)
        name = d.names.get(e) or f"d{d.names[of] if of is not None else 'm'}"
        what = STATE if of in step.states.values() else kind(of)
        sources = [through(a, f, of in vectors) for a, f in target.form.items()]
        label = words.carried(name[1:]) if what == STATE and name.endswith("_prev") else words.called(name)
        at[e] = g.add(label, what, name, sources)
    for owner, e in d.ends.items():  # the same gradient under another name, or what comes from outside
        if owner.op == "input" and e.varies and (owners.get(e) is not owner or e.op == "gradient"):
            name = d.free(f"d{d.names[owner]}")
            is_state = owner in step.states.values()
            label = words.carried(name[1:]) if is_state else words.called(name)
            summed = [g.add(r"\Sigma", FACTOR, "sum of 1", [source(e)])] if owner in vectors else [source(e)]
            at[owner] = g.add(label, STATE if is_state else VALUE, name, summed)
    _through_R(cell, g, at, words)
    return ordered(g)


def _prefix(owner: Expr | None, cell: Formulas) -> str:
    """The prefix z, x or h of a gate."""
    return next((n[0] for n, e in cell.step.gates.items() if e is owner), "")


def _through_R(cell: Formulas, g: Graph, at: dict[Expr, int], words: Notation) -> None:
    """Add the edges through R, by which all gates that read h send their gradients back to it."""
    d, step = cell.derivation, cell.step
    gates = [e for n, e in step.gates.items() if n[0] in "zh" and not is_number(d.ends[e], 0)]
    if not gates:
        return
    found = g.add(r"R^{\top}", FACTOR, "@ R", [at[d.ends[e]] for e in gates])
    h = step.states[step.order[-1]]
    e = d.ends[h]
    there = at.get(h, at.get(e)) if e.varies else None
    name = d.free(f"d{d.names[h]}")
    if there is None:
        g.add(words.carried(name[1:]), STATE, name, [found])
    else:
        g.edges.append((found, there))
