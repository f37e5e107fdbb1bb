"""The values of a layer by name, and gradients from values that a caller chose.

Tests `minirnn/devices/cpu/sequence/named.py` and `minirnn/devices/cpu/sequence/layer.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.base import WrongSize
from minirnn.devices.cpu.sequence import visit
from minirnn.devices.cpu.sequence.layer import cell_sequence, cell_sequence_grad
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


def run(n: Layer) -> tuple:
    return cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, named=True, **n.attributes)


def gradients(n: Layer, saved: object, y: np.ndarray, **options: object) -> dict:
    given = n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n
    return named(None, None, None, *cell_sequence_grad(*given, **n.attributes, **options))


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


@each("rnn_mode", MODES)
@both_directions
@each("layout", LAYOUTS)
@each("zoneout", ["", "masks"])
@each("lengths", [None, LENGTHS, (7, 2, 7)])
def test_the_gradient_takes_what_a_pass_returned_by_name_in_any_layout(rnn_mode, D, layout, zoneout, lengths):
    n = zoned_layer(rnn_mode, zoneout, 20, D=D, lengths=lengths)
    y, _, _, v = run(n)
    *_, saved = cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **n.attributes)
    want = gradients(n, saved, y)
    assert_same(gradients(n, v, y), want, 1e-14)
    assert_same(gradients(n, {name: LAYOUTS[layout](a) for name, a in v.items()}, y), want, 1e-14)


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


def test_what_another_layer_saved_is_refused():
    n = random_layer("lstm", seed=23)
    y, _, _, saved = cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **n.attributes)
    with pytest.raises(WrongSize, match=f"saved has {saved.size - 1} elements\n  expected {saved.size}"):
        gradients(n, saved[1:], y)
