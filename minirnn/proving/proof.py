"""The proof of a user's op or recurrent cell. Both are cases and are proven in the same ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.creation import ones_like
from minirnn.engine.order import in_order
from minirnn.engine.tensor import Tensor, tensor
from minirnn.gradcheck import gradcheck
from minirnn.proving import ways
from minirnn.proving.case import Case, evaluate, gradient_of
from minirnn.proving.places import describe
from minirnn.proving.report import text
from minirnn.proving.table import FAILED, Cell, Comparison, Finding, Result, compare_all, worst
from minirnn.proving.tolerance import ACTIVATION, EXACT, Count

FEW = 12


class Proof:
    """The result of a proof: true if nothing failed; ``str(proof)`` is the table of `minirnn verify` for one row."""

    def __init__(self, results: Sequence[Result], devices: dict[str, str]) -> None:
        self.results, self.devices = list(results), devices

    def __bool__(self) -> bool:
        return all(r.status != FAILED for r in self.results)

    def __str__(self) -> str:
        return text(self.results, self.devices)


def proof_of(
    cases: Sequence[Case], devices: Mapping[str, str | None], differentiable: bool = True, directions: int | None = None
) -> Proof:
    """Prove the cases of one op or cell.

    Parameters
    ----------
    cases : sequence of Case
        The first is compared with central differences to second order, and its backward pass is recorded.
    devices : mapping
        Maps a device to None, or to the reason why it cannot be used here.
    differentiable : bool
        Whether the gradient is meant to be the derivative.
    directions : int, optional
        The number of random directions in each input with more than a few entries along which central differences are
        taken. With None they are taken entry by entry.
    """
    listed = [*ways.comparisons(cases, dict(devices)), *_more(cases[0], devices, differentiable, directions)]
    order = list(devices)
    results = sorted(compare_all(listed), key=lambda r: (order.index(r.cell.device), r.cell))
    return Proof(results, {name: describe(name, absent) for name, absent in devices.items()})


def counts(xs: Sequence[Tensor], ys: Sequence[Tensor]) -> tuple[Count, Count]:
    """How many roundings can add up in a result and in a gradient: 8 per node of its tape, plus the longest sum."""
    recorded = [y for y in ys if y.requires_grad]
    gs = grad(recorded, xs, [ones_like(y) for y in recorded], create_graph=True) if recorded else ()
    summands = max(t.size for t in (*xs, *ys))
    found = []
    for roots in (ys, gs):
        nodes = max(8, len(in_order([t for t in roots if t.requires_grad], None, 0).nodes))
        formula = f"{ACTIVATION} nodes + n, nodes = {nodes}, n = {summands} summands"
        found.append(Count(ACTIVATION * nodes + summands, formula, nodes, "nodes"))
    return found[0], found[1]


def _more(
    case: Case, devices: Mapping[str, str | None], differentiable: bool, directions: int | None
) -> Iterator[Comparison]:
    """Further comparisons: differences to second order, and gradients from a recorded backward pass."""
    for device, absent in devices.items():
        for variant, way, run in (
            ("to second order", "differences", partial(_by_differences, directions=directions)),
            ("recorded backward pass", "definition", _by_recording),
        ):
            if way == "differences" and not differentiable:
                continue
            cell = Cell(case.op, variant, "float64", device, way)
            yield ways.comparison(case, cell, partial(run, case, device), absent or "", True)


def _by_differences(case: Case, device: str, directions: int | None) -> Finding:
    along: dict[str, Any] = {} if directions is None else {"max_entries": FEW, "directions": directions}
    inputs = [tensor(a, True, device) for a in case.inputs.values()]
    report = gradcheck(case.call, inputs, order=2, raise_exception=False, **along)
    if report.problems:
        raise ValueError("; ".join(report.problems))
    reason = "atol + rtol * the larger one, as in mr.gradcheck"
    # An input without entries has nothing to be compared.
    return worst(Finding(r.difference, r.tolerance, reason, f"the gradient of {r.name}") for r in report.inputs)


def _by_recording(case: Case, device: str) -> Finding:
    """Gradients with and without ``create_graph`` are the same, bit for bit."""
    plain = evaluate(case, case.inputs, "float64", device)
    xs = [tensor(a, True, device) for a in case.inputs.values()]
    ys = [(case.cotangent(k, y.shape, "float64"), y) for k, y in enumerate(case.call(*xs)) if y.requires_grad]
    gs = grad([y for _, y in ys], xs, [tensor(v, device=device) for v, _ in ys], create_graph=True)
    same = [np.array_equal(g.numpy(), plain[gradient_of(n)]) for n, g in zip(case.inputs, gs, strict=True)]
    return Finding(0.0 if all(same) else np.inf, 0.0, EXACT.reason, "the gradients under create_graph")
