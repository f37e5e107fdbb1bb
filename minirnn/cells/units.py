"""Functions of all units of a sample that are made of several: `unit_norm`, `unit_softmax` and `unit_max`.

Each has one stage. A device computes the means, variances, sums and maxima that it is made of. Its derivative, which
`Derivation` has in closed form, needs one stage more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from minirnn.cells.expr import NUMBERS, CellError, Expr, add, apply, div, is_number_of, mul


def values_of_step(name: str, given: Sequence[Any]) -> list[Expr]:
    graph = next(a.graph for a in given if isinstance(a, Expr))
    found = [graph.lift(a) for a in given]
    if any(a.op in NUMBERS for a in found):
        raise CellError(f"{name}: got a number\n  expected a value of the step")
    return found


def normalized(values: Sequence[Any], eps: Any) -> Any:
    """``(v - mean) / std`` of each value, with the mean and the variance of all units of all values.

    The variance of all is the mean of the values' variances plus the variance of their means. The means are not those
    of `unit_mean`, because the gradient of a norm is a formula for all values at once.
    """
    given = values_of_step("unit_norm", values)
    graph, n = given[0].graph, len(given)
    eps = graph.lift(eps)
    if not is_number_of(eps):
        raise CellError("unit_norm: eps is a value of the step\n  expected a number above 0")
    own = f"norm {len(graph.norms)}"
    means, variances = ([graph.cut(name, v, own) for v in given] for name in ("unit_mean", "unit_var"))
    mean = div(reduce(add, means), n)
    apart = [mul(m - mean, m - mean) for m in means] if n > 1 else []
    std = apply("sqrt", graph.node("add", (div(reduce(add, [*variances, *apart]), n), eps)))
    found = tuple(graph.node("unit_norm", (v, mean, std)) for v in given)
    graph.norms.append(found)
    return found if n > 1 else found[0]


def softmax(v: Any) -> Expr:
    (v,) = values_of_step("unit_softmax", [v])
    graph: Any = v.graph
    return graph.node("unit_softmax", (v, graph.cut("unit_max", v), graph.cut("unit_exp_sum", v)))


def largest(v: Any) -> Expr:
    (v,) = values_of_step("unit_max", [v])
    graph: Any = v.graph
    largest, ties = graph.cut("unit_max", v), graph.cut("unit_ties", v)
    graph.shares[largest] = graph.node("unit_share", (v, largest, ties))
    return largest
