"""The reserve: as large as its layout says, and holding the gates by name.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.cudnn_rnn.layer import VALUES, rnn_sequence, rnn_sequence_reserve_layout
from tests.devices.cpu.cudnn_rnn.layer_cases import (
    MODES,
    B,
    H,
    I,
    T,
    both_directions,
    random_layer,
    reserve_size,
    size_of,
)
from tests.devices.cpu.kernel_checks import assert_within


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
def test_reserve_layout_covers_the_reserve_exactly(rnn_mode, D):
    arguments = (rnn_mode, T, B, I, H, H, D, False, False)
    layout = rnn_sequence_reserve_layout(*arguments)
    size = size_of(*arguments)
    assert size == (5 * D * T * B * H if rnn_mode in ("lstm", "gru") else 0)
    assert [name for name, _ in layout] == ["gates"] * (size > 0)
    n = random_layer(rnn_mode, D=D)
    reserve = np.full(size, np.nan)
    rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, rnn_mode=rnn_mode, lengths=None, training=True)
    assert np.isfinite(reserve).all()


def reserve_views(reserve: np.ndarray, rnn_mode: str) -> dict[str, np.ndarray]:
    """Each value in the reserve by name, (D, T, B, H), for two directions."""
    [(_, shape)] = rnn_sequence_reserve_layout(rnn_mode, T, B, I, H, H, 2, False, False)
    values = reserve.reshape(shape)
    return {name: values[:, :, k].swapaxes(-1, -2) for k, name in enumerate(VALUES[rnn_mode])}


def test_reserve_of_lstm_holds_the_gates_by_name():
    n = random_layer("lstm", D=2, seed=18)
    reserve = np.full(reserve_size(n), np.nan)
    y, _, c_n = rnn_sequence(n.x, n.h0, n.c0, n.weights, reserve, rnn_mode="lstm", lengths=None, training=True)
    v = reserve_views(reserve, "lstm")
    c = v["f"] * v["c_prev"] + v["i"] * v["n"]
    assert_within("c after a step", c[0, :-1], v["c_prev"][0, 1:], 1e-15)
    assert_within("c after a step, reverse", c[1, 1:], v["c_prev"][1, :-1], 1e-15)
    assert_within("c_n", np.stack([c[0, -1], c[1, 0]]), c_n, 1e-15)
    assert_within("y", np.concatenate(list(v["o"] * np.tanh(c)), axis=2), y, 1e-15)


def test_reserve_of_gru_holds_the_gates_by_name():
    n = random_layer("gru", D=2, seed=19)
    reserve = np.full(reserve_size(n), np.nan)
    y, _, _ = rnn_sequence(n.x, n.h0, None, n.weights, reserve, rnn_mode="gru", lengths=None, training=True)
    v = reserve_views(reserve, "gru")
    h = v["n"] + v["z"] * v["h_minus_n"]
    h_prev = v["h_minus_n"] + v["n"]
    assert_within("y", np.concatenate(list(h), axis=2), y, 1e-15)
    assert_within("h'", h_prev[0], np.concatenate([n.h0[:1], y[:-1, :, :H]]), 1e-15)
    assert_within("h', reverse", h_prev[1], np.concatenate([y[1:, :, H:], n.h0[1:]]), 1e-15)
    for d, (_, R, _, _, bR) in enumerate(n.weights):
        assert_within("q", v["q"][d], h_prev[d] @ R[2 * H :].T + bR[2 * H :], 1e-14)
