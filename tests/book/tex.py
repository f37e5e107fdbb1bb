r"""The value of a printed formula: TeX is parsed and computed with NumPy.

A world defines the symbols: arrays, or functions of their indices that return arrays. Everything is a matrix with
two axes (or a scalar), as in the book: a state is a row, juxtaposition is a matrix product, ``\odot`` is
elementwise, ``\prod`` of matrices has the last index on the left. ``\delta`` belongs to the symbol after it, and what
follows ``\qquad`` is a remark.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

World = Mapping[str, Any]
"""Maps a name to an array, or to a function of the indices. A name is TeX: ``h``, ``W_i``, ``\\delta
h^\\leftarrow``.
"""

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S")
SKIPPED = {
    r"\,",
    r"\;",
    r"\!",
    r"\:",
    r"\left",
    r"\right",
    r"\big",
    r"\Big",
    r"\bigl",
    r"\bigr",
    r"\quad",
    "&",
    r"\displaystyle",
}
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: close(a, b),
    r"\le": lambda a, b: bool(np.all(np.asarray(a) <= np.asarray(b) * (1 + 1e-12))),
    r"\ge": lambda a, b: bool(np.all(np.asarray(a) * (1 + 1e-12) >= np.asarray(b))),
}
ACCENTS = {r"\tilde", r"\hat", r"\bar", r"\delta", r"\nabla"}
STYLES = {r"\mathrm", r"\mathit", r"\mathbf", r"\text", r"\textstyle"}
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = {
    r"\tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    r"\sigma": (lambda z: 1 / (1 + np.exp(-z)), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2),
    r"\exp": (np.exp, np.exp),
    r"\log": (np.log, lambda z: 1 / z),
    r"\max": (np.max, None),
    r"\min": (np.min, None),
    "diag": (lambda row: np.diag(np.ravel(row)), None),
    "sign": (np.sign, None),
    "softmax": (lambda z: np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True), None),
    "mean": (lambda a: np.mean(a, axis=-1, keepdims=True), None),
    "gcd": (lambda a: float(np.gcd.reduce(np.asarray(a, int).ravel())), None),
    "rows": (lambda a: np.sum(a, axis=0, keepdims=True), None),
}


def close(a: Any, b: Any) -> bool:
    """Equal up to rounding in float64."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.size > 1 and b.size > 1 and a.shape != b.shape:
        raise ValueError(f"the sides have the shapes {a.shape} and {b.shape}")
    return bool(np.all(np.abs(a - b) <= 1e-9 * max(1.0, float(np.max(np.abs(b), initial=0)))))


def holds(line: str, world: World, indices: Mapping[str, int]) -> bool:
    """Whether each relation of a line (a = b = c <= d) is true."""
    parser = Parser(line, world, indices)
    value, relations = parser.sum(), 0
    true = True
    while parser.at in RELATIONS:
        relation = RELATIONS[parser.take()]
        other = parser.sum()
        true, value, relations = true and relation(value, other), other, relations + 1
    if parser.at or not relations:
        raise ValueError(f"this part of {line!r} was not understood: {parser.rest()!r}")
    return true


def lines(tex: str) -> Iterator[str]:
    r"""The formulas of a block: the lines of ``aligned``; one that begins with ``&`` continues the one before."""
    tex = re.sub(r"\\(begin|end)\{\w+\*?\}", "", tex)
    found: list[str] = []
    for line in re.split(r"\\\\(?:\[\w+\])?", tex):
        line = line.split(r"\qquad")[0].strip()
        if found and line.startswith("&"):
            found[-1] += " " + line
        elif line:
            found.append(line)
    yield from found


