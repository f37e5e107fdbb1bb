"""A layer of a cell with keys in NumPy: each step evaluates the formulas of the plan, operation by operation.

Values have the shape (B, H, N), with 1 for an axis that they do not have. What depends on gates alone is computed for
all steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.expr import NUMBERS, Expr, is_number_of, opens
from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.cpu.sequence.step import SCOPE


def sum_over(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.sum(axis, keepdims=True)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **SCOPE,
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative},
    **{"gt": np.greater, "lt": np.less, "ge": np.greater_equal, "le": np.less_equal, "copy": lambda x: x},
    **{"sum_u": sum_over(-2), "sum_k": sum_over(-1)},
}
"""The function for each kind of node."""


class Values(dict[Expr, Any]):
    """The values of expressions, computed when they are asked for."""

    def __missing__(self, e: Expr) -> Any:
        if e.op in NUMBERS:
            found = e.value if e.op == "number" else e.value[1]
        elif e.op == "sum_k" and (factors := self.matrix_and_vector(e.args[0], "k")):
            found = factors[0] @ factors[1].swapaxes(-1, -2)
        elif e.op == "sum_u" and (factors := self.matrix_and_vector(e.args[0], "u")):
            found = factors[1].swapaxes(-1, -2) @ factors[0]
        else:
            found = FUNCTIONS[e.op](*[self[a] for a in e.args])
            if is_number_of(e):  # a NumPy scalar would turn float32 into float64
                found = float(found)
        self[e] = found
        return found

    def matrix_and_vector(self, e: Expr, axis: str) -> tuple[np.ndarray, np.ndarray] | None:
        """The factors of a product, if one is a matrix and one a vector of this axis."""
        if opens(e, "mul") and e not in self:
            for matrix, vector in (e.args, e.args[::-1]):
                if matrix.axes == {"u", "k"} and vector.axes == {axis}:
                    return self[matrix], self[vector]
        return None


class Layer:
    """The arrays of a layer as NumPy's broadcasting wants them."""

    def __init__(self, plan: KeyedPlan, H: int, gates: np.ndarray, learned: Sequence[np.ndarray], lengths: Any) -> None:
        self.plan, self.H = plan, H
        self.T, self.B, _ = gates.shape
        self.alive = (
            None if lengths is None else np.arange(self.T)[:, None, None, None] < np.reshape(lengths, (-1, 1, 1))
        )
        if self.alive is not None:
            gates = np.where(self.alive[..., 0], gates, 0)
        starts = plan.starts(plan.gates, H)
        self.gates = {e: self.wide(e, gates[..., a:b]) for e, a, b in zip(plan.gates, starts, starts[1:], strict=False)}
        known = [*plan.learned, *plan.static]
        self.learned = {e: self.wide(e, a) for e, a in zip(known, learned, strict=True)}

    def wide(self, e: Expr, a: np.ndarray) -> np.ndarray:
        """An array (.., H, N), with 1 for an axis that the value does not have."""
        shape = self.plan.shape(e, self.H)
        kept = a.shape[: a.ndim - 1] if e in self.plan.gates else a.shape[: a.ndim - len(shape)]
        return a.reshape(*kept, self.H if "u" in e.axes else 1, self.plan.keys if "k" in e.axes else 1)

    def early(self, nodes: Iterable[Expr]) -> dict[Expr, np.ndarray]:
        """Those of `nodes` that depend on gates and learned parameters alone, for all steps."""
        found = Values(self.gates | self.learned)
        for e in nodes:
            if all(a in found or a.op in NUMBERS for a in e.args):
                found[e]  # noqa: B018  # computes it
        return {e: a for e, a in found.items() if e not in self.learned and getattr(a, "ndim", 0) == 4}

    def at(self, t: int, early: Mapping[Expr, np.ndarray], more: Mapping[Expr, Any]) -> Values:
        return Values(self.learned | {e: a[t] for e, a in early.items()} | dict(more))

    def new(self, t: int, after: Any, before: Any) -> Any:
        """`after` for the samples that have this step, else `before`."""
        return after if self.alive is None else np.where(self.alive[t], after, before)


