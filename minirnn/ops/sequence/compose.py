"""The definition of a layer of a user's own cell, composed from primitive ops for each step and direction.

It evaluates the traced step and does not call the user's function, so it computes the same as the devices. Its
gradients come from the tape, so they are correct to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import COMPARISONS, NUMBERS, Expr
from minirnn.cells.plan import Plan
from minirnn.cells.rules import RULES
from minirnn.cells.trace import Step
from minirnn.devices.base import Weights
from minirnn.engine.tensor import Tensor, leaf, tensor
from minirnn.ops.primitives import abs as absolute
from minirnn.ops.primitives import (
    broadcast_to,
    chunk,
    clip,
    concat,
    cos,
    erf,
    exp,
    floor,
    log,
    relu,
    sigmoid,
    sign,
    sin,
    sqrt,
    stack,
    sum,
    tanh,
    unbind,
    where,
)  # fmt: skip
from minirnn.ops.sequence.functions import straight_through, unit_max, unit_mean, unit_sum
from minirnn.ops.softplus import log_one_plus_exp


def larger(a: Any, b: Any) -> Tensor:
    """``maximum(a, b)``. If both are equal, the whole gradient goes to `a`. NaN stays NaN."""
    return where(a >= b, a, where(a != a, a, b))


def smaller(a: Any, b: Any) -> Tensor:
    return -larger(-a, -b)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{op: RULES[op].value for op in ("add", "sub", "mul", "div", "neg", *COMPARISONS)},
    **{"sigmoid": sigmoid, "tanh": tanh, "relu": relu, "softplus": log_one_plus_exp, "exp": exp, "log": log},
    **{"floor": floor, "sign": sign, "erf": erf, "sqrt": sqrt, "abs": absolute},
    **{"sin": sin, "cos": cos, "maximum": larger, "minimum": smaller, "clip": clip},
    **{"where": where, "straight_through": straight_through, "copy": lambda x: x, "unit_mean": unit_mean},
    **{"sum_u": lambda x: sum(x, -2, True), "sum_k": lambda x: sum(x, -1, True)},  # of (.., H, N)
    **{"unit_sum": unit_sum, "unit_max": unit_max, "unit_var": lambda v: unit_mean((v - unit_mean(v)) ** 2)},
    **{"unit_ties": lambda v: unit_sum(where(v >= unit_max(v), full_like(1, v, v), 0.0))},
    "unit_share": lambda v, largest, ties: where(v >= largest, 1 / ties, 0.0),
    **{"unit_exp_sum": lambda v: unit_sum(exp(v - unit_max(v))), "unit_norm": lambda v, mean, std: (v - mean) / std},
    **{"unit_softmax": lambda v, largest, total: exp(v - largest) / total},
}
"""The function on Tensors for each kind of node of a step."""


def full_like(number: Any, like: Tensor, real: Tensor) -> Tensor:
    """A number as a Tensor of the shape of `like` and the dtype of `real`."""
    return broadcast_to(tensor(float(number), dtype=real.dtype, device=like.device), like.shape)


def evaluate(
    step: Step, values: Mapping[Expr, Any], U: Sequence[Tensor] = (), constants: Mapping[str, float] | None = None
) -> dict[Expr, Any]:
    """All values of a step, computed from its inputs. `constants` are numbers in place of the step's own."""
    found = dict(values)
    named = {**step.constants, **(constants or {})}
    for e in step.nodes:
        if e in found:
            continue
        if e.op == "product":
            v, matrix = found[e.args[0]], U[step.matrix_of[e]]
            found[e] = broadcast_to(v, (*v.shape[:-1], matrix.shape[1])) @ matrix.T  # a mean is (B, 1)
        else:
            found[e] = computed(e, [found[a] for a in e.args], named, next(iter(values.values())))
    return found


def gradients(d: Derivation, values: Mapping[Expr, Any], U: Sequence[Tensor] = ()) -> dict[Expr, Any]:
    """The gradients of gates, states and vectors, without the sums over samples, by the lines of the cell's page.

    `values` are the values that these lines read, and the gradients of the states after the step.
    """
    found = dict(values)
    cuts = dict(zip(d.step.cuts, d.cuts, strict=True))
    through = {cuts[m][1]: U[k] for m, k in d.step.matrix_of.items()}
    of = {dv: dm for dm, dv in d.cuts}

    def value(e: Expr) -> Any:
        if e not in found and e in through:
            found[e] = value(of[e]) @ through[e]
        elif e not in found:
            found[e] = computed(e, [value(a) for a in e.args], d.step.constants, next(iter(values.values())))
        return found[e]

    return {owner: value(e) for owner, e in d.ends.items()}


