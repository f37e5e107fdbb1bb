"""Running a plan literally: NumPy evaluates every line, and this module does the work between stages.

This is the simplest device. It shows that a plan has everything that a device needs. The reference is torch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minirnn.cells.expr import BACK
from minirnn.cells.plan import Plan, Stage
from minirnn.cells.text import write

FUNCTIONS = {
    "sigmoid": lambda x: 0.5 * np.tanh(0.5 * x) + 0.5,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.logaddexp(x, 0),
    **{n: getattr(np, n) for n in ("exp", "log", "sqrt", "abs", "sin", "cos", "floor", "sign", "maximum")},
    **{"minimum": np.minimum, "where": np.where, "erf": np.vectorize(math.erf, otypes=[float])},
    "clip": lambda x, low, high, straight_through=False: np.clip(x, low, high),
    "straight_through": lambda value, x: value,
}

REDUCTIONS = {
    "unit_mean": lambda v: v.mean(-1, keepdims=True),
    "unit_sum": lambda v: v.sum(-1, keepdims=True),
    "unit_var": lambda v: v.var(-1, keepdims=True),
    "unit_max": lambda v: v.max(-1, keepdims=True),
    "unit_ties": lambda v: np.sum(v == v.max(-1, keepdims=True), -1, keepdims=True),
    "unit_exp_sum": lambda v: np.exp(v - v.max(-1, keepdims=True)).sum(-1, keepdims=True),
}


def run_stage(stage: Stage, arrays: dict[str, dict[int, Any]]) -> None:
    names: dict[str, Any] = dict(FUNCTIONS)
    known = {}
    for load in stage.loads:
        names[load.name] = arrays[load.place.array][load.place.index]
        known[load.value] = load.name
    literal = lambda e: repr(e.value[1] if e.op == "constant" else e.value)  # noqa: E731
    for name, e in stage.statements:
        names[name] = eval(write(e, known, number=literal, top=True), {}, names)
        known[e] = name
    for place, e in stage.stores:
        arrays.setdefault(place.array, {})[place.index] = eval(write(e, known, number=literal), {}, names)


def between(cuts: Any, stage: int, way: str, arrays: dict[str, dict[int, Any]], U: Any) -> None:
    source, target = ("multiplied", "products") if way == "forward" else ("d_products", "d_multiplied")
    for k, cut in enumerate(cuts):
        if getattr(cut, way) == stage and k in arrays.get(source, {}):
            v = arrays[source][k]
            if np.ndim(v) == 0:  # a gradient that is always zero is the number 0
                v = np.broadcast_to(v, arrays["d_after"][0].shape)
            if cut.kind == "product":
                found = v @ (U[cut.matrix].T if way == "forward" else U[cut.matrix])
            else:
                kind = cut.kind if way == "forward" else BACK[cut.kind]
                found = np.broadcast_to(REDUCTIONS[kind](np.asarray(v)), np.shape(v))
            arrays.setdefault(target, {})[k] = found


def enter(values: Any) -> dict[int, Any]:
    return dict(enumerate(values))


def step(plan: Plan, gates: Any, before: Any, vectors: Any, masks: Any, U: Any) -> dict[str, dict[int, Any]]:
    """The arrays of form.h after a step."""
    arrays = {"gates": enter(gates), "before": enter(before), "vectors": enter(vectors), "masks": enter(masks)}
    for k, stage in enumerate(plan.forward):
        run_stage(stage, arrays)
        between(plan.cuts, k, "forward", arrays, U)
    return arrays


def gradient(plan: Plan, arrays: dict[str, dict[int, Any]], d_after: Any, U: Any) -> dict[str, dict[int, Any]]:
    """The arrays of form.h after the backward pass, from those that a step saved."""
    kept = {n: arrays[n] for n in ("saved", "before", "after", "vectors", "masks") if n in arrays}
    kept["after"] = {k: a for k, a in kept["after"].items() if plan.reads_after >> k & 1}
    kept["before"] = {k: a for k, a in kept["before"].items() if plan.reads_before >> k & 1}
    kept["d_after"] = enter(d_after)
    for k, stage in enumerate(plan.backward):
        run_stage(stage, kept)
        between(plan.cuts, k, "backward", kept, U)
    return kept
