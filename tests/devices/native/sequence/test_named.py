"""Values by name, gradients from values that a caller chose, and the gradient of c after each step.

Tests `minirnn/devices/native/sequence/layer.py`. The device cpu, which tests compare with finite differences, is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights, WrongSize
from minirnn.ops.lstm_block.cells import plan_of
from tests.devices.cells.own_layers import cell_of
from tests.devices.cpu.kernel_checks import LAYOUTS
from tests.devices.cpu.sequence.layer_cases import random_layer
from tests.each import each

TOLERANCE = {"float32": 2e-6, "float64": 1e-13}
LENGTHS = np.array([4, 1, 6, 3, 6])


class Case:
    """A layer of a cell and chosen values, as both devices get them."""

    def __init__(self, rng: np.random.Generator, plan: Plan, D: int, lengths: Any, dtype: str, H: int = 7) -> None:
        (T, B, I), G = (6, 5, 3), len(plan.gate_names)

        def draw(*shape: int) -> np.ndarray:
            return (0.5 * rng.normal(size=shape)).astype(dtype)

        n = plan.states - 1
        self.x, self.h0 = draw(T, B, I), draw(D, B, H)
        self.c0: Any = None if n == 0 else draw(D, B, H) if n == 1 else draw(D, n, B, H)
        self.weights = [
            Weights(draw(I, (plan.of_both + plan.of_x) * H).T, draw((plan.of_both + plan.of_h) * H, H), None,
                    draw(G * H), None, tuple(draw(plan.products, H, H)), tuple(draw(plan.vectors, H)))
            for _ in range(D)
        ]  # fmt: skip
        self.options: dict[str, Any] = {
            "plan": plan,
            "lengths": lengths,
            "constants": (0.4, 0.3)[: len(plan.constants)],
        }
        self.names = [*plan.value_names, *plan.state_names[:-1]]
        self.values = {name: draw(D, T, B, H) for name in self.names}
        self.y, self.dy, self.dh_n, self.dc_each = draw(T, B, D * H), draw(T, B, D * H), draw(D, B, H), draw(D, T, B, H)
        self.dc_n = None if self.c0 is None else draw(*self.c0.shape)
        if lengths is not None:
            padding = np.arange(T)[:, None] >= lengths
            self.dy[padding] = self.y[padding] = self.dc_each[:, padding] = 0
            for k, name in enumerate(plan.state_names[:-1]):  # a reverse direction comes from the padding
                self.values[name][1:, padding] = self.c0.reshape(D, n, B, H)[1:, k, np.nonzero(padding)[1]]

    def forward(self, name: str) -> Any:
        given = self.x, self.h0, self.c0, self.weights
        return mr.devices.get(name).cell_sequence(*given, training=True, named=True, **self.options)

    def gradients(self, name: str, values: Any, **options: Any) -> list[np.ndarray]:
        given = self.x, self.h0, self.c0, self.weights, values, self.y, self.dy, self.dh_n, self.dc_n
        *found, dweights = mr.devices.get(name).cell_sequence_grad(*given, need_dx=True, **self.options, **options)
        parts = [[w.W, w.R, w.bW, *w.U, *w.vectors] for w in dweights]
        return [a for a in [*found, *[p for own in parts for p in own]] if a is not None]


def assert_near(found: Any, expected: Any, tolerance: float) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert np.abs(a - b).max() <= tolerance * max(1, np.abs(b).max())


CELLS = ["clip and peepholes", "plain", "two_inner_states"]


def plan(name: str) -> Plan:
    block = {"clip and peepholes": (True, True), "plain": (False, False)}
    return plan_of(*block[name]) if name in block else cell_of(name).plan()


def cases(rng: np.random.Generator, name: str, dtype: str) -> list[Case]:
    sizes = [(1, None), (2, None), (1, LENGTHS), (2, LENGTHS)]
    return [Case(rng, plan(name), D, lengths, dtype) for D, lengths in sizes]


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_values_are_those_of_cpu(rng: np.random.Generator, name: str, dtype: str) -> None:
    for case in cases(rng, name, dtype):
        y, h_n, c_n, values = case.forward("native")
        *others, right = case.forward("cpu")
        assert_near([y, h_n, c_n], others, TOLERANCE[dtype])
        assert values.keys() == right.keys() == set(case.names)
        T, lengths = len(y), case.options["lengths"]
        valid = np.ones(y.shape[:2], bool) if lengths is None else np.arange(T)[:, None] < lengths
        assert_near([values[n][:, valid] for n in right], [right[n][:, valid] for n in right], TOLERANCE[dtype])


def test_states_in_the_padding_are_held(rng: np.random.Generator) -> None:
    case = Case(rng, plan("plain"), 2, LENGTHS, "float64")
    _, _, c_n, values = case.forward("native")
    for b, n in enumerate(LENGTHS):
        np.testing.assert_array_equal(values["cs"][0, n:, b], np.broadcast_to(c_n[0, b], values["cs"][0, n:, b].shape))
        np.testing.assert_array_equal(values["cs"][0, n - 1, b], c_n[0, b])
        np.testing.assert_array_equal(values["cs"][1, 0, b], c_n[1, b])
        assert (values["cs"][1, n:, b] == case.c0[1, b]).all()


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_gradients_from_chosen_values_are_those_of_cpu(rng: np.random.Generator, name: str, dtype: str) -> None:
    for case in cases(rng, name, dtype):
        for options in ({}, {"dc_each": case.dc_each}):
            expected = case.gradients("cpu", case.values, **options)
            for layout in LAYOUTS.values():
                moved = {n: layout(a) for n, a in case.values.items()}
                assert_near(case.gradients("native", moved, **options), expected, TOLERANCE[dtype])


@each("D", [1, 2])
def test_what_a_pass_returned_by_name_gives_the_bits_of_what_it_saved(rng: np.random.Generator, D: int) -> None:
    case = Case(rng, plan("plain"), D, None, "float64")
    y, _, _, values = case.forward("native")
    case.y = y
    given = case.x, case.h0, case.c0, case.weights
    *_, saved = mr.devices.get("native").cell_sequence(*given, training=True, **case.options)
    for a, b in zip(case.gradients("native", values), case.gradients("native", saved), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(WrongSize, match=f"saved has {saved.size - 1} elements\n  expected {saved.size}"):
        case.gradients("native", saved[1:])


def test_a_cell_without_values_has_none_by_name() -> None:
    device: Any = mr.devices.get("native")
    n = random_layer("rnn_tanh", D=2)
    for training in (False, True):
        given = n.x, n.h0, n.c0, n.weights
        *_, values = device.cell_sequence(*given, training=training, named=True, **n.attributes)
        assert values == {}