def keyed_sequence(
    gates: np.ndarray,
    states: Sequence[np.ndarray],
    learned: Sequence[np.ndarray],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: np.ndarray | None,
    training: bool,
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray | None]:
    """The layer. `saved` has the saved values and the new states of all steps, one value after the other."""
    layer = Layer(plan, H, gates, learned, lengths)
    T, B = layer.T, layer.B
    early = layer.early(plan.forward)
    now = [layer.wide(e, a) for e, a in zip(plan.states, states, strict=True)]
    kept = [*plan.saved, *plan.after]
    rows = [np.empty((T, B, *plan.shape(e, H)), gates.dtype) for e in kept] if training else []
    y = np.empty((T, B, H), gates.dtype)
    for t in range(T):
        values = layer.at(t, early, zip(plan.states, now, strict=True))  # type: ignore[arg-type]
        now = [layer.new(t, values[e], before) for e, before in zip(plan.after, now, strict=True)]
        y[t] = layer.new(t, values[plan.output], 0)[..., 0]
        for row, e in zip(rows, kept, strict=False):
            row[t] = values[e].reshape(-1, *plan.shape(e, H))
    after = [np.ascontiguousarray(a).reshape(s.shape) for a, s in zip(now, states, strict=True)]
    return y, after, np.concatenate([row.ravel() for row in rows]) if rows else None


def keyed_sequence_grad(
    gates: np.ndarray,
    states: Sequence[np.ndarray],
    learned: Sequence[np.ndarray],
    saved: np.ndarray,
    dy: np.ndarray,
    d_after: Sequence[np.ndarray],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: np.ndarray | None,
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    layer = Layer(plan, H, gates, learned, lengths)
    T, B = layer.T, layer.B
    kept, rows, start = [*plan.saved, *plan.after], {}, 0
    for e in kept:
        size = T * B * plan.width(e, H)
        rows[e] = layer.wide(e, saved[start : start + size].reshape(T, B, *plan.shape(e, H)))
        start += size
    first = [layer.wide(e, a) for e, a in zip(plan.states, states, strict=True)]
    early = layer.early(e for e in plan.backward if not e.varies) | {e: rows[e] for e in kept}
    carry: list[Any] = [layer.wide(e, a) for e, a in zip(plan.states, d_after, strict=True)]
    dy = dy[..., None]
    d_gates = {e: np.zeros_like(a) for e, a in layer.gates.items()}
    d_learned = [np.zeros((B, *layer.learned[e].shape), gates.dtype) for e in plan.learned]
    for t in range(T - 1, -1, -1):
        before = [rows[e][t - 1] for e in plan.after] if t else first
        arriving = dict(zip(plan.d_after, carry, strict=True))
        arriving[plan.d_output] = dy[t] + arriving.get(plan.d_output, 0)
        values = layer.at(t, early, [*zip(plan.states, before, strict=True), *arriving.items()])  # type: ignore[arg-type]
        for e, d in zip(plan.gates, plan.d_gates, strict=True):
            d_gates[e][t] = layer.new(t, values[d], 0)
        for total, d in zip(d_learned, plan.d_learned, strict=True):
            total += layer.new(t, values[d], 0)
        carry = [layer.new(t, values[d], old) for d, old in zip(plan.d_states, carry, strict=True)]
    d_states = [
        np.broadcast_to(a, layer.wide(e, s).shape).reshape(s.shape).copy()
        for a, e, s in zip(carry, plan.states, states, strict=True)
    ]
    whole = np.concatenate([d_gates[e].reshape(T, B, -1) for e in plan.gates], -1)
    return whole, d_states, [d.sum(0).reshape(a.shape) for d, a in zip(d_learned, learned, strict=False)]
