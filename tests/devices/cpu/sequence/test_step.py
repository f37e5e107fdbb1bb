"""One step of any cell in NumPy is that of its composition, in every layout, and its text has the page's names.

Tests `minirnn/devices/cpu/sequence/step.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence.step import cell_step, cell_step_grad, text_of
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import plan_of
from minirnn.ops.sequence.compose import evaluate
from tests.devices.cells.own_layers import ALL, cell_of
from tests.devices.cpu.kernel_checks import LAYOUTS
from tests.each import each

B, H = 3, 5


def draw(plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    def some(count: int, *shape: int) -> list[np.ndarray]:
        return [rng.normal(size=shape) for _ in range(count)]

    return {
        "gates": rng.normal(size=(B, len(plan.gate_names) * H)),
        "states": some(plan.states, B, H),
        "masks": [rng.uniform(size=(B, H)) for _ in range(plan.masks)],
        "weights": Weights(
            None, None, U=[a / H**0.5 for a in some(plan.products, H, H)], vectors=some(plan.vectors, H)
        ),
        "d_after": some(plan.states, B, H),
    }


def of_kernels(plan: Plan, given: dict[str, Any]) -> list[np.ndarray]:
    gates, states, masks, weights, d_after = given.values()
    after, values = cell_step(gates, states, weights, plan=plan, masks=masks)
    grads = cell_step_grad(states, after, values, d_after, weights, plan=plan, masks=masks)
    return [*after, grads[0], *grads[1], *grads[2]]


def of_composition(plan: Plan, given: dict[str, Any]) -> list[np.ndarray]:
    step = plan.derivation.step
    gates, states, masks, weights, d_after = given.values()
    gates, *others = (mr.tensor(a, True) for a in (gates, *states, *weights.vectors))
    parts = [gates[:, k * H : (k + 1) * H] for k in range(len(step.gates))]
    inputs = [*parts, *others, *map(mr.tensor, masks)]
    names = [*step.gates.values(), *step.states.values(), *step.vectors.values(), *step.masks.values()]
    found = evaluate(step, dict(zip(names, inputs, strict=True)), [mr.tensor(u) for u in weights.U])
    after = [mr.ops.broadcast_to(found[e], (B, H)) for e in step.after]
    grads = mr.grad(after, [gates, *others], [mr.tensor(d) for d in d_after])
    return [t.numpy() for t in (*after, *grads)]


@pytest.mark.parametrize("name", ALL)
def test_a_step_and_its_gradient_are_those_of_the_composition(name: str, rng: np.random.Generator) -> None:
    plan = cell_of(name).plan()
    given = draw(plan, rng)
    for got, want in zip(of_kernels(plan, given), of_composition(plan, given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@each("layout", LAYOUTS)
def test_memory_layout_does_not_matter(layout: str, rng: np.random.Generator) -> None:
    for name in ("three_stages", "many_gates", "two_inner_states"):
        plan = cell_of(name).plan()
        given = draw(plan, rng)
        other = LAYOUTS[layout]
        weights = Weights(
            None, None, U=[*map(other, given["weights"].U)], vectors=[*map(other, given["weights"].vectors)]
        )
        moved = {
            n: weights if n == "weights" else other(a) if n == "gates" else [*map(other, a)] for n, a in given.items()
        }
        for got, want in zip(of_kernels(plan, moved), of_kernels(plan, given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-14)


def test_constants_are_arguments_and_results_have_the_dtype_of_the_arrays(rng: np.random.Generator) -> None:
    plan = plan_of(False, True)
    given = draw(plan, rng)
    (cs, h), values = cell_step(
        given["gates"].astype("f4"), [a.astype("f4") for a in given["states"]], given["weights"],
        plan=plan, constants=(2, 0.25),
    )  # fmt: skip
    assert {a.dtype.name for a in (cs, h, *values.values())} == {"float32"}
    assert np.abs(cs).max() == 0.25
    z_f = given["gates"][:, 2 * H : 3 * H]
    np.testing.assert_allclose(values["f"], 1 / (1 + np.exp(-z_f - 2)), rtol=1e-6)


def test_the_text_is_that_of_the_page() -> None:
    assert text_of(gru_block.plan(), False).splitlines() == [
        "def gru_block(z_r, z_u, x_c, h_prev, U1):",
        "    r = sigmoid(z_r)",
        "    u = sigmoid(z_u)",
        "    rh = r * h_prev",
        "    m1 = rh @ U1.T",
        "    c = tanh(x_c + m1)",
        "    h = u * h_prev + (1 - u) * c",
        "    return (h, r, u, c,)",
    ]
    assert text_of(gru_block.plan(), True).splitlines()[1:-1] == [
        "    dx_c = dh * (1 - u) * (1 - c**2)",
        "    dz_u = dh * (h_prev - c) * u * (1 - u)",
        "    drh = dx_c @ U1",
        "    dz_r = drh * h_prev * r * (1 - r)",
        "    dh_prev = drh * r + dh * u",
    ]
