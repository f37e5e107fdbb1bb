"""The formulas of a cell, line by line, as text in the style of minirnn's docstrings or as LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import BACK, Expr, is_number, needed
from minirnn.cells.rules import RULES
from minirnn.cells.text import Style, number_text, write

GREEK = {
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "eta",
    "theta",
    "lambda",
    "mu",
    "nu",
    "xi",
    "rho",
    "sigma",
    "tau",
}
GREEK |= {"phi", "chi", "psi", "omega", "kappa", "zeta"}
GREEK |= {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"}


class Formula(NamedTuple):
    """``name = value``."""

    name: str
    value: str


class Writer:
    """Writes the formulas of a derivation in one style."""

    def __init__(self, d: Derivation, style: Style = "text") -> None:
        self.d, self.step, self.tex = d, d.step, style == "latex"
        self.style: Style = style
        self.names = {e: self.function(e, n) or self.name(n, e.varies) for e, n in d.names.items()}
        read = needed(d.formulas())
        uses = Counter(a for e in read for a in e.args)
        self.only_added = set(uses) - {a for e in read if e.op not in ("add", "sub") for a in e.args}
        self.inline = {m: self.product(m) for m in self.step.cuts if self.is_ours(m)}
        pairs = list(zip(self.step.cuts, d.cuts, strict=True))
        self.arriving = [(m, dm, dv) for m, (dm, dv) in pairs if not is_number(dm, 0)]
        uses.update(e for e in d.varying() if e.op == "gradient")  # the whole gradient of a state, which has a line
        written = {line.value for line in d.lines}
        inner = {e for _, dm, _ in self.arriving for e in needed([dm], written)}
        self.inline |= {dv: self.through(m, dm, dv) for m, dm, dv in self.arriving if uses[dv] == 1 and dv not in inner}

    # ---- the three parts

    def forward(self) -> list[Formula]:
        """The step, a line for every name."""
        nodes = [e for e in self.step.nodes if e in self.names and e.op != "input" and e not in self.inline]
        return [Formula(self.names[e], self.line(e)) for e in nodes]

    def backward(self) -> list[Formula]:
        """The gradients of gates, states and vectors, stage by stage."""
        d = self.d
        lines = [Formula(self.names[e], self.write(e)) for e in d.again if e in d.recomputed]
        vectors = set(self.step.vectors.values())
        last = max(d.stage(e) for e in (*d.formulas(), *[dv for _, _, dv in self.arriving], *d.incoming))
        for stage in range(last + 1):
            for m, dm, dv in self.arriving:
                if d.stage(dv) == stage and dv not in self.inline:
                    lines.append(Formula(self.names[dv], self.through(m, dm, dv)))
            for _, e, of in d.lines:
                if d.stage(e) == stage:
                    lines.append(Formula(self.names[e], self.sum(e, self.write(e)) if of in vectors else self.write(e)))
        written = {line.of for line in d.lines}
        sums = {e for _, e, of in d.lines if of in vectors}
        for owner, e in d.ends.items():  # values that have another name, or that came in unchanged
            if owner.op == "input" and owner not in written and not is_number(e, 0):
                name = self.name(d.free(f"d{d.names[owner]}"), True)
                right = self.inline.get(e, self.names.get(e) or self.write(e))
                lines.append(Formula(name, self.sum(e, right) if owner in vectors and e not in sums else right))
        return lines

    def products(self) -> list[Formula]:
        """The lines that every cell has, which use the gradients of the gates: dx, dW, dR, db."""
        step, names = self.step, self.name
        side = {}
        for kinds in ("zxks", "zh", "zxksh"):
            own = [names(f"d{n}", True) for n in step.gates if n[0] in kinds]
            side[kinds] = self.beside(own) if own else ""
        lines = []
        if of_x := side["zxks"]:
            lines.append(Formula(names("dx", True), self.times(of_x, "W")))
            lines.append(Formula(names("dW", True), self.times(self.transposed(of_x), "x")))
        if side["zh"]:
            h = f"{step.order[-1]}_prev"
            dh, right = names(f"d{h}", True), self.times(side["zh"], "R")
            inner = [line.value for line in self.backward() if line.name == dh]  # the part that does not go through R
            lines.append(Formula(dh, " + ".join([*inner, right])))
            lines.append(Formula(names("dR", True), self.times(self.transposed(side["zh"]), names(h, False))))
        matrices: dict[str, str] = {}  # the sum over the products with each
        for m, dm, _ in self.arriving:
            if m.op == "product":
                minus = dm.op == "neg" and dm not in self.names
                left = self.transposed(self.factor(dm.args[0] if minus else dm))
                name, text = names(f"d{self.plain(m)}", True), self.times(left, self.factor(m.args[0]))
                before = f"{matrices[name]} {'-' if minus else '+'} " if name in matrices else "-" * minus
                matrices[name] = before + text
        lines += [Formula(name, text) for name, text in matrices.items()]
        return [*lines, Formula(names("db", True), self.summed(side["zxksh"]))]

    # ---- how things are written

    def write(self, e: Expr) -> str:
        return write(e, self.names, self.style, self.literal, self.inline, top=True)

    def literal(self, e: Expr) -> str:
        if e.op == "constant":
            return self.name(e.value[0], False)
        text = number_text(e.value)
        if not self.tex:
            return text
        digits, _, power = text.replace("inf", r"\infty").partition("e")
        return digits if not power else rf"{digits} \cdot 10^{{{power}}}".removeprefix(r"1 \cdot ")

    def is_ours(self, m: Expr) -> bool:
        """Whether the user did not name the result of a product. It is then written where it is read."""
        return bool(re.fullmatch(r"m\d+", self.d.names[m])) and m not in self.d.saved

    def plain(self, m: Expr) -> str:
        """The name of the matrix of a product."""
        return list(self.step.matrices.values())[self.step.matrix_of[m]]

    def product(self, m: Expr) -> str:
        v = self.factor(m.args[0])
        if m.op != "product":
            return RULES[m.op].latex.format(v) if self.tex else f"{m.op}({self.names.get(m.args[0], v)})"
        return self.times(v, self.transposed(self.matrix(m)))

    def line(self, e: Expr) -> str:
        """A value of the step, written out."""
        if e in self.step.cuts:
            return self.product(e)
        if e.op == "unit_norm":
            v, m, s = (write(a, self.names, self.style, self.literal, self.inline) for a in e.args)
            return rf"\frac{{{v} - {m}}}{{{s}}}" if self.tex else f"({v} - {m}) / {s}"
        if e.op == "unit_softmax":
            return (RULES[e.op].latex if self.tex else "unit_softmax({0})").format(self.names[e.args[0]])
        for group in self.step.graph.norms:
            _, mean, std = group[0].args
            of = ", ".join(self.names[y.args[0]] for y in group)
            if e is mean:
                return rf"\overline{{{of}}}" if self.tex else f"unit_mean({of})"
            if e is std:
                (variance,) = e.args
                eps = f" + {self.write(variance.args[1])}"
                return rf"\sqrt{{\mathrm{{var}}({of}){eps}}}" if self.tex else f"sqrt(unit_var({of}){eps})"
        return self.write(e)

    def through(self, m: Expr, dm: Expr, dv: Expr) -> str:
        """The gradient dv that comes back through a product or a mean, as text. A sum takes its minus."""
        if dm.op == "neg" and dm not in self.names and dv in self.only_added:
            return f"-{self.through(m, dm.args[0], dv)}"
        if m.op != "product":
            text = write(dm, self.names, self.style, self.literal)
            said = RULES[BACK[m.op]].latex.format(text)
            return f"{BACK[m.op]}({text})" if not self.tex else rf"\left({said}\right)" if "\\sum" in said else said
        return self.times(self.factor(dm), self.matrix(m))

    def matrix(self, m: Expr) -> str:
        return self.name(self.plain(m), False)

    def factor(self, e: Expr) -> str:
        text = write(e, self.names, self.style, self.literal)
        return text if e in self.names else rf"\left({text}\right)" if self.tex else f"({text})"

    def times(self, a: str, b: str) -> str:
        return rf"{a}\, {b}" if self.tex else f"{a} @ {b}"

    def transposed(self, a: str) -> str:
        return rf"{a}^\top" if self.tex else f"{a}^T"

    def sum(self, e: Expr, text: str) -> str:
        """The sum of a gradient over steps and samples. `text` is the gradient as text."""
        if e.op in ("add", "sub") and text != self.names.get(e):
            text = rf"\left({text}\right)" if self.tex else f"({text})"
        return self.summed(text)

    def summed(self, text: str) -> str:
        return rf"\sum {text}" if self.tex else f"sum of {text}"

    def beside(self, parts: list[str]) -> str:
        bar = r" \mid " if self.tex else " | "
        return f"[{bar.join(parts)}]"

    def function(self, e: Expr, n: str) -> str:
        """The LaTeX of a function of a value whose name is that of both: ``softplus_x``."""
        function, _, operand = n.partition("_")
        own = self.tex and function == e.op and len(e.args) == 1 and e not in self.step.graph.names
        return RULES[function].latex.format(self.name(operand, False)) if own else ""

    def name(self, n: str, gradient: bool) -> str:
        if not self.tex:
            return n
        if gradient and not n.rstrip("_").endswith("_grad"):
            return rf"\delta {self.name(n[1:], False)}" if n[1:] and not n[1:].isdigit() else rf"\delta_{{{n[1:]}}}"
        function, _, operand = n.partition("_")
        if function in ("sigmoid", "tanh", "exp", "erf") and operand[:1].isalpha():  # it has no other name
            return RULES[function].latex.format(self.name(operand, False))
        stem, _, index = n.partition("_")
        if found := re.fullmatch(r"([A-Za-z]+)(\d+)", stem):
            stem, index = found[1], ",".join(filter(None, (found[2], index)))
        stem = {"dt": r"\Delta t", "eps": r"\varepsilon"}.get(stem, stem)
        if stem in GREEK:
            stem = f"\\{stem}"
        elif len(stem) > 1 and stem.isalpha():
            stem = rf"\mathit{{{stem}}}"
        words = {"prev": "t-1", "grad": r"\mathrm{grad}"}
        index = ",".join(words.get(part, part) for part in index.split("_") if part)
        return f"{stem}_{{{index}}}" if index else stem


def both_passes(derivation: Derivation) -> str:
    """The lines of a step and of its backward pass."""
    lines = Writer(derivation)
    return f"{as_text(lines.forward())}\n\n{as_text(lines.backward())}"


def as_text(found: list[Formula]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in found)


def as_latex(found: list[Formula]) -> str:
    lines = " \\\\\n".join(f"{name} &= {value}" for name, value in found if name != value)
    return f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}"


def with_products(lines: list[Formula], w: Writer) -> list[Formula]:
    """The lines of a backward pass and those that every cell has. The gradient of h_prev is a single line."""
    more = w.products()
    return [*[line for line in lines if line.name not in {one.name for one in more}], *more]
