"""The values of a layer by name, gradients from values that a caller chose, and the gradient of c after each step.

Tests `minirnn/devices/cpu/sequence/named.py`, `minirnn/devices/cpu/sequence/layer.py` and
`minirnn/devices/native/sequence/layer.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights, WrongSize
from minirnn.devices.cpu.sequence import visit
from minirnn.ops.lstm_block.cells import plan_of
from tests.devices.cells.own_layers import cell_of
from tests.devices.cpu.kernel_checks import LAYOUTS, assert_within
from tests.devices.cpu.sequence.layer_cases import (
    LENGTHS,
    MODES,
    H,
    Layer,
    T,
    assert_same,
    both_directions,
    named,
    random_layer,
    zoned_layer,
)
from tests.each import each


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def run(n: Layer, place: str = "cpu", named: bool = True, training: bool = True) -> tuple:
    given = n.x, n.h0, n.c0, n.weights
    return mr.devices.get(place).cell_sequence(*given, training=training, named=named, **n.attributes)


def gradients(n: Layer, saved: object, y: np.ndarray, place: str = "cpu", **options: object) -> dict:
    given = n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n
    device = mr.devices.get(place)
    return named(None, None, None, *device.cell_sequence_grad(*given, need_dx=True, **n.attributes, **options))


places = each("place", [name for name in ("cpu", "native") if mr.devices.available()[name] is None])


def test_an_lstm_has_its_gates_and_states_by_name():
    n = random_layer("lstm", D=2, seed=18)
    y, _, c_n, v = run(n)
    assert v.keys() == {"i", "f", "n", "o", "c"}
    c_prev = np.stack([np.concatenate([n.c0[:1], v["c"][0, :-1]]), np.concatenate([v["c"][1, 1:], n.c0[1:]])])
    assert_within("c", v["c"], v["f"] * c_prev + v["i"] * v["n"], 1e-15)
    assert_within("c_n", c_n, np.stack([v["c"][0, -1], v["c"][1, 0]]), 1e-15)
    assert_within("y", np.concatenate(list(v["o"] * np.tanh(v["c"])), axis=2), y, 1e-15)


def test_a_gru_has_its_gates_by_name():
    n = random_layer("gru", D=2, seed=19)
    y, _, _, v = run(n)
    assert v.keys() == {"h_n", "r", "z", "n"}
    before = [np.concatenate([n.h0[:1], y[:-1, :, :H]]), np.concatenate([y[1:, :, H:], n.h0[1:]])]
    for d, (h, own) in enumerate(zip(before, n.weights, strict=True)):
        assert_within("y", v["n"][d] + v["z"][d] * (h[..., :] - v["n"][d]), y[..., d * H : (d + 1) * H], 1e-15)
        assert_within("h_n", v["h_n"][d], h @ own.R[2 * H :].T + own.bR[2 * H :], 1e-14)
        r = n.x @ own.W[:H].T + own.bW[:H] + h @ own.R[:H].T + own.bR[:H]
        assert_within("r", v["r"][d], sigmoid(r), 1e-14)


@places
@each("rnn_mode", MODES)
@both_directions
@each("zoneout", ["", "masks"])
@each("lengths", [None, LENGTHS, (7, 2, 7)])
def test_the_gradient_takes_what_a_pass_returned_by_name_in_any_layout(place, rnn_mode, D, zoneout, lengths):
    if place == "native" and zoneout and rnn_mode != "lstm":
        return  # nothing else compiles these cells
    n = zoned_layer(rnn_mode, zoneout, 20, D=D, lengths=lengths)
    y, _, _, v = run(n, place)
    *_, saved = run(n, place, named=False)
    want = gradients(n, saved, y, place)
    for layout in (lambda a: a, *LAYOUTS.values()):
        assert_same(gradients(n, {name: layout(a) for name, a in v.items()}, y, place), want, 1e-14)


@both_directions
@pytest.mark.parametrize("cells", [1, 1 << 15])
def test_a_gradient_of_c_after_each_step_equals_finite_differences(D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    n = random_layer("lstm", D=D, seed=21)
    dc = np.random.default_rng(22).standard_normal((D, T, *n.c0.shape[1:]))

    def loss() -> float:
        y, h_n, c_n, v = run(n)
        return float((y * n.dy).sum() + (h_n * n.dh_n).sum() + (c_n * n.dc_n).sum() + (v["c"] * dc).sum())

    y, _, _, v = run(n)
    got, rng = gradients(n, v, y, dc_each=dc), np.random.default_rng(7)
    for name, a in named(None, None, None, n.x, n.h0, n.c0, n.weights).items():
        if a is None:
            continue
        direction, keep, losses = rng.standard_normal(a.shape), a.copy(), []
        for step in (1e-6, -1e-6):
            a[...] = keep + step * direction
            losses.append(loss())
        a[...] = keep
        slope = (losses[0] - losses[1]) / 2e-6
        assert abs(slope - (got[name] * direction).sum()) <= 1e-7 * max(1, abs(slope)), name


@places
def test_what_another_layer_saved_is_refused(place):
    n = random_layer("lstm", seed=23)
    y, _, _, saved = run(n, place, named=False)
    with pytest.raises(WrongSize, match=f"saved has {saved.size - 1} elements\n  expected {saved.size}"):
        gradients(n, saved[1:], y, place)


@places
def test_a_cell_without_values_has_none_by_name(place):
    for training in (False, True):
        *_, values = run(random_layer("rnn_tanh", D=2), place, training=training)
        assert values == {}


# ---- any cell and chosen values: native against cpu, which is compared with finite differences above

TOLERANCE = {"float32": 2e-6, "float64": 1e-13}
UNEQUAL = np.array([4, 1, 6, 3, 6])


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
                    draw(G * H), None, tuple(draw(plan.matrices, H, H)), tuple(draw(plan.vectors, H)))
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
    sizes = [(1, None), (2, None), (1, UNEQUAL), (2, UNEQUAL)]
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
    case = Case(rng, plan("plain"), 2, UNEQUAL, "float64")
    _, _, c_n, values = case.forward("native")
    for b, n in enumerate(UNEQUAL):
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
