"""Expressions as calls of NumPy's functions with `out`, as text that is compiled once for each plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from minirnn.cells.expr import COMPARISONS, Expr, is_number_of, needed
from minirnn.cells.plan import Plan
from minirnn.cells.rules import RULES
from minirnn.cells.text import number_text, write
from minirnn.cells.words import FUNCTIONS
from minirnn.devices.cpu import elementwise

NAMES: tuple[str, ...] = ("add", "subtract", "multiply", "divide", "negative", "absolute", "logaddexp", "copyto")
NAMES += ("greater", "less", "greater_equal", "less_equal")
NAMES += tuple(name for name in FUNCTIONS if isinstance(getattr(np, name, None), np.ufunc))
SCOPE: dict[str, Any] = {name: getattr(np, name) for name in NAMES}


def sigmoid(x: Any, out: Any) -> None:
    """1 / (1 + exp(-x)) = tanh(x/2)/2 + 1/2, without overflow"""
    half = HALVES[out.dtype]
    np.multiply(x, half, out)
    np.tanh(out, out)
    np.multiply(out, half, out)
    np.add(out, half, out)


HALVES = {np.dtype(t): np.array(0.5, t) for t in ("f4", "f8")}  # a 0-d array is cheaper in a call than a Python number


def erf(x: Any, out: Any) -> None:
    out[...] = elementwise.erf(x)


def unit_sum(v: Any, out: Any) -> None:
    """out (1, B) = the sum over the units of v (H, B)"""
    np.add.reduce(v, 0, None, out, keepdims=True)


def unit_mean(v: Any, out: Any) -> None:
    unit_sum(v, out)
    np.divide(out, len(v), out)


def unit_var(v: Any, out: Any) -> None:
    unit_mean(v, out)
    apart = v - out
    unit_mean(np.multiply(apart, apart, apart), out)


def unit_max(v: Any, out: Any) -> None:
    np.maximum.reduce(v, 0, None, out, keepdims=True)


def unit_ties(v: Any, out: Any) -> None:
    np.sum(v == v.max(0), 0, None, out, keepdims=True)


def unit_exp_sum(v: Any, out: Any) -> None:
    unit_sum(np.exp(v - v.max(0)), out)


WORD = r"[A-Za-z_]\w*"

IN_PLACE = ("add", "sub", "mul", "div", "neg", "tanh", "exp")
"""Operations whose call may read an operand in the place of its result."""

SCOPE |= {"sigmoid": sigmoid, "erf": erf, "unit_mean": unit_mean, "unit_sum": unit_sum, "unit_var": unit_var}
SCOPE |= {"unit_max": unit_max, "unit_ties": unit_ties, "unit_exp_sum": unit_exp_sum}


class Numbers:
    """Numbers of a generated function as 0-d arrays; those that are formulas of constants are set for each call."""

    def __init__(self, given: Iterable[float | Expr], dtype: np.dtype) -> None:
        self.arrays = [np.array(0 if isinstance(v, Expr) else v, dtype) for v in given]
        self.formulas = [(a, v) for a, v in zip(self.arrays, given, strict=True) if isinstance(v, Expr)]

    def set(self, plan: Plan, constants: Iterable[float]) -> list[Any]:
        """The arrays, with these values of the constants of a plan."""
        named = dict(zip(plan.constant_names, constants, strict=True))
        for a, e in self.formulas:
            a[...] = value_of(e, named)
        return self.arrays


def value_of(e: Expr, constants: Mapping[str, float]) -> float:
    """A formula of numbers and constants."""
    if e.op in ("number", "constant"):
        return float(e.value if e.op == "number" else constants[e.value[0]])
    return float(RULES[e.op].value(*[value_of(a, constants) for a in e.args]))


class Calls:
    """Writes calls that compute expressions. Each is computed once and kept as long as it is needed.

    Attributes
    ----------
    lines : list of str
    at : dict of Expr to str
        The name of the array that holds a value.
    temporaries, masks : int
        The number of float arrays ``t0, t1, ..`` and bool arrays ``m0, ..`` that the calls need.
    numbers : dict of float or Expr to str
        The names ``k0, ..`` of numbers and of formulas of constants, as 0-d arrays.
    """

    def __init__(self, ends: Iterable[Expr], at: Mapping[Expr, str]) -> None:
        self.lines: list[str] = []
        self.at = dict(at)
        self.uses = Counter(a for e in needed(list(ends)) for a in e.args) + Counter(ends)
        self.free: dict[str, list[str]] = {"t": [], "m": []}
        self.count = {"t": 0, "m": 0}
        self.numbers: dict[float | Expr, str] = {}

    def say(self, *lines: str) -> None:
        self.lines += lines

    def new(self, kind: str) -> str:
        if self.free[kind]:
            return self.free[kind].pop()
        self.count[kind] += 1
        return f"{kind}{self.count[kind] - 1}"

    def number(self, v: float | Expr) -> str:
        return self.numbers.setdefault(v, f"k{len(self.numbers)}")

    def get(self, e: Expr) -> str:
        """The array that holds `e`, which is computed into a temporary array if necessary."""
        if e.op == "number" or is_number_of(e):
            return self.number(e.value if e.op == "number" else e)
        return self.at[e] if e in self.at else self.into(e)

    def done(self, e: Expr) -> None:
        """Record that `e` was read. After its last use, its temporary array is free."""
        self.uses[e] -= 1
        place = self.at.get(e, "")
        if self.uses[e] == 0 and place[:1] in self.free and place[1:].isdigit():
            self.free[place[0]].append(place)

    def into(self, e: Expr, out: str | None = None) -> str:
        """Compute `e` in `out`, or in a temporary array; return the name of the array."""
        if e in self.at or is_number_of(e):
            place = self.get(e)
            if out is not None and out != place:
                self.say(f"copyto({out}, {place})")
            return out or place
        places = self.operands(e, out)
        for a in e.args:
            self.done(a)
        kind = "m" if e.op in COMPARISONS else "t"
        target = out
        if target is None:  # in the place of an operand that is no longer needed, if the call allows it
            several = e.op in ("unit_norm", "unit_softmax", "unit_share")  # statements
            allowed = e.args[2:] if e.op == "where" else e.args[:1] if several else e.args
            mine = [self.at[a] for a in allowed if self.at.get(a) in self.free[kind]]
            if mine:
                self.free[kind].remove(mine[0])
            taken = {p for p in places if p in self.free[kind]} - set(mine[:1])
            target = mine[0] if mine else self.other_than(taken, kind)
        elif e.op == "where" and target == places[1]:
            held = self.new("t")
            self.say(f"copyto({held}, {places[1]})")
            places[1] = held
            self.free["t"].append(held)
        self.say(RULES[e.op].numpy.format(*places, out=target))
        self.at[e] = target
        return target

    def operands(self, e: Expr, out: str | None) -> list[str]:
        """The arrays of the operands. One that only `e` reads is computed in `out`, if nothing else is there yet."""
        free = out is not None and e.op in IN_PLACE and out not in self.at.values()
        places = []
        for a in e.args:
            if free and a not in self.at and not is_number_of(a) and a.op not in COMPARISONS and self.uses[a] == 1:
                places.append(self.into(a, out))
                free = False
            else:
                places.append(self.get(a))
        return places

    def other_than(self, taken: set[str], kind: str) -> str:
        """A free array that is not an operand, because a call of several statements would overwrite it before
        reading it.
        """
        left = [p for p in self.free[kind] if p not in taken]
        if left:
            self.free[kind].remove(left[-1])
            return left[-1]
        self.count[kind] += 1
        return f"{kind}{self.count[kind] - 1}"


def compiled(name: str, parameters: Iterable[str], body: Iterable[str], names: Mapping[str, str]) -> Callable[..., Any]:
    """Compile the function with this body. `names` maps names in it to those that a reader sees."""
    lines = "\n".join(f"    {line}" for line in body) or "    pass"
    text = renamed(f"def {name}({', '.join(parameters)}):\n{lines}\n", names)
    room = dict(SCOPE)
    exec(compile(text, f"<{name} in NumPy>", "exec"), room)
    found: Callable[..., Any] = room[name]
    found.__doc__ = text
    return found


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with other names. They stay different from each other, from other words and from functions."""
    words = dict.fromkeys(re.findall(WORD, text))
    taken, new = {*SCOPE, *(w for w in words if w not in names)}, {}
    for old in (w for w in words if w in names):
        n = names[old]
        while n in taken:
            n += "_"
        taken.add(n)
        new[old] = n
    return re.sub(WORD, lambda m: new.get(m[0], m[0]), text)


def scratch_names(calls: Calls) -> dict[str, str]:
    """The names of temporary arrays and of numbers: ``_t0``, ``_1``, ``_minus_cell_clip``."""
    found = {f"{kind}{k}": f"_{kind}{k}" for kind, n in calls.count.items() for k in range(n)}
    for v, name in calls.numbers.items():
        said = write(v, {}, top=True) if isinstance(v, Expr) else number_text(v)
        found[name] = "_" + re.sub(r"\W+", "_", said.replace("-", "minus_")).strip("_")
    return found


def unpacked(*arrays: tuple[list[str], str]) -> list[str]:
    """The lines that give names to the members of lists, of those that have any."""
    return [f"({', '.join(names)},) = {source}" for names, source in arrays if names]
