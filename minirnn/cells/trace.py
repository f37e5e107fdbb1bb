"""Traces a cell's function: runs it once on symbols to find the values that it reads and computes, and their names.

The names of the parameters define their roles::

    z_NAME      a gate of both:  x W + h R + b            a name of `states`   the state before the step
    x_NAME      a gate of x alone:     x W + b            mask_NAME            a mask of the step, without a gradient
    h_NAME      a gate of h alone:     h R + b

and, after a ``*``, a learned vector (H,) if there is no default, a constant if that is a number. In a cell with keys
(`axes`), whose gates read x alone, there are also

    k_NAME      a vector of keys (N,):  x W + b           s_NAME      one number per sample:  x W + b

and an annotation names the shape of a learned parameter: ``A: "H, N"``, ``"N"``, or ``"1"`` for a number. The shapes of
states are found: each has the axes of its new value.

A trace function finds the names of local variables in the frame after every line. It works in notebooks and needs no
source text.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from types import CodeType, FrameType
from typing import Any, NoReturn

from minirnn.cells.axes import annotated, shape_text
from minirnn.cells.expr import NUMBERS, CellError, Expr, Graph, needed
from minirnn.cells.words import LANGUAGE

KINDS = ("z", "x", "h")
"""The first letters of the kinds of gates, in the order of the devices: OF_BOTH, OF_X, OF_H."""
KINDS_WITH_KEYS = {"x": "u", "k": "k", "s": ""}
"""The kinds of gates of a cell with keys, and their axes."""


class Step:
    """A traced step.

    Attributes
    ----------
    states, gates, vectors, masks : dict of str to Expr
        The inputs, by name. `states` are those before the step, the output last. `gates` are in the order of `KINDS`.
    constants : dict of str to float
    after : list of Expr
        The new states, in the order of `states`.
    names : dict of Expr to str
        Inputs, states and local variables. A state before the step is ``c_prev``.
    cuts : list of Expr
        Products and functions of all units, in the order in which they were made.
    matrix_of : dict of Expr to int
        The number of the matrix of each product.
    matrices : dict of str to str
        The names of the matrices in formulas (``U1``) by those of the layer's parameters (``product_1``), in the order
        of their numbers. Both are the name that `product` was given, if it was.
    read : bool
        Whether a step reads the last state. If the output of a cell is not a state, no step reads it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        states: Sequence[str],
        output: str | None = None,
        keys: int | None = None,
        /,
        **constants: float,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        inner = inspect.unwrap(function)
        code = getattr(inner, "__code__", None) or getattr(getattr(inner, "func", None), "__code__", None)
        if not isinstance(code, CodeType):
            self.fail(f"got {type(function).__name__}", "expected a Python function of one step")
        self.code: CodeType = code
        self.user_states = tuple(states)  # in the user's order
        self.output = self.user_states[-1] if output is None else output
        self.read = self.output in self.user_states
        self.keys = keys
        self.prefixes = ("z_", "x_", "h_") if keys is None else tuple(f"{kind}_" for kind in KINDS_WITH_KEYS)
        self.masked: dict[str, float | None] = {}  # the rate of each mask
        self.axes: dict[str, frozenset[str]] = {}  # of each state, in a cell with keys
        self.traced(inspect.signature(function).parameters, constants, growing=keys is not None)
        if keys is not None:
            self.find_axes(inspect.signature(function).parameters, constants)
        self.cuts = self.graph.cuts
        more = [*self.graph.shares.values(), *[y for group in self.graph.norms for y in group]]
        self.nodes = needed([*self.after, *self.cuts, *more])
        self.name_cuts()
        self.name_matrices()
        self.check_used()

    def traced(
        self, parameters: Mapping[str, inspect.Parameter], constants: Mapping[str, float], growing: bool = False
    ) -> None:
        self.graph = Graph(self.keys)
        self.graph.growing = growing
        self.names: dict[Expr, str] = self.graph.names
        self.read_parameters(parameters, constants)
        self.after = self.run()

    def find_axes(self, parameters: Mapping[str, inspect.Parameter], constants: Mapping[str, float]) -> None:
        """The axes of states, which grow until each state has those of its new value."""
        while (found := {n: e.axes for n, e in zip(self.order, self.after, strict=True)}) != self.axes:
            self.axes = {n: axes | self.axes.get(n, frozenset()) for n, axes in found.items()}
            self.traced(parameters, constants, growing=True)
        self.traced(parameters, constants)
        for n, e in zip(self.order, self.after, strict=True):
            if n == self.output and e.axes != {"u"}:
                self.fail(
                    f"the output {n} has the shape {shape_text(e.axes)}", "expected (H,): dot(S, k_q) sums over keys"
                )

    # ---- the meaning of names

    def read_parameters(self, parameters: Mapping[str, inspect.Parameter], constants: Mapping[str, float]) -> None:
        for n in (*self.user_states, self.output):
            if not n.isidentifier() or n[:2] in self.prefixes or n.endswith("_prev") or n.startswith("mask_"):
                self.fail(f"got a state {n!r}", "expected a name such as c, h or m, without z_, x_, h_, mask_, _prev")
        if len(set(self.user_states)) < len(self.user_states):
            self.fail(f"states are {', '.join(self.user_states)}", "expected every state once")
        self.order = [n for n in self.user_states if n != self.output] + [self.output]
        positional = {n: p for n, p in parameters.items() if p.kind == p.POSITIONAL_OR_KEYWORD}
        keywords = {n: p for n, p in parameters.items() if p.kind == p.KEYWORD_ONLY}
        for n in parameters.keys() - positional.keys() - keywords.keys():
            self.fail(f"got a parameter {parameters[n]}", "expected plain names, without *args, **kwargs and /")
        missing = [n for n in self.user_states if n not in positional]
        if missing:
            expected = f"expected every state among its parameters ({', '.join(parameters)}), before a *"
            self.fail(f"the state {missing[0]!r} is not a parameter", expected)
        gates = [n for n in positional if n[:2] in self.prefixes]
        self.positional = list(positional)
        self.gate_order = gates
        if "self" in positional:
            self.fail(
                "got a parameter 'self'", "expected a function, a static method, or cell(..)(self.method) of an object"
            )
        if self.keys is not None:
            self.check_with_keys(positional)
        for n, p in positional.items():
            if n not in gates and n not in self.user_states and not n.startswith("mask_"):
                self.fail(
                    f"got a parameter {n!r}",
                    "expected a state, or a gate: x_.. of x alone, h_.. of h alone, z_.. of both\n"
                    "  another input is a part of x, or a mask_..; learned vectors (H,) and constants come after a *"
                    if self.keys is None and n[:2] not in ("k_", "s_")
                    else "expected a state, or a gate of x in a cell with keys, @cell(.., keys=16):\n"
                    "  x_.. for units (H,), k_.. for keys (N,), s_.. for one number per sample",
                )
            if not n.startswith("mask_") and p.default is not p.empty:
                self.fail(
                    f"the parameter {n!r} has a default", "expected constants after a *, as keyword-only parameters"
                )
        if not gates:
            self.fail("it has no gate", "expected at least one parameter z_.., x_.. or h_..")
        self.gates = (
            {n: self.input(n) for kind in KINDS for n in gates if n[0] == kind}
            if self.keys is None
            else {n: self.input(n, KINDS_WITH_KEYS[n[0]]) for n in gates}
        )
        none = None if self.keys is None else ""
        self.states = {n: self.input(f"{n}_prev", self.axes.get(n, none)) for n in self.order}
        self.masks = {n: self.input(n) for n in positional if n.startswith("mask_")}
        self.masked = {n: self.rate(n, positional[n]) for n in self.masks}
        learned = {n: annotated(p.annotation) for n, p in keywords.items() if p.default is p.empty}
        for n in learned if self.keys is not None else ():
            if learned[n] is None and (said := keywords[n].annotation) is not inspect.Parameter.empty:
                self.fail(f"{n} is annotated as {said!r}", 'expected its shape: "H", "N", "H, N" or "1"')
        self.vectors = {n: self.input(n, axes) for n, axes in learned.items()}
        for n, axes in learned.items():
            if self.keys is None and axes not in (None, "u"):
                self.fail(
                    f"{n} is annotated as {keywords[n].annotation}", "expected a vector (H,), or @cell(.., keys=16)"
                )
        unknown = sorted(constants.keys() - (keywords.keys() - self.vectors.keys()))
        if unknown:
            known = ", ".join(keywords.keys() - self.vectors.keys()) or "none"
            self.fail(f"it has no constant {unknown[0]!r}", f"expected one of its constants: {known}")
        self.constants = {}
        for n, p in keywords.items():
            if n not in self.vectors:
                self.constants[n] = self.finite(n, constants.get(n, p.default))

    def finite(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            self.fail(
                f"the default of {name} is {value!r}", "expected a number, or no default for a learned vector (H,)"
            )
        return float(value)

    def rate(self, name: str, p: inspect.Parameter) -> float | None:
        if p.default is p.empty:
            return None
        if not 0 <= self.finite(name, p.default) <= 1:
            self.fail(
                f"the default of {name} is {p.default}", "expected a rate 0 .. 1: the probability that the mask is 1"
            )
        return float(p.default)

    @property
    def signature(self) -> list[str]:
        """The parameters as they are written in the function."""
        constants = [f"{n}={v:g}" for n, v in self.constants.items()]
        return [*self.positional, *(["*"] if self.vectors or constants else []), *self.vectors, *constants]

    def check_with_keys(self, positional: Mapping[str, inspect.Parameter]) -> None:
        for n in positional:
            if n[:2] in ("z_", "h_"):
                self.fail(f"got a gate {n!r} in a cell with keys", "expected gates of x alone: x_.., k_.. and s_..")
            if n.startswith("mask_"):
                self.fail(f"got a mask {n!r} in a cell with keys", "expected none: drop out the output of the layer")

    def input(self, name: str, axes: Iterable[str] | None = None) -> Expr:
        e = self.graph.node("input", (), name)
        e.axes = e.axes if axes is None else frozenset(axes)
        self.names[e] = name
        return e

    def static(self) -> list[Expr]:
        """The values that depend on learned parameters and constants alone, which are the same at every step."""
        found = set(self.vectors.values())
        numbers: set[Expr] = set()
        for e in self.nodes:
            if e.op in NUMBERS or e.args and all(a in numbers for a in e.args):
                numbers.add(e)
            elif e.args and all(a in found or a in numbers for a in e.args):
                found.add(e)
        return [e for e in self.nodes if e in found and e.args]

    # ---- the run

    def run(self) -> list[Expr]:
        by_name = {**self.gates, **self.masks, **self.states}
        keywords = {**self.vectors, **{n: self.graph.node("constant", (), (n, v)) for n, v in self.constants.items()}}
        before = sys.gettrace()
        sys.settrace(self.watch)
        try:
            found = self.function(*[by_name[n] for n in self.positional], **keywords)
        except (CellError, NameError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is self.code]
            if not lines:  # the event of the call itself
                raise
            text = str(error) if isinstance(error, CellError) else f"{type(error).__name__}: {error}\n  {LANGUAGE}"
            raise CellError(f"{self.place(lines[-1])}: {text}") from None
        finally:
            sys.settrace(before)
        return self.results(found)

    def watch(self, frame: FrameType, event: str, _: Any) -> Any:
        """Python's trace function. It gives values the names of the variables that hold them."""
        if frame.f_code is not self.code:
            return None
        for name, value in frame.f_locals.items():
            if value.__class__ is Expr and value not in self.names and value.op not in NUMBERS:
                self.names[value] = self.unused(name)
        return self.watch

    def results(self, found: Any) -> list[Expr]:
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        given = (*self.user_states, *(() if self.read else (self.output,)))
        if len(found) != len(given):
            self.fail(f"it returns {len(found)} values", f"expected {len(given)}: the new {', '.join(given)}")
        by_name = dict(zip(given, found, strict=True))
        called = [self.names.get(e, "") if isinstance(e, Expr) else "" for e in found]
        if called != list(given) and sorted(called) == sorted(given):
            self.fail(f"it returns {', '.join(called)}", f"expected the new {', '.join(given)} in the order of states=")
        after: list[Expr] = []
        for name in self.order:
            if not isinstance(by_name[name], Expr):
                self.fail(f"the new {name} is a {type(by_name[name]).__name__}", "expected a value of the step")
            e = self.graph.lift(by_name[name])
            if e is self.states[name]:
                self.fail(
                    f"the new {name} is the {name} before the step",
                    "expected a formula: a value that never changes is not a state",
                )
            if e.op in NUMBERS:
                self.fail(f"the new {name} is a number", "expected a formula")
            if e in after or e.op == "input":
                e = self.graph.node("copy", (e,), name)
            after.append(e)
            for other in [k for k, n in self.names.items() if n == name and k is not e]:
                del self.names[other]  # an earlier value of the same variable
            self.names[e] = name
        return after

    def name_cuts(self) -> None:
        for k, m in enumerate(self.cuts):
            (v,) = m.args
            if v not in self.names:
                self.names[v] = self.unused(f"v{k + 1}")
            if m not in self.names:
                self.names[m] = self.unused(f"m{k + 1}")
        for e in self.nodes:
            if e.op in ("unit_softmax", "unit_share") and e not in self.names:
                self.names[e] = self.unused(f"{e.op[5:]}_{self.names[e.args[0]]}")
        for group in self.graph.norms:
            for y in group:
                v, mean, std = y.args
                for e, name in ((mean, "mean"), (std, "std"), (y, f"norm_{self.names[v]}")):
                    if e not in self.names:
                        self.names[e] = self.unused(name)

    def name_matrices(self) -> None:
        products = [m for m in self.cuts if m.op == "product"]
        given = list(dict.fromkeys(m.value for m in products))  # a name, or a number that no other product has
        self.matrix_of = {m: given.index(m.value) for m in products}
        self.matrices: dict[str, str] = {}
        for k, name in enumerate(given):
            if isinstance(name, str) and (name in {*self.names.values(), *self.constants} or name[:8] == "product_"):
                self.fail(f"a matrix is called {name!r}", "expected a name that nothing else has")
            self.matrices |= {name: name} if isinstance(name, str) else {f"product_{k + 1}": self.unused(f"U{k + 1}")}

    def unused(self, name: str) -> str:
        """`name`, or the first of name2, name3, .. that is not used."""
        taken, k, plain = {*self.names.values(), *self.constants}, 1, name
        while name in taken or f"{name}_prev" in taken and name not in self.states:
            k, name = k + 1, f"{plain}{k + 1}"
        return name

    # ---- complaints

    def check_used(self) -> None:
        used = set(self.nodes)
        through_R = any(n[0] in "zh" for n in self.gates)
        for kind, inputs in (
            ("gate", self.gates),
            ("mask", self.masks),
            ("vector", self.vectors),
            ("state", self.states),
        ):
            for n, e in inputs.items():
                if e not in used and not (kind == "state" and n == self.output and (through_R or not self.read)):
                    remove = "remove it: a layer would compute it for nothing"
                    if kind == "state" and through_R and self.read:
                        last = ", ".join([*(s for s in self.order if s != n), n])
                        remove = (
                            f"gates z_.. and h_.. read the last state, here {self.output}; if they should read {n}, "
                            f"write states={tuple(last.split(', '))!r} and return {last}\n  otherwise {remove}"
                        )
                    elif kind == "state" and n == self.output:
                        rest = tuple(s for s in self.order if s != n)
                        remove = f"if it is only the output of the layer, write @cell(states={rest!r}, output={n!r})"
                    self.fail(f"the {kind} {n!r} is never used", remove)
        reached = set(needed(self.after))
        if any(m not in reached for m in self.cuts if m.op != "unit_ties"):
            self.fail("a product or mean is never used", "remove it: a layer would compute it for nothing")
        for n, v in self.constants.items():
            if self.graph.known.get(("constant", (), (n, v))) not in used and isfinite(v):
                self.fail(f"the constant {n!r} is never used", "remove it")

    def place(self, line: int | None = None) -> str:
        code = self.code if hasattr(self, "code") else None
        if code is None:
            return self.name
        return f"{self.name} ({code.co_filename}, line {code.co_firstlineno if line is None else line})"

    def fail(self, what: str, instead: str) -> NoReturn:
        raise CellError(f"{self.place()}: {what}\n  {instead}")
