"""``my_cell.verify()``: an own cell proved as minirnn proves its own ops, in several ways that share no code.

A layer of the cell in both directions, with sequences of different lengths and random numbers, is compared on each
device with what follows from its definition; every output gets a random cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from minirnn import devices as registry
from minirnn.cells.cell import Formulas
from minirnn.cells.plan import Plan
from minirnn.devices.base import Device
from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.gradcheck import gradcheck
from minirnn.ops.own_cell.layer import CellSequence

T, B, I, H, D = 4, 3, 2, 5, 2
LENGTHS = np.array([2, 4, 3])
WAYS = {
    "differences": "gradients, by central differences of the outputs (1e-8)",
    "composition": "outputs and gradients of the kernels, by the step composed from primitives on the tape (1e-12)",
    "float32": "outputs and gradients in float32, by the composition in float64 (1e-5)",
    "second order": "gradients of gradients, by central differences of gradients (1e-8)",
    "check mode": "the simulator finds no race and no access out of bounds, and the same numbers (1e-12)",
}
"""What is compared, and the tolerance, relative to the largest entry."""


@dataclass(frozen=True)
class Entry:
    """One field of the table."""

    ratio: float
    """The worst error, as a part of the tolerance; infinite if something was raised."""
    comparisons: int
    why: str = ""

    def __str__(self) -> str:
        if not isfinite(self.ratio) or self.ratio > 1:
            return "FAILED"
        return f"{'0' if self.ratio == 0 else f'{self.ratio:.2g}'} ({self.comparisons})"


@dataclass
class Proof:
    """The result of ``my_cell.verify()``: true if nothing failed; ``str(proof)`` is its table.

    Attributes
    ----------
    cell : str
    entries : dict of str to dict of str to Entry
        Device -> way -> what was found. A way that does not apply is missing.
    notes : list of str
        Devices that are not at hand, and ways that do not apply, with the reason.
    """

    cell: str
    entries: dict[str, dict[str, Entry]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        found = [(d, w, e) for d, row in self.entries.items() for w, e in row.items()]
        return [
            f"FAILED {self.cell} {w} {d}: {e.why or f'{e.ratio:.2g} of the tolerance'}"
            for d, w, e in found
            if str(e) == "FAILED"
        ]

    def __bool__(self) -> bool:
        return not self.failed

    def __str__(self) -> str:
        ways = [w for w in WAYS if any(w in row for row in self.entries.values())]
        width = max(map(len, [self.cell, *self.entries]))
        lines = [f"{self.cell:{width}}" + "".join(f"{w:>18}" for w in ways)]
        lines += [
            f"{d:{width}}" + "".join(f"{row[w]!s:>18}" if w in row else f"{'-':>18}" for w in ways)
            for d, row in self.entries.items()
        ]
        legend = [f"  {w:12}  {WAYS[w]}" for w in ways]
        head = "each entry: the worst error, as a part of its tolerance, and in parentheses the number of comparisons"
        return "\n".join([*lines, "", head, *legend, *self.failed, *self.notes])

    __repr__ = __str__


class Case:
    """Random inputs of a layer, and the layer as a function of them."""

    def __init__(self, cell: Formulas, seed: int) -> None:
        self.plan: Plan = cell.plan()
        self.step = cell.step
        plan, rng = self.plan, np.random.default_rng(seed)
        self.values = {"x": rng.normal(size=(T, B, I)), "h0": rng.normal(size=(D, B, H))}
        if plan.states > 1:
            self.values["c0"] = rng.normal(size=(D, plan.states - 1, B, H))
        shapes: dict[str, tuple[int, ...]] = {"W": ((plan.of_both + plan.of_x) * H, I)} if plan.reads_x else {}
        shapes |= {"R": ((plan.of_both + plan.of_h) * H, H)} if plan.reads_h else {}
        shapes |= {"b": (len(plan.gate_names) * H,)}
        shapes |= {f"U{k + 1}": (H, H) for k in range(plan.products)}
        shapes |= {f"vector {n}": (H,) for n in plan.vector_names}
        for d in range(D):
            self.values |= {n + "_reverse" * d: rng.normal(size=s) * 0.5 for n, s in shapes.items()}
        self.masks = [rng.integers(0, 2, (D, T, B, H)).astype(float) for _ in plan.mask_names]
        self.cotangents = [rng.normal(size=s) for s in ((T, B, D * H), (D, B, H), (D, plan.states - 1, B, H))]

    def run(self, *inputs: Tensor, composed: bool = False) -> list[Tensor]:
        like = inputs[0]
        masks = [tensor(m, device=like.device, dtype=like.dtype) for m in self.masks]
        node = CellSequence(self.plan, LENGTHS, masks, True, D)
        return list((node.compose if composed else node)(*inputs))

    def results(self, device: Device, dtype: str = "float64", composed: bool = False) -> list[np.ndarray]:
        """Outputs and gradients."""
        inputs = [tensor(a, device=device, dtype=dtype, requires_grad=True) for a in self.values.values()]
        outputs = self.run(*inputs, composed=composed)
        given = [tensor(c, device=device, dtype=dtype) for c in self.cotangents[: len(outputs)]]
        return [t.numpy() for t in (*outputs, *grad(outputs, inputs, given))]


def compared(found: Sequence[np.ndarray], right: Sequence[np.ndarray], tolerance: float) -> Entry:
    worst = max(
        float(np.abs(a - b).max()) / max(float(np.abs(b).max()), 1e-300) for a, b in zip(found, right, strict=True)
    )
    return Entry(worst / tolerance if worst == worst else np.inf, sum(a.size for a in found))


def differences(case: Case, device: Device, order: int) -> Entry:
    inputs = [tensor(a, device=device, requires_grad=True) for a in case.values.values()]
    report = gradcheck(case.run, inputs, order=order, max_entries=12, directions=2, raise_exception=False)
    worst = max(r.difference / r.tolerance if r.tolerance else 0.0 for r in report.inputs)
    return Entry(worst if report else np.inf, len(report.inputs), "" if report else str(report))


def prove(cell: Formulas, names: Sequence[str] | None = None, seed: int = 0) -> Proof:
    """Prove a cell on devices; None: on all that are at hand."""
    proof, case = Proof(cell.__name__), Case(cell, seed)
    available = registry.available()
    straight = any(e.op == "straight_through" for e in case.step.nodes)
    if straight:
        proof.notes.append("differences, second order: no, since straight_through passes on what is no derivative")
    cpu = registry.get("cpu")
    right = case.results(cpu, composed=True)
    for name in available if names is None else names:
        if available.get(name) is not None:
            proof.notes.append(f"not at hand: {name}: {available[name]}")
            continue
        device = registry.get(name)
        before = device.fallbacks["cell_sequence"]
        case.results(device)
        if device.fallbacks["cell_sequence"] > before:
            proof.notes.append(f"{name}: it has no kernel for this cell, and composes it")
        ways: dict[str, Callable[[], Entry]] = {
            "composition": lambda device=device: compared(case.results(device), right, 1e-12),  # type: ignore[misc]
            "float32": lambda device=device: compared(case.results(device, "float32"), right, 1e-5),  # type: ignore[misc]
        }
        if not straight:
            ways["differences"] = lambda device=device: differences(case, device, 1)  # type: ignore[misc]
        if not straight and name == "cpu":  # second derivatives go through the composition on every device
            ways["second order"] = lambda device=device: differences(case, device, 2)  # type: ignore[misc]
        if name == "cuda-sim":
            ways["check mode"] = lambda: compared(case.results(checking()), right, 1e-12)
        proof.entries[name] = {way: attempt(run) for way, run in ways.items()}
    return proof


def attempt(run: Callable[[], Entry]) -> Entry:
    """What was found, or that something was raised: a proof goes on."""
    try:
        return run()
    except Exception as error:
        return Entry(np.inf, 0, f"{type(error).__name__}: {str(error).splitlines()[0]}")


def checking() -> Device:
    """The simulator in check mode."""
    from minirnn.devices.cuda.device import Cuda
    from minirnn.devices.cuda.sim.driver import SimDriver
    from minirnn.devices.cuda.sim.options import SimOptions

    return Cuda(SimDriver(SimOptions(check=True)))
