"""Values with axes, in cells with keys: matrices (H, N), vectors of units (H,) or of keys (N,), and single numbers.

Operators broadcast: ``v * k`` of units and keys is a matrix, an outer product. `dot` sums over keys. Backward, the
gradient of a broadcast is a sum, and that of a sum is a broadcast.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

from minirnn.cells.expr import CellError, Expr, Graph, mul, opens

SHAPES = {"H": "u", "N": "k", "HN": "uk", "1": ""}
"""The axes of each shape that an annotation of a learned parameter names."""


def dot(a: Any, b: Any) -> Expr:
    """The sum over keys of ``a * b``."""
    graph: Graph = next(e.graph for e in (a, b) if isinstance(e, Expr))
    if graph.keys is None:
        raise CellError("dot: the cell has no keys\n  expected the number of them: @cell(.., keys=16)")
    e = mul(graph.lift(a), graph.lift(b))
    if graph.growing:
        return graph.node("sum_k", (e,))
    if "k" not in e.axes:
        raise CellError("dot: no operand has keys\n  expected a matrix, or a vector of keys such as a gate k_NAME")
    return summed(e, "k")


def summed(e: Expr, axis: str) -> Expr:
    """The sum over an axis that `e` has. Factors that do not have the axis come before it."""
    if e.op == "neg":
        return -summed(e.args[0], axis)
    factors = factors_of(e)
    before = [f for f in factors if axis not in f.axes]
    inside = reduce(mul, [f for f in factors if axis in f.axes])
    return reduce(mul, [*before, e.graph.node(f"sum_{axis}", (inside,))])


def factors_of(e: Expr) -> list[Expr]:
    """The factors of a product, each with a name or no product itself."""
    return [f for a in e.args for f in factors_of(a)] if opens(e, "mul") else [e]


def through(gradient: Expr, e: Expr, a: Expr) -> Expr:
    """The gradient of an operand `a`, from that of its place in `e`: summed over the axes along which `a` was
    broadcast.
    """
    for axis in sorted(e.axes - a.axes):
        if axis in gradient.axes:
            gradient = summed(gradient, axis)
        else:  # it is the same for every key
            assert axis == "k" and e.graph.keys
            gradient = gradient * e.graph.keys
    return gradient


def annotated(annotation: Any) -> str | None:
    """The axes that an annotation such as ``"H, N"`` gives a learned parameter, or None."""
    words = str(annotation).strip("'\"") if isinstance(annotation, str) else ""
    return SHAPES.get(re.sub(r"[\s,()]", "", words))


def shape_text(axes: frozenset[str]) -> str:
    """``(H, N)``, ``(H,)``, ``(N,)`` or ``()``."""
    letters = [letter for axis, letter in (("u", "H"), ("k", "N")) if axis in axes]
    return f"({letters[0]},)" if len(letters) == 1 else f"({', '.join(letters)})"
