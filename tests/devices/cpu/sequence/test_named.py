"""The values of a layer by name, gradients from values that a caller chose, and the gradient of c after each step.

Tests `minirnn/devices/cpu/sequence/named.py`, `minirnn/devices/cpu/sequence/layer.py` and
`minirnn/devices/native/sequence/layer.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights, WrongSize
from minirnn.devices.cpu.sequence import visit
from minirnn.ops.lstm_block.cells import plan_of
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


@places
@both_directions
@each("lengths", [None, LENGTHS])
def test_values_are_those_of_cpu_and_native_holds_states_in_the_padding(place, D, lengths):
    n = random_layer("lstm", D=D, lengths=lengths, seed=24)
    found, right = run(n, place)[3], run(n)[3]
    assert found.keys() == right.keys()
    for b, end in enumerate([T] * len(n.h0[0]) if lengths is None else lengths):
        assert_same(*({k: a[:, :end, b] for k, a in v.items()} for v in (found, right)), 1e-13)
        if place == "native":
            held = found["c"][:, end:, b]
            assert (held[0] == found["c"][0, end - 1, b]).all() and (held[1:] == n.c0[1:, None, b]).all()


@places
@each("name", ["clip and peepholes", "plain"])
def test_a_gradient_from_chosen_values_and_of_c_after_each_step_is_that_of_cpu(rng, place, name):
    """In any layout; the test above compares cpu with finite differences."""
    plan, (T, B, I, H, D) = plan_of(*[name != "plain"] * 2), (6, 5, 3, 7, 2)
    draw = lambda *shape: 0.5 * rng.normal(size=shape)  # noqa: E731
    weights = [Weights(draw(4 * H, I), draw(4 * H, H), None, draw(4 * H), None, (), tuple(draw(plan.vectors, H)))] * D
    arrays = draw(T, B, I), draw(D, B, H), draw(D, B, H), weights
    values = {n: draw(D, T, B, H) for n in (*plan.value_names, *plan.state_names[:-1])}
    given = draw(T, B, D * H), draw(T, B, D * H), draw(D, B, H), draw(D, B, H)
    options = {"plan": plan, "constants": (0.4, 0.3)[: len(plan.constants)], "dc_each": draw(D, T, B, H)}

    def gradient(place, layout):
        moved = {n: layout(a) for n, a in values.items()}
        *found, dweights = mr.devices.get(place).cell_sequence_grad(*arrays, moved, *given, lengths=None, **options)
        return [*found, *[a for own in dweights for a in (own.W, own.R, own.bW, *own.vectors)]]

    right = gradient("cpu", lambda a: a)
    for layout in LAYOUTS.values():
        for found, wanted in zip(gradient(place, layout), right, strict=True):
            assert_within(name, found, wanted, 1e-13)
