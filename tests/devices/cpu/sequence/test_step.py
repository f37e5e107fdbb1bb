"""One step of any cell on cpu and native is that of its composition, in every layout and dtype.

Tests `minirnn/devices/cpu/sequence/step.py`, `minirnn/devices/native/sequence/step.py` and
`minirnn/devices/native/kernels/step.h`.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import plan_of
from minirnn.ops.sequence.compose import evaluate
from tests.devices.cells.own_layers import ALL, cell_of
from tests.devices.cpu.kernel_checks import LAYOUTS, assert_within
from tests.each import each

SIZES = [(1, 1), (3, 7), (7, 15), (2, 17), (13, 33)]  # B, H
BLOCKS = {"lstm_block": plan_of(True, True), "gru_block": gru_block.plan()}
QUICK = ("three_stages", "many_gates", "two_inner_states")
CELLS = [
    *(("cpu", name) for name in (*ALL, "lstm_block")),
    *(("native", name) for name in (*QUICK, *BLOCKS)),
    # half of the cells as steps: compiling one takes seconds
    *(pytest.param("native", n, marks=pytest.mark.slow) for n in ALL[1::2] if n not in (*QUICK, *BLOCKS)),
]


def device_of(place: str) -> Any:
    if (reason := mr.devices.available()[place]) is not None:
        pytest.skip(f"{place}: {reason}")
    return mr.devices.get(place)


def plan(name: str) -> Plan:
    return BLOCKS.get(name) or cell_of(name).plan()


class Case:
    """The arguments of a step of a cell."""

    def __init__(self, rng: np.random.Generator, plan: Plan, B: int, H: int, dtype: str = "float64") -> None:
        def some(count: int, *shape: int) -> list[np.ndarray]:
            return [rng.normal(size=shape).astype(dtype) for _ in range(count)]

        self.plan, self.shape = plan, (B, H)
        (self.gates,) = some(1, B, len(plan.gate_names) * H)
        self.states, self.d_after = some(plan.states, B, H), some(plan.states, B, H)
        self.masks = [rng.uniform(size=(B, H)).astype(dtype) for _ in range(plan.masks)]
        self.U, self.vectors = [a / a.dtype.type(H**0.5) for a in some(plan.matrices, H, H)], some(plan.vectors, H)

    def run(self, place: str, layout: Any = lambda a: a) -> list[np.ndarray]:
        """The states, and the gradients of gates, states and vectors."""
        device = device_of(place)
        weights = Weights(None, None, U=[*map(layout, self.U)], vectors=[*map(layout, self.vectors)])
        options: dict[str, Any] = {"plan": self.plan, "masks": [*map(layout, self.masks)]}
        states = [*map(layout, self.states)]
        after, values = device.cell_step(layout(self.gates), states, weights, **options)
        assert [*values] == [*self.plan.value_names]
        given = states, [*map(layout, after)], {n: layout(a) for n, a in values.items()}
        d_gates, d_states, d_vectors = device.cell_step_grad(*given, [*map(layout, self.d_after)], weights, **options)
        return [*after, d_gates, *d_states, *d_vectors]

    def composed(self) -> list[np.ndarray]:
        """The same by the tape, in float64."""
        step, (_, H) = self.plan.derivation.step, self.shape
        gates, *others = (mr.tensor(a.astype("f8"), True) for a in (self.gates, *self.states, *self.vectors))
        parts = [gates[:, k * H : (k + 1) * H] for k in range(len(step.gates))]
        inputs = [*parts, *others, *[mr.tensor(a.astype("f8")) for a in self.masks]]
        names = [*step.gates.values(), *step.states.values(), *step.vectors.values(), *step.masks.values()]
        U = [mr.tensor(u.astype("f8")) for u in self.U]
        found = evaluate(step, dict(zip(names, inputs, strict=True)), U)
        after = [mr.ops.broadcast_to(found[e], self.shape) for e in step.after]
        grads = mr.grad(after, [gates, *others], [mr.tensor(d.astype("f8")) for d in self.d_after])
        return [t.numpy() for t in (*after, *grads)]


@pytest.mark.parametrize(("place", "name"), CELLS)
def test_a_step_and_its_gradient_are_those_of_the_composition(place: str, name: str, rng: np.random.Generator) -> None:
    for size, dtype in product(SIZES, ("float64", "float32")[: 1 + (name in BLOCKS)]):
        case = Case(rng, plan(name), *size, dtype)
        for got, want in zip(case.run(place), case.composed(), strict=True):
            assert got.dtype == dtype
            assert_within(name, got, want, 1e-13 if dtype == "float64" else 2e-6)


@each("layout", LAYOUTS)
@pytest.mark.parametrize("place", ["cpu", "native"])
def test_memory_layout_does_not_matter(place: str, layout: str, rng: np.random.Generator) -> None:
    for name in (*QUICK, "lstm_block"):
        case = Case(rng, plan(name), 3, 9)
        for got, want in zip(case.run(place, LAYOUTS[layout]), case.run(place), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13 if place == "cpu" else 0)


def test_threads_do_not_change_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("three_stages", "many_gates", "gru_block"):
        case = Case(rng, plan(name), 150, 70)
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "1")
        alone = case.run("native")
        monkeypatch.setenv("MINIRNN_NUM_THREADS", "3")
        for got, want in zip(case.run("native"), alone, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("place", ["cpu", "native"])
def test_a_gradient_reads_only_the_states_that_the_page_reads(place: str, rng: np.random.Generator) -> None:
    case, device = Case(rng, plan("lstm_block"), 3, 9), device_of(place)
    weights = Weights(None, None, vectors=case.vectors)
    (cs, h), values = device.cell_step(case.gates, case.states, weights, plan=case.plan)
    given = values, case.d_after, weights
    whole = device.cell_step_grad(case.states, (cs, h), *given, plan=case.plan)
    found = device.cell_step_grad((case.states[0], None), (cs, None), *given, plan=case.plan)
    for a, b in zip((found[0], *found[1], *found[2]), (whole[0], *whole[1], *whole[2]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("place", ["cpu", "native"])
def test_constants_are_arguments_and_results_have_the_dtype_of_the_arrays(place: str, rng: np.random.Generator) -> None:
    H = 9
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-13)):
        case = Case(rng, plan_of(False, True), 3, H, dtype)
        (cs, h), values = device_of(place).cell_step(
            case.gates, case.states, Weights(None, None), plan=case.plan, constants=(2, 0.25)
        )
        assert {a.dtype.name for a in (cs, h, *values.values())} == {dtype}
        assert np.abs(cs).max() == 0.25
        np.testing.assert_allclose(values["f"], 1 / (1 + np.exp(-case.gates[:, 2 * H : 3 * H] - 2)), rtol=tolerance)
