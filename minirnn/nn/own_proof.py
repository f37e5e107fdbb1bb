"""``my_cell.verify()``: tests a user's own cell in the same ways as minirnn's own ops, with the same table.

The case is a layer of the cell in both directions, with sequences of different lengths and random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minirnn import devices as registry
from minirnn.cells.cell import Formulas
from minirnn.devices.registry import BUILT_IN
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.sequence.layer import RecurrentLayer, template
from minirnn.proving.case import COMPOSED, Arrays, Case
from minirnn.proving.proof import Proof, counts, proof_of

T, B, I, H, D = 4, 3, 2, 5, 2
LENGTHS = np.array([2, 4, 3])
DIRECTIONS = 2
"""The number of random directions for each input, for central differences to second order."""


def prove(cell: Formulas, names: Sequence[str] | None = None, seed: int = 0) -> Proof:
    """Test a cell on devices. None means all that work here, and the table says why a built-in one does not."""
    case = case_of(cell, seed)
    found = registry.available()
    if names is None:
        names = [name for name, absent in found.items() if absent is None or name in BUILT_IN]
    devices = {name: found[name] if name in found else no_device(name) for name in names}
    for name, absent in devices.items():
        if absent is None and composes(case, name):
            devices[name] = "it has no kernel for this cell, and composes it"
    straight = any(e.op == "straight_through" for e in cell.step.nodes)
    return proof_of([case], devices, differentiable=not straight, directions=DIRECTIONS)


def no_device(name: str) -> str | None:
    """Raise the error that lists the available devices."""
    registry.get(name)
    return None


def composes(case: Case, name: str) -> bool:
    """Whether a device computes the cell by its composition, which would then be compared with itself."""
    device = registry.get(name)
    before = device.fallbacks["cell_sequence"]
    try:
        case.call(*[tensor(a, device=device) for a in case.inputs.values()])
    except Exception:  # the table reports the error
        return False
    return device.fallbacks["cell_sequence"] > before


def case_of(cell: Formulas, seed: int) -> Case:
    """The case of the table for a layer of the cell."""
    plan, rng = cell.plan(), np.random.default_rng(seed)
    values: Arrays = {"x": rng.normal(size=(T, B, I)), "h0": rng.normal(size=(D, B, H))}
    if plan.states > 1:
        values["c0"] = rng.normal(size=(D, plan.states - 1, B, H))
    shapes: dict[str, tuple[int, ...]] = {"W": ((plan.of_both + plan.of_x) * H, I)} if plan.reads_x else {}
    shapes |= {"R": ((plan.of_both + plan.of_h) * H, H)} if plan.reads_h else {}
    shapes |= {"b": (len(plan.gate_names) * H,)}
    shapes |= {f"U{k + 1}": (H, H) for k in range(plan.products)}
    shapes |= {f"vector {n}": (H,) for n in plan.vector_names}
    for d in range(D):
        values |= {n + "_reverse" * d: rng.normal(size=s) * 0.5 for n, s in shapes.items()}
    there = template(plan)
    weights = [there] * D
    masks = [rng.integers(0, 2, (D, T, B, H)).astype(float) for _ in plan.mask_names]

    def run(*inputs: Tensor) -> list[Tensor]:
        like = inputs[0]
        given = [tensor(m, device=like.device, dtype=like.dtype).array for m in masks]
        return list(RecurrentLayer(plan, weights, LENGTHS, given)(*inputs))

    xs = [tensor(a, True, COMPOSED) for a in values.values()]
    count, gradient_count = counts(xs, run(*xs))
    return Case(
        cell.__name__,
        f"two directions, lengths {', '.join(map(str, LENGTHS))}",
        f"T{T} B{B} I{I} H{H}",
        run,
        lambda _: values,
        ["y", "h_n", *["c_n"][: plan.states - 1]],
        count,
        gradient_count,
        step=0.0,
        second_order=True,
    )