def computed(e: Expr, args: list[Any], constants: Mapping[str, float], real: Tensor) -> Any:
    """A value from its operands. `real` has the dtype of numbers."""
    if e.op in NUMBERS:
        return e.value if e.op == "number" else constants[e.value[0]]
    if not any(isinstance(a, Tensor) for a in args):
        return RULES[e.op].value(*args)
    if e.op in ("where", "straight_through"):  # a number among the operands becomes a Tensor
        like = next(a for a in args if isinstance(a, Tensor))
        real = next((a for a in args[-2:] if isinstance(a, Tensor)), real)
        args = [a if isinstance(a, Tensor) else full_like(a, like, real) for a in args]
    return FUNCTIONS[e.op](*args)


def width_of(plan: Plan, weights: Weights) -> int:
    """H"""
    W, R, *_ = weights
    if R is None:
        return int(W.shape[0]) // (plan.of_both + plan.of_x)
    return int(R.shape[0]) // (plan.of_both + plan.of_h)


def inputs_of_step(
    step: Step, x: Tensor, states: Sequence[Tensor], weights: Weights, masks: Sequence[Any] = ()
) -> dict[Expr, Any]:
    """The inputs of a step, including gates (B, H), from x (B, I) and the states before it, the output last."""
    W, R, _, bW, bR, _, vectors = weights
    parts: dict[str, Any] = {}
    for source, w, b, kinds in ((x, W, bW, "zx"), (states[-1], R, bR, "zh")):
        names = [n for n in step.gates if n[0] in kinds]
        if not names:
            continue
        found = [source] * len(names) if w is None else chunk(source @ w.T, len(names), 1)  # x as it is
        biases = [0.0] * len(names) if b is None or bR is None else chunk(b, len(names), 0)
        for n, part, bias in zip(names, found, biases, strict=True):
            own = part + bias if isinstance(bias, Tensor) else part
            parts[n] = parts[n] + own if n in parts else own
    if bW is not None and bR is None:  # of all gates
        for n, bias in zip(step.gates, chunk(bW, len(step.gates), 0), strict=True):
            parts[n] = parts[n] + bias
    values: dict[Expr, Any] = {e: parts[n] for n, e in step.gates.items()}
    values |= dict(zip(step.states.values(), states, strict=True))
    values |= dict(zip(step.vectors.values(), vectors, strict=True))
    return values | dict(zip(step.masks.values(), masks, strict=True))


def states_after(step: Step, found: Mapping[Expr, Any], weights: Weights, B: int, H: int) -> list[Tensor]:
    """The new states (B, H) from all values of a step, the projected output last."""
    *inner, h = (found[e] if found[e].shape == (B, H) else broadcast_to(found[e], (B, H)) for e in step.after)
    return [*inner, h if weights.Wp is None else h @ weights.Wp.T]


def compose_layer(
    plan: Plan,
    x: Tensor,
    h0: Tensor,
    c0: Tensor | None,
    weights: Sequence[Weights],
    lengths: np.ndarray | None,
    masks: Sequence[Any] = (),
    zoneout: Any = None,
) -> list[Tensor]:
    """y (T, B, D*P), h_n (D, B, P), and c_n like c0 if there are states other than h.

    `masks` and `zoneout` are arrays or numbers, as for `RecurrentLayer`.
    """
    (T, B, _), device, step, H = x.shape, x.device, plan.derivation.step, width_of(plan, weights[0])

    def of_step(mask: Any, d: int, t: int) -> Any:
        if isinstance(mask, float):
            return leaf(device, device.full((1, 1), mask, x.dtype))
        return leaf(device, device.cast(device.getitem(mask, (d, t)), x.dtype))

    valid = None
    if lengths is not None:
        steps = np.arange(T)[:, None, None] < lengths[None, :, None]  # (T, B, 1)
        valid = [tensor(v, device=device) for v in steps]
        x = where(tensor(steps, device=device), x, 0.0)  # values at padding must not reach the weights as 0 * NaN
    xs = unbind(x)
    outputs, ends = [], []
    for d, own in enumerate(weights):
        states = [*([] if c0 is None else [c0[d]] if c0.ndim == 3 else unbind(c0[d])), h0[d]]
        y: list[Any] = [None] * T
        for t in range(T - 1, -1, -1) if d else range(T):
            found = evaluate(step, inputs_of_step(step, xs[t], states, own, [of_step(m, d, t) for m in masks]), own.U)
            new = states_after(step, found, own, B, H)
            if zoneout is not None:
                z = of_step(zoneout, d, t)
                new[-1] = z * states[-1] + (1 - z) * new[-1]
            if valid is not None:  # past the end of a sequence, its states stay the same and its output is 0
                y[t] = where(valid[t], new[-1], 0.0)
                states = [where(valid[t], after, before) for after, before in zip(new, states, strict=True)]
            else:
                y[t], states = new[-1], new
        outputs.append(stack(y))
        ends.append(states)
    both = [concat(outputs, 2) if len(outputs) > 1 else outputs[0], stack([s[-1] for s in ends])]
    if c0 is None:
        return both
    return [*both, stack([s[0] if c0.ndim == 3 else stack(s[:-1]) for s in ends])]
