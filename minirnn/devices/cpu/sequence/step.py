"""One step of any cell and its gradient in NumPy: the lines of the cell's page, as Python functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.expr import BACK, CUTS, Expr
from minirnn.cells.plan import Plan, Stage
from minirnn.cells.text import write
from minirnn.devices.base import Weights
from minirnn.devices.cpu.elementwise import erf
from minirnn.devices.cpu.primitives import without_false_alarms

Array = np.ndarray


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)) by ``tanh``: faster than ``exp`` in NumPy, exactly 0 and 1 at saturation"""
    return 0.5 * np.tanh(0.5 * z) + 0.5


SCOPE: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("tanh", "exp", "log", "sqrt", "abs", "sin", "cos", "floor", "sign")},
    **{"maximum": np.maximum, "minimum": np.minimum, "where": np.where, "erf": erf, "sigmoid": sigmoid},
    **{"relu": lambda x: np.maximum(x, 0), "softplus": lambda x: np.logaddexp(x, 0)},
    **{"straight_through": lambda value, x: value},
    **{"clip": lambda x, low, high, straight_through=False: np.minimum(np.maximum(x, low), high)},
    **{"unit_mean": lambda v: v.mean(-1, keepdims=True), "unit_sum": lambda v: v.sum(-1, keepdims=True)},
    **{"unit_max": lambda v: v.max(-1, keepdims=True), "unit_var": lambda v: v.var(-1, keepdims=True)},
    **{"unit_ties": lambda v: (v == v.max(-1, keepdims=True)).sum(-1, keepdims=True, dtype=v.dtype)},
    **{"unit_exp_sum": lambda v: np.exp(v - v.max(-1, keepdims=True)).sum(-1, keepdims=True)},
}
"""The functions of the cell language."""


@without_false_alarms
def cell_step(
    gates: Array,
    states: Sequence[Array],
    weights: Weights,
    *,
    plan: Plan,
    constants: Sequence[float] | None = None,
    masks: Sequence[Array] = (),
) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """The states after one step, and the values that it saves. Arguments: `minirnn.devices.base.KERNELS`."""
    H = gates.shape[1] // len(plan.gate_names)
    shape = len(gates), H
    given = [gates[:, k * H : (k + 1) * H] for k in range(len(plan.gate_names))]
    found = function_of(plan, False)(
        *given, *states, *masks, *weights.vectors, *weights.U, *(plan.constants if constants is None else constants)
    )
    whole = whole_blocks(found, shape, gates.dtype)
    return tuple(whole[: plan.states]), dict(zip(plan.value_names, whole[plan.states :], strict=True))


@without_false_alarms
def cell_step_grad(
    states: Sequence[Array | None],
    after: Sequence[Array | None],
    values: Mapping[str, Array],
    d_after: Sequence[Array],
    weights: Weights,
    *,
    plan: Plan,
    constants: Sequence[float] | None = None,
    masks: Sequence[Array] = (),
) -> tuple[Array, tuple[Array, ...], tuple[Array, ...]]:
    """The gradients of gates (B, G*H), states and vectors, without the product with R."""
    shape, n = d_after[-1].shape, len(plan.gate_names)
    found = function_of(plan, True)(
        *map(values.__getitem__, plan.value_names), *states, *after, *d_after, *masks, *weights.vectors, *weights.U,
        *(plan.constants if constants is None else constants),
    )  # fmt: skip
    whole = whole_blocks(found, shape, d_after[-1].dtype)
    d_vectors = whole[n + plan.states :]
    return np.concatenate(whole[:n], 1), tuple(whole[n : n + plan.states]), tuple([a.sum(0) for a in d_vectors])


def whole_blocks(results: Sequence[Any], shape: tuple[int, int], dtype: np.dtype) -> list[Array]:
    """The results of a function as arrays (B, H); one may be the same for all units, or the number 0."""
    whole = list(results)
    for k, a in enumerate(results):
        if a.__class__ is int or a.shape != shape:
            whole[k] = np.broadcast_to(np.asarray(a, dtype), shape)
    return whole


def function_of(plan: Plan, backward: bool) -> Callable[..., Any]:
    """The function of a step, or of its gradient, written and compiled once. Its text is its docstring."""
    name = f"numpy step {backward}"
    if name not in plan.made:
        text = text_of(plan, backward)
        room = dict(SCOPE)
        exec(compile(text, f"<{plan.name} in NumPy>", "exec"), room)
        plan.made[name] = room[text.split("(")[0].removeprefix("def ")]
        plan.made[name].__doc__ = text
    found: Callable[..., Any] = plan.made[name]
    return found


def text_of(plan: Plan, backward: bool) -> str:
    """A step, or its gradient, as a Python function of arrays (B, H)."""
    d = plan.derivation
    step, names = d.step, dict(plan.names)
    before = [names[e] for e in step.states.values()]
    given = [names[e] for e in (*step.masks.values(), *step.vectors.values())]
    given += [*plan.matrix_names, *plan.constant_names]
    stages: Sequence[Stage] = plan.backward if backward else plan.forward
    if backward:
        values = [names[e] for e in plan.saved_values]
        parameters = [*values, *before, *[names[e] for e in (*step.after, *d.incoming)], *given]
        results = [*d.gates, *d.before, *d.vectors]
        cuts = {dv: (k, dm) for k, (dm, dv) in enumerate(d.cuts) if dv.varies}
    else:
        parameters = [*[names[e] for e in step.gates.values()], *before, *given]
        results = [*step.after, *plan.saved_values]
        cuts = {m: (k, m.args[0]) for k, m in enumerate(step.cuts)}
    known = {e for e, n in names.items() if n in parameters}
    lines = list(statements(plan, stages, cuts, known, names, backward))
    ends = ", ".join(write(e, names) for e in results)
    name = f"{plan.name}_backward" if backward else plan.name
    head = f"def {name}({', '.join(parameters)}):"
    return "\n    ".join([head, *lines, f"return ({ends},)"]) + "\n"


def statements(
    plan: Plan,
    stages: Sequence[Stage],
    cuts: Mapping[Expr, tuple[int, Expr]],
    known: set[Expr],
    names: Mapping[Expr, str],
    backward: bool,
) -> Iterator[str]:
    """The lines of all stages, each once, with the products between them."""
    done = set(known)
    for stage in stages:
        for load in stage.loads:
            if load.value in cuts and load.value not in done:
                k, source = cuts[load.value]
                done.add(load.value)
                operand = write(source, names)
                kind = plan.cuts[k].kind
                if kind != "product":
                    yield f"{names[load.value]} = {BACK[kind] if backward else kind}({operand})"
                else:
                    operand = operand if re.fullmatch(r"\w+", operand) else f"({operand})"
                    matrix = plan.matrix_names[plan.cuts[k].matrix]
                    yield f"{names[load.value]} = {operand} @ {matrix}" + ("" if backward else ".T")
        for one in stage.statements:
            if one.value not in done and one.value.op not in CUTS:
                done.add(one.value)
                yield f"{names[one.value]} = {write(one.value, names, top=True)}"
