"""One step of any cell and its gradient in C++. The steps are in `kernels/step.h`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence import step as plain
from minirnn.devices.native.arguments import NO_MATRIX, NOTHING, address, call, matrix, regular, rows
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
    after, values = tuple(found[: plan.states]), tuple(found[plan.states :])
    run(of, plan, weights, constants, masks, (gates, *states, *after, *values))
    return after, dict(zip(plan.value_names, values, strict=True))


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
    d_states = tuple(workspace.empty((plan.states, B, H), dtype))
    d_vectors = np.empty((B, plan.vectors * H), dtype)  # of each sample
    saved = [values[name] for name in plan.value_names]
    run(
        of, plan, weights, constants, masks,
        (None, *states, *after, *saved), (*d_after, d_gates, *d_states, d_vectors),
    )  # fmt: skip
    return d_gates, d_states, tuple(d_vectors.sum(0).reshape(plan.vectors, H))


def run(
    of: StepKernels,
    plan: Plan,
    weights: Weights,
    constants: Sequence[float] | None,
    masks: Sequence[Array],
    arrays: Sequence[Array | None],
    gradients: Sequence[Array] = (),
) -> None:
    """Set the results among `arrays`, or with `gradients` those among these. Both are in the order of `OneStep`."""
    alive: list[Any] = []

    def places(arrays: Sequence[Array | None]) -> list[int]:
        """The rows of each, or of a copy."""
        found: list[int] = []
        for a in arrays:
            if a is not None and not a.flags.c_contiguous:
                a = regular(a)
                alive.append(a)
            found += rows(a)
        return found

    like: Any = gradients[0] if gradients else arrays[1]
    given = plan.constants if constants is None else constants
    numbers = np.array(given, like.dtype) if given else None
    vectors = np.concatenate(weights.vectors) if weights.vectors else None
    B, H = like.shape
    d = of.OneStep(
        B, H, address(vectors), address(numbers), *places(arrays), *NOTHING, *places(masks), *NOTHING,
        *[n for U in weights.U for n in matrix(U)], *NO_MATRIX, *places(gradients),
    )  # fmt: skip
    call(of.step, d, bool(gradients), work=B * H * (8 + plan.products * H))
