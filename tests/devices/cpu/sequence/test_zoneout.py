"""The layers with zoneout against finite differences and a separate formula; `test_layer.py` has the composition.

Tests `minirnn/devices/cpu/sequence/layer.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.sequence.layer import cell_sequence
from tests.devices.cpu.sequence.layer_cases import (
    LENGTHS,
    MODES,
    H,
    assert_identical,
    assert_same,
    both_directions,
    fast,
    named,
    random_layer,
    variants,
    with_and_without_lengths,
    zoned_layer,
)
from tests.each import each


@variants
@both_directions
@each("zoneout", ["masks", "numbers", "fractions"])
def test_gradients_equal_finite_differences(rnn_mode, options, D, zoneout):
    n = zoned_layer(rnn_mode, zoneout, 6, D=D, lengths=LENGTHS, **options)  # this seed has no relu near its corner

    def loss() -> float:
        y, h_n, c_n, _ = cell_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
        return float((y * n.dy).sum() + (h_n * n.dh_n).sum() + (0 if c_n is None else (c_n * n.dc_n).sum()))

    got, rng = fast(n), np.random.default_rng(7)
    inputs = named(None, None, None, n.x, n.h0, n.c0, n.weights)
    for name, a in inputs.items():
        if a is None:
            continue
        direction = rng.standard_normal(a.shape)
        keep, losses = a.copy(), []
        for step in (1e-6, -1e-6):
            a[...] = keep + step * direction
            losses.append(loss())
        a[...] = keep
        slope = (losses[0] - losses[1]) / 2e-6
        assert abs(slope - (got[name] * direction).sum()) <= 1e-7 * max(1, abs(slope)), name


@variants
@both_directions
@with_and_without_lengths
def test_nothing_kept_is_the_layer_without_zoneout_and_all_kept_the_first_state(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=8, **options)
    none = n._replace(zoneout=(0.0, None if n.c0 is None else 0.0))
    assert_same(fast(none), fast(n), 1e-13)
    got = fast(n._replace(zoneout=(1.0, None if n.c0 is None else 1.0)))
    assert got["h_n"].tobytes() == n.h0.tobytes()
    assert n.c0 is None or got["c_n"].tobytes() == n.c0.tobytes()
    for name, a in got.items():
        assert a is None or name in ("y", "h_n", "c_n", "dh0", "dc0") or not a.any(), name


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
def test_the_values_of_padding_do_not_matter(rnn_mode, D):
    n = zoned_layer(rnn_mode, "masks", 9, D=D, lengths=LENGTHS)
    want = fast(n)
    for b, length in enumerate(LENGTHS):
        n.x[length:, b], n.dy[length:, b] = np.nan, np.nan
        for z in n.zoneout or ():
            if z is not None:
                z[:, length:, b] = 1 - z[:, length:, b]
    assert_identical(fast(n), want)


def test_the_lstm_shows_c_before_it_is_zoned(rng: np.random.Generator) -> None:
    n = zoned_layer("lstm", "masks", 11, T=1)
    (W, R, _, bW, bR, *_), (zh, zc) = n.weights[0], n.zoneout or ()
    a = n.x[0] @ W.T + bW + n.h0[0] @ R.T + bR
    i, f, candidate, o = (a[:, k * H : (k + 1) * H] for k in range(4))
    s = [1 / (1 + np.exp(-v)) for v in (i, f, o)]
    c_new = s[1] * n.c0[0] + s[0] * np.tanh(candidate)
    y, _, c_n, _ = cell_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
    np.testing.assert_allclose(c_n[0], np.where(zc[0, 0] == 1, n.c0[0], c_new), rtol=1e-13)
    np.testing.assert_allclose(y[0], np.where(zh[0, 0] == 1, n.h0[0], s[2] * np.tanh(c_new)), rtol=1e-13)
