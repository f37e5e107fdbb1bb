"""What the layers save: the gates of each step by name.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu.cudnn_rnn.layer import VALUES, rnn_sequence
from tests.devices.cpu.cudnn_rnn.layer_cases import MODES, B, H, T, both_directions, random_layer
from tests.devices.cpu.kernel_checks import assert_within
from tests.each import each


@each("rnn_mode", MODES)
@both_directions
@each("zoneout", [False, True])
def test_saved_is_one_row_of_all_values(rnn_mode, D, zoneout):
    n = random_layer(rnn_mode, D=D)
    z: Any = {"zoneout": (0.5, 0.5 if rnn_mode == "lstm" else None)} if zoneout else {}
    values = 5 if rnn_mode in VALUES else int(zoneout)
    *_, saved = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode=rnn_mode, lengths=None, training=True, **z)
    assert (None if saved is None else saved.shape) == ((values * D * T * B * H,) if values else None)
    *_, saved = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode=rnn_mode, lengths=None, training=False, **z)
    assert saved is None


def saved_views(saved: np.ndarray, rnn_mode: str) -> dict[str, np.ndarray]:
    """Each value by name, (D, T, B, H), for two directions."""
    values = saved.reshape(2, T, 5, H, B)
    return {name: values[:, :, k].swapaxes(-1, -2) for k, name in enumerate(VALUES[rnn_mode])}


def test_what_an_lstm_saves_holds_the_gates_by_name():
    n = random_layer("lstm", D=2, seed=18)
    y, _, c_n, saved = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode="lstm", lengths=None, training=True)
    v = saved_views(saved, "lstm")
    c = v["f"] * v["c_prev"] + v["i"] * v["n"]
    assert_within("c after a step", c[0, :-1], v["c_prev"][0, 1:], 1e-15)
    assert_within("c after a step, reverse", c[1, 1:], v["c_prev"][1, :-1], 1e-15)
    assert_within("c_n", np.stack([c[0, -1], c[1, 0]]), c_n, 1e-15)
    assert_within("y", np.concatenate(list(v["o"] * np.tanh(c)), axis=2), y, 1e-15)


def test_what_a_gru_saves_holds_the_gates_by_name():
    n = random_layer("gru", D=2, seed=19)
    y, _, _, saved = rnn_sequence(n.x, n.h0, None, n.weights, rnn_mode="gru", lengths=None, training=True)
    v = saved_views(saved, "gru")
    h = v["n"] + v["z"] * v["h_minus_n"]
    h_prev = v["h_minus_n"] + v["n"]
    assert_within("y", np.concatenate(list(h), axis=2), y, 1e-15)
    assert_within("h'", h_prev[0], np.concatenate([n.h0[:1], y[:-1, :, :H]]), 1e-15)
    assert_within("h', reverse", h_prev[1], np.concatenate([y[1:, :, H:], n.h0[1:]]), 1e-15)
    for d, (_, R, _, _, bR) in enumerate(n.weights):
        assert_within("q", v["q"][d], h_prev[d] @ R[2 * H :].T + bR[2 * H :], 1e-14)
