"""Symbols, which are the arguments of a cell's function when it is traced, and the parts of its formulas.

Equal expressions of one graph are the same object, so common subexpressions are found by identity. Numbers are folded,
``+ 0`` and ``* 1`` are dropped, and a minus moves out of products: ``a * (-b)`` becomes ``-(a * b)``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Real
from typing import Any, NoReturn

from minirnn.cells.words import FUNCTIONS, INSTEAD, LANGUAGE

COMPARISONS = {"gt": ">", "lt": "<", "ge": ">=", "le": "<="}
NUMBERS = ("number", "constant")
LEAVES = (*NUMBERS, "input", "gradient")
REDUCTIONS = ("unit_mean", "unit_sum", "unit_var", "unit_max", "unit_ties", "unit_exp_sum")
"""Functions with one result for all units of a sample: the mean, the sum, the variance, the largest value, how many
units have it, and the sum of ``exp(v - unit_max(v))``."""
BACK = {op: "unit_mean" if op in ("unit_mean", "unit_var") else "unit_sum" for op in REDUCTIONS}
"""What becomes of the gradient of such a result: its mean or its sum over units."""
CUTS = ("product", *REDUCTIONS)
"""Functions that need all units of a sample. A step is split there into stages."""
SUMS = ("sum_u", "sum_k")
"""Sums over the units and over the keys of a sample, in cells with keys."""


class CellError(TypeError):
    """Raised for a mistake in a cell. The message says what to write instead."""


class Graph:
    """The expressions of one cell without duplicates, in the order in which they were made.

    `keys` is the number of keys of a cell with matrices (`axes`), else None.
    """

    def __init__(self, keys: int | None = None) -> None:
        self.keys = keys
        self.growing = False  # whether the axes of states are not known yet
        self.known: dict[tuple[Any, ...], Expr] = {}
        self.cuts: list[Expr] = []
        self.norms: list[tuple[Expr, ...]] = []
        """Values that were normalized together."""
        self.shares: dict[Expr, Expr] = {}
        """The share that each unit has in the gradient of the largest, which a step saves."""
        self.names: dict[Expr, str] = {}
        """The values that the user named."""
        self.whole: set[Expr] = set()
        """Gradients that a backward pass may name. Like values with names, they stay whole in formulas."""
        self.gated: set[Expr] = set()
        """Gradients that are 0 where a condition does not hold: ``where(condition, d, 0)`` prints as a product."""

    def node(self, op: str, args: tuple[Expr, ...] = (), value: Any = None) -> Expr:
        key = op, args, value
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Expr(self, op, args, value, len(self.known))
        return found

    def cut(self, op: str, v: Expr, value: Any = None) -> Expr:
        """A function of all units of a sample."""
        if self.keys is not None:
            raise CellError(
                f"{op}: the cell has keys, and its units do not read each other\n  expected dot(a, b), a sum over keys"
            )
        found = self.node(op, (v,), value)
        if found not in self.cuts:
            self.cuts.append(found)
        return found

    def number(self, v: float) -> Expr:
        return self.node("number", (), float(v))

    def lift(self, v: Any) -> Expr:
        """A symbol for a symbol, a number or a comparison, which is 1 where it is true, else 0."""
        if isinstance(v, Expr):
            if v.graph is not self:
                raise CellError(
                    "a value comes from another call of a cell's function\n  expected only values of this step"
                )
            return choose(v, self.number(1), self.number(0)) if v.op in COMPARISONS else v
        if isinstance(v, Real) and not isinstance(v, bool):
            return self.number(float(v))
        if isinstance(v, complex):
            raise CellError("got complex in a formula\n  write the real and the imaginary part as two states")
        raise CellError(
            f"got {type(v).__name__} in a formula\n  expected values of the step and numbers; a learned vector (H,) is "
            "a keyword-only parameter"
        )


class Expr:
    """A node with an `op` and its operands `args`. `value` is a number, a name, or the index of a product."""

    __slots__ = ("args", "axes", "graph", "index", "op", "stage", "value", "varies")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...], value: Any, index: int) -> None:
        self.graph, self.op, self.args, self.value, self.index = graph, op, args, value, index
        self.stage: int = max([a.stage for a in args], default=0) + (op in CUTS)
        """The number of products inside the step that come before this value."""
        self.varies: bool = op == "gradient" or any(a.varies for a in args)
        """Whether it depends on a gradient. The dependence is always linear."""
        self.axes: frozenset[str] = axes_of(op, args)
        """The axes along which its numbers differ within a sample: ``u`` for units, ``k`` for keys."""

    def __repr__(self) -> str:
        return f"<{self.op} {self.value}>" if not self.args else f"<{self.op} of {len(self.args)}>"

    def __add__(self, b: Any) -> Expr:
        return add(self, b)

    def __radd__(self, b: Any) -> Expr:
        return add(b, self)

    def __sub__(self, b: Any) -> Expr:
        return sub(self, b)

    def __rsub__(self, b: Any) -> Expr:
        return sub(b, self)

    def __mul__(self, b: Any) -> Expr:
        return mul(self, b)

    def __rmul__(self, b: Any) -> Expr:
        return mul(b, self)

    def __truediv__(self, b: Any) -> Expr:
        return div(self, b)

    def __rtruediv__(self, b: Any) -> Expr:
        return div(b, self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return apply("abs", self)

    def __pow__(self, n: Any) -> Expr:
        if n == 0.5:
            return apply("sqrt", self)
        if isinstance(n, bool) or n not in range(-8, 9) or n == 0:
            raise CellError(
                "got a power that devices cannot compute\n"
                "  expected ** 2, ** 3, .., ** -1, .. or ** 0.5; otherwise write exp(n * log(x))"
            )
        found = self
        for _ in range(abs(int(n)) - 1):
            found = mul(found, self)
        return found if n > 0 else div(1, found)

    def __rpow__(self, b: Any) -> Expr:
        base = float(b) if isinstance(b, Real) else 0.0
        instead = f"exp(x * {math.log(base):.9g})" if base > 0 else "exp(x * log(b)), with a base above 0"
        raise CellError(f"a number was raised to the power of a value of the step\n  write {instead}")

    def __and__(self, _: Any) -> Expr:
        refuse(
            "was combined with & or |",
            "write where(a, where(b, x, y), y) for a & b, where(a, x, where(b, x, y)) for a | b",
        )

    __rand__ = __or__ = __ror__ = __and__

    def __mod__(self, _: Any) -> Expr:
        refuse("was divided with a remainder, by % or //", INSTEAD["%"])

    __rmod__ = __floordiv__ = __rfloordiv__ = __mod__

    def __invert__(self) -> Expr:
        refuse("was negated by ~", "exchange the values of where: where(a, y, x)")

    def __gt__(self, b: Any) -> Expr:
        return compared("gt", self, b)

    def __lt__(self, b: Any) -> Expr:
        return compared("lt", self, b)

    def __ge__(self, b: Any) -> Expr:
        return compared("ge", self, b)

    def __le__(self, b: Any) -> Expr:
        return compared("le", self, b)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **_: Any) -> Any:
        operators = {"add": add, "subtract": sub, "multiply": mul, "divide": div}
        if ufunc.__name__ in operators and all(isinstance(a, (Expr, Real)) for a in args):
            return operators[ufunc.__name__](*args)  # the number on the left is a NumPy scalar
        return refuse(f"was given to np.{ufunc.__name__}")

    def __bool__(self) -> bool:
        refuse(
            "was asked whether it is true, by if, and, or, not, min or max",
            "write where(condition, a, b), maximum(a, b) or minimum(a, b)",
        )

    def __float__(self) -> float:
        refuse("was turned into a number, by math or float()")

    __int__ = __index__ = __float__

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("was given to NumPy")

    def __array_function__(self, function: Any, *_: Any) -> Any:
        refuse(f"was given to np.{function.__name__}")

    def __iter__(self) -> Any:
        refuse("was unpacked or iterated over", "a value is one number per sample and unit")

    def __len__(self) -> int:
        refuse("was asked for its length", "a step has no shapes: its formulas hold for every sample and unit")

    def __getitem__(self, _: Any) -> Any:
        refuse("was indexed", "units see each other only in product(v), unit_mean(v) and other functions unit_..")

    def __matmul__(self, _: Any) -> Any:
        refuse("was multiplied by a matrix", "write product(v): the layer has the matrix (H, H)")

    __rmatmul__ = __matmul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        refuse(f"was asked for .{name}, perhaps by a function of Tensors", INSTEAD.get(name, LANGUAGE))


def refuse(what: str, instead: str = LANGUAGE) -> NoReturn:
    raise CellError(f"a value of the step {what}\n  expected a formula that holds for every element\n  {instead}")


def both(a: Any, b: Any) -> tuple[Expr, Expr]:
    graph = a.graph if isinstance(a, Expr) else b.graph
    return graph.lift(a), graph.lift(b)


def axes_of(op: str, args: Sequence[Expr]) -> frozenset[str]:
    """The axes of a result. A sum (sum_u, sum_k) has those of its operand but one; a leaf has units at first."""
    found = frozenset("u" * (op in ("input", "gradient"))).union(*[a.axes for a in args])
    return found - {op[-1]} if op in SUMS else found


def is_number(e: Expr, v: float) -> bool:
    return e.op == "number" and e.value == v


def opens(e: Expr, op: str) -> bool:
    """Whether a formula with `e` may be simplified by its operands. It may not if that loses a name."""
    return e.op == op and e not in e.graph.names and e not in e.graph.whole


def add(a: Any, b: Any) -> Expr:
    a, b = both(a, b)
    if is_number(a, 0) or is_number(b, 0):
        return b if is_number(a, 0) else a
    if a.op == b.op == "number":
        return a.graph.number(a.value + b.value)
    return sub(a, b.args[0]) if opens(b, "neg") else a.graph.node("add", (a, b))


def sub(a: Any, b: Any) -> Expr:
    a, b = both(a, b)
    if is_number(b, 0):
        return a
    if a.op == b.op == "number":
        return a.graph.number(a.value - b.value)
    if is_number(a, 0):
        return neg(b)
    return add(a, b.args[0]) if opens(b, "neg") else a.graph.node("sub", (a, b))


def neg(a: Expr) -> Expr:
    if a.op == "number":
        return a.graph.number(-a.value)
    if opens(a, "neg"):
        return a.args[0]
    return sub(a.args[1], a.args[0]) if opens(a, "sub") else a.graph.node("neg", (a,))


def mul(a: Any, b: Any) -> Expr:
    if a.__class__ is b.__class__ is Expr and a.varies and b.op in COMPARISONS:
        return gated(a, b, True)
    a, b = both(a, b)
    for one, other in ((a, b), (b, a)):
        if one.op == "number" and one.value in (0, 1, -1):
            return a.graph.number(0) if one.value == 0 else other if one.value == 1 else neg(other)
    if a.op == b.op == "number":
        return a.graph.number(a.value * b.value)
    minus = [opens(e, "neg") for e in (a, b)]
    if any(minus):
        product = mul(a.args[0] if minus[0] else a, b.args[0] if minus[1] else b)
        return product if all(minus) else neg(product)
    if opens(b, "div") and is_number(b.args[0], 1):
        return div(a, b.args[1])
    if opens(b, "mul") and not is_power(a, b) and not is_power(*b.args):  # a * (b * c) is a * b * c
        return mul(mul(a, b.args[0]), b.args[1])
    return a.graph.node("mul", (a, b))


def is_power(e: Expr, base: Expr) -> bool:
    return e is base or e.op == "mul" and e.args[1] is base and is_power(e.args[0], base)


def div(a: Any, b: Any) -> Expr:
    a, b = both(a, b)
    if is_number(b, 0):
        raise CellError("a value of the step was divided by 0\n  expected a divisor other than 0")
    if is_number(a, 0) or is_number(b, 1):
        return a
    if a.op == b.op == "number":
        return a.graph.number(a.value / b.value)
    return neg(div(a.args[0], b)) if opens(a, "neg") else a.graph.node("div", (a, b))


def compared(op: str, a: Expr, b: Any) -> Expr:
    return a.graph.node(op, both(a, b))


def choose(condition: Expr, a: Any, b: Any) -> Expr:
    """``where(condition, a, b)``."""
    graph = condition.graph
    a, b = graph.lift(a), graph.lift(b)
    return a if a is b else graph.node("where", (condition, a, b))


def gated(d: Expr, condition: Expr, holds: bool) -> Expr:
    """A gradient times a condition, or its opposite: d or 0, also where d is infinite or NaN."""
    found = choose(condition, d, 0) if holds else choose(condition, 0, d)
    d.graph.gated.add(found)
    return found


def apply(name: str, *args: Any, **options: Any) -> Any:
    """The result of a function of the language on symbols. ``mr.tanh`` and others call it for a symbol."""
    graph: Graph = next(a.graph for a in args if isinstance(a, Expr))
    name = "abs" if name == "absolute" else name
    if name not in FUNCTIONS:
        refuse(f"was given to {name}", INSTEAD.get(name, LANGUAGE))
    if name == "where":
        condition, a, b = args
        if not isinstance(condition, Expr) or condition.op not in COMPARISONS:
            raise CellError(
                f"where: the condition is {kind_of(condition)}\n  expected a comparison: a > b, a < b, a >= b, a <= b"
            )
        return choose(condition, a, b)
    if name == "clip":
        x, *bounds = (graph.lift(a) for a in args)
        low, high = bounds
        if low.op not in NUMBERS and not is_number_of(low) or high.op not in NUMBERS and not is_number_of(high):
            raise CellError(
                "clip: a bound is a value of the step\n"
                "  expected numbers; for values of the step write minimum(maximum(x, low), high)"
            )
        if is_infinite(low) and is_infinite(high):
            return x
        clipped = graph.node("clip", (x, low, high))
        return graph.node("straight_through", (clipped, x)) if options.get("straight_through") else clipped
    given = tuple(graph.lift(a) for a in args)
    if name not in CUTS:
        return graph.node(name, given)
    (v,) = given
    if v.op in NUMBERS:
        raise CellError(f"{name}: got a number\n  expected a value of the step")
    return graph.cut(name, v, options.get("matrix", len(graph.cuts)) if name == "product" else None)


def is_infinite(e: Expr) -> bool:
    """Whether `e` is an infinite number or constant, or minus one."""
    if e.op == "neg":
        return is_infinite(e.args[0])
    return e.op in NUMBERS and math.isinf(e.value if e.op == "number" else e.value[1])


def is_number_of(e: Expr) -> bool:
    """Whether `e` is computed only from numbers and constants."""
    return e.op in NUMBERS or e.op not in LEAVES and all(map(is_number_of, e.args))


def kind_of(v: Any) -> str:
    return "a value of the step" if isinstance(v, Expr) else f"a {type(v).__name__}"


def needed(ends: Sequence[Expr], until: Collection[Expr] = ()) -> list[Expr]:
    """`ends` and all expressions that they depend on, operands first. Those in `until` are not looked into."""
    found: set[Expr] = set()
    waiting = list(ends)
    while waiting:
        e = waiting.pop()
        if e not in found:
            found.add(e)
            waiting.extend(() if e in until else e.args)
    return sorted(found, key=lambda e: e.index)