class Parser:
    """Recursive descent: sum, product (elementwise), juxtaposed (matrix product), factor."""

    def __init__(self, text: str, world: World, indices: Mapping[str, int]) -> None:
        self.tokens = [t for t in TOKEN.findall(text.rstrip().rstrip(".,")) if t not in SKIPPED]
        self.world, self.indices, self.k = world, dict(indices), 0

    @property
    def at(self) -> str:
        return self.tokens[self.k] if self.k < len(self.tokens) else ""

    def rest(self) -> str:
        return " ".join(self.tokens[self.k :])

    def take(self, *expected: str) -> str:
        if expected and self.at not in expected:
            raise ValueError(f"expected {' or '.join(expected)}, got {self.rest()[:40]!r}")
        self.k += 1
        return self.tokens[self.k - 1]

    def sum(self) -> Any:
        sign = self.take() if self.at in ("+", "-") else "+"
        value = self.product() if sign == "+" else -self.product()
        while self.at in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> Any:
        value = self.juxtaposed()
        while self.at in (r"\odot", r"\cdot"):
            self.take()
            value = value * self.juxtaposed()
        return value

    def juxtaposed(self) -> Any:
        value = self.factor()
        while self.at and self.at not in {
            *RELATIONS,
            "+",
            "-",
            r"\odot",
            r"\cdot",
            ")",
            "]",
            "}",
            ",",
            r"\mid",
            r"\rVert",
            r"\rvert",
        }:
            other = self.factor()
            value = value * other if np.size(value) == 1 or np.size(other) == 1 else value @ other
        return value

    def factor(self) -> Any:
        value = self.atom()
        while self.at == "^":
            self.take()
            value = self.power(value)
        return value

    def power(self, value: Any) -> Any:
        if "".join(self.tokens[self.k : self.k + 3]).startswith((r"\top", r"{\top}")):
            self.raw()
            return np.transpose(value)
        exponent = self.group(Parser.sum) if self.at == "{" else float(self.take())
        return np.linalg.matrix_power(value, int(exponent)) if np.size(value) > 1 else value**exponent

    def atom(self) -> Any:
        token = self.at
        if token in ("(", "["):
            return self.bracket()
        if token in (r"\lVert", r"\lvert"):
            self.take()
            value = self.sum()
            self.take(r"\rVert" if token == r"\lVert" else r"\rvert")
            return np.linalg.norm(np.atleast_2d(value), 2) if token == r"\lVert" else np.abs(value)
        if token in (r"\sum", r"\prod"):
            return self.repeated()
        if token == r"\frac":
            return self.fraction()
        if token == r"\binom":
            self.take()
            return float(math.comb(int(self.group(Parser.sum)), int(self.group(Parser.sum))))
        if token == r"\sqrt":
            self.take()
            return np.sqrt(self.group(Parser.sum))
        if token == r"\underbrace":
            self.take()
            value = self.group(Parser.sum)
            if self.at == "_":
                self.take()
                self.raw()
            return value
        if re.fullmatch(r"[0-9.]+", token):
            return float(self.take())
        if token == "{":
            return self.group(Parser.sum)
        name = ""
        if token == r"\operatorname":
            self.take()
            name = self.raw()
        if token in FUNCTIONS or name:
            return self.call(name or self.take())
        return self.symbol()

    def bracket(self) -> Any:
        closing = ")" if self.take() == "(" else "]"
        parts = [self.sum()]
        while self.at in (r"\mid", ","):
            self.take()
            parts.append(self.sum())
        self.take(closing)
        return parts[0] if len(parts) == 1 else np.concatenate([np.atleast_2d(part) for part in parts], axis=-1)

    def call(self, name: str) -> Any:
        function, derivative = FUNCTIONS[name]
        squared = False
        if self.at == "'":
            self.take()
            assert derivative is not None, name
            function = derivative
        elif self.at == "^":
            self.take()
            squared = self.take("2") == "2"
        if name in (r"\max", r"\min") and self.at == "_":  # over what: the entries of what follows
            self.take()
            self.raw()
        value = function(self.atom())
        return value * value if squared else value

    def repeated(self) -> Any:
        r"""``\sum_{t=1}^{T}`` and ``\prod``: over all following factors."""
        kind = self.take()
        self.take("_")
        variable, first = self.raw().split("=")
        self.take("^")
        last = self.index(self.raw() if self.at == "{" else self.take())
        body, outer, values = self.k, self.indices, []
        for value in range(self.index(first), last + 1) or [self.index(first)]:
            self.k, self.indices = body, {**outer, variable: value}
            values.append(self.product())
        empty = last < self.index_in(outer, first)
        self.indices = outer
        if kind == r"\sum":
            return 0 * values[0] if empty else reduce(operator.add, values)
        if np.size(values[0]) == 1:
            return 1.0 if empty else reduce(operator.mul, values)
        return np.eye(len(values[0])) if empty else reduce(operator.matmul, values[::-1])

    def fraction(self) -> Any:
        r"""A quotient, or a derivative: ``\frac{\partial h_t}{\partial h_s}`` is ``\partial h/\partial h`` (t, s)."""
        self.take()
        ahead = self.tokens[self.k + 1]
        if ahead not in (r"\partial", r"\mathrm"):
            above = self.group(Parser.sum)
            return above / self.group(Parser.sum)
        names, indices = [], []
        for _ in range(2):
            self.take("{")
            sign = self.take(r"\partial", r"\mathrm")
            if sign == r"\mathrm":
                assert self.raw() == "d"
            name, found = self.named()
            names.append((r"\partial " if sign == r"\partial" else "d ") + name)
            indices += found
            self.take("}")
        return self.look_up("/".join(names), indices)

    def group(self, parse: Callable[[Parser], Any]) -> Any:
        self.take("{")
        value = parse(self)
        self.take("}")
        return value

    def raw(self) -> str:
        """The tokens of a group, or the next one."""
        if self.at != "{":
            return self.take()
        depth, found = 0, []
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if not depth:
                return "".join(found[1:])
            found.append(token)

    def symbol(self) -> Any:
        return self.look_up(*self.named())

    def named(self) -> tuple[str, list[int]]:
        """A symbol: its name, with the indices that are labels, and the values of the others."""
        name = self.take()
        if name in ACCENTS:
            inner, indices = self.named()
            return f"{name} {inner}", indices
        if name in STYLES:
            name = self.raw()
        elif not re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+", name):
            raise ValueError(f"{name!r} is no symbol, before {self.rest()[:40]!r}")
        indices: list[int] = []
        while self.at == "_" or (self.at == "^" and self.is_label()):
            sign = self.take()
            labels = []
            for part in self.raw().split(","):
                try:
                    indices.append(self.index(part))
                except KeyError:
                    labels.append(part)
            name += f"{sign}{','.join(labels)}" if labels else ""
        return name, indices

    def is_label(self) -> bool:
        following = "".join(self.tokens[self.k + 1 : self.k + 4])
        return following.startswith((r"\leftarrow", r"{\leftarrow", r"\star", "{("))

    def index(self, text: str) -> int:
        return self.index_in(self.indices, text)

    @staticmethod
    def index_in(indices: Mapping[str, int], text: str) -> int:
        parts = re.findall(r"([-+]?)([A-Za-z]+|\d+)", text)
        if "".join(sign + part for sign, part in parts) != text or not all(sign for sign, _ in parts[1:]):
            raise KeyError(text)
        total = 0
        for sign, part in parts:
            total += (-1 if sign == "-" else 1) * (int(part) if part.isdigit() else indices[part])
        return total

    def look_up(self, name: str, indices: list[int]) -> Any:
        if name not in self.world:
            if not indices and name in self.indices:
                return float(self.indices[name])
            raise KeyError(f"{name} is not in the world of this page: {', '.join(self.world)}")
        found = self.world[name]
        return found(*indices) if callable(found) else found
