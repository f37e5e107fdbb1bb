"""One step of any cell and its gradient in C++. The steps are in `kernels/step.h`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence import step as plain
from minirnn.devices.native.arguments import NO_MATRIX, NOTHING, address, call, matrix
from minirnn.devices.native.sequence.compiled import StepKernels, kernels

Array = np.ndarray


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
    of = kernels(StepKernels, plan, gates.dtype)
    if of is None:
        return plain.cell_step(gates, states, weights, plan=plan, constants=constants, masks=masks)
    found = workspace.empty((plan.states + plan.saved, *states[-1].shape), gates.dtype)
    run(of, plan, weights, constants, masks, found[0], (gates, *states), found)
    return tuple(found[: plan.states]), dict(zip(plan.value_names, found[plan.states :], strict=True))


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
    (B, H), dtype = d_after[-1].shape, d_after[-1].dtype
    of = kernels(StepKernels, plan, dtype)
    if of is None:
        return plain.cell_step_grad(
            states, after, values, d_after, weights, plan=plan, constants=constants, masks=masks
        )
    d_gates = workspace.empty((B, len(plan.gate_names) * H), dtype)
    d_states = workspace.empty((plan.states, B, H), dtype)
    d_vectors = workspace.empty((B, plan.vectors * H), dtype)  # of each sample
    saved = [values[name] for name in plan.value_names]
    run(
        of, plan, weights, constants, masks, d_after[-1], (None, *states, *after, *saved), None,
        (*d_after, d_gates), d_states, d_vectors,
    )  # fmt: skip
    return d_gates, tuple(d_states), tuple(np.add.reduce(d_vectors).reshape(plan.vectors, H)) if plan.vectors else ()


def run(
    of: StepKernels,
    plan: Plan,
    weights: Weights,
    constants: Sequence[float] | None,
    masks: Sequence[Array],
    like: Array,
    given: Sequence[Array | None],
    found: Array | None,
    gradients: Sequence[Array] = (),
    d_states: Array | None = None,
    d_vectors: Array | None = None,
) -> None:
    """Set the arrays `found` or, if there are gradients, those after d_after. All are in the order of `OneStep`."""
    B, H = like.shape
    alive: list[Any] = []

    def places(arrays: Sequence[Array | None]) -> list[int]:
        """The rows of each, or of a copy."""
        rows: list[int] = []
        for a in arrays:
            if a is None:
                rows += NOTHING
                continue
            if not a.flags.c_contiguous:
                a = np.ascontiguousarray(a)
                alive.append(a)
            rows += address(a), a.shape[1]
        return rows

    def parts(a: Array | None) -> list[int]:
        """The rows of the arrays (B, H) in one."""
        if a is None:
            return []
        start, size = address(a), B * H * like.itemsize
        return [n for k in range(len(a)) for n in (start + k * size, H)]

    constants = plan.constants if constants is None else constants
    numbers = np.array(constants, like.dtype) if constants else None
    vectors = np.concatenate(weights.vectors) if weights.vectors else None
    d = of.OneStep(
        B, H, address(vectors), address(numbers), *places(given), *parts(found), *NOTHING, *places(masks), *NOTHING,
        *[n for U in weights.U for n in matrix(U)], *NO_MATRIX, *places(gradients), *parts(d_states),
        *places((d_vectors,)),
    )  # fmt: skip
    call(of.step, d, bool(gradients), work=B * H * (8 + plan.products * H))
