"""The whole-sequence kernels against the plain version.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`, `minirnn/devices/cpu/columns/direction.py` and
`minirnn/devices/cpu/columns/lstm.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.columns import visit
from minirnn.devices.cpu.cudnn_rnn.layer import rnn_sequence
from tests.devices.cpu.cudnn_rnn.layer_cases import (
    LENGTHS,
    MODES,
    B,
    H,
    assert_same,
    both_directions,
    fast,
    plain,
    random_layer,
    variants,
    with_and_without_lengths,
)
from tests.devices.cpu.kernel_checks import assert_within

SIZES = [
    (7, 3, 4, 5),
    (1, 3, 4, 5),
    (7, 1, 4, 5),
    (7, 3, 1, 5),
    (7, 3, 4, 1),
    (1, 1, 1, 1),
    (37, 2, 300, 3),
    (3, 40, 5, 6),
]


@pytest.mark.parametrize("rnn_mode", MODES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@both_directions
@pytest.mark.parametrize("ragged", [False, True], ids=["full", "ragged"])
def test_fast_equals_plain_for_all_shapes(rnn_mode, sizes, D, ragged):
    T, B, I, H = sizes
    lengths = np.random.default_rng(T).integers(1, T + 1, B) if ragged else None
    n = random_layer(rnn_mode, T=T, B=B, I=I, H=H, D=D, lengths=lengths, seed=2)
    assert_same(fast(n), plain(n), 1e-11)


@variants
@both_directions
@with_and_without_lengths
def test_fast_equals_plain_for_all_variants(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=3, **options)
    assert_same(fast(n), plain(n), 1e-12)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
@pytest.mark.parametrize("cells", [1, 4 * B * H])
def test_length_of_the_pieces_does_not_matter(rnn_mode, D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    for lengths in (None, LENGTHS):
        n = random_layer(rnn_mode, D=D, lengths=lengths, seed=4)
        assert_same(fast(n), plain(n), 1e-12)


@variants
@both_directions
@with_and_without_lengths
def test_inference_gives_what_training_gives(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=5, **options)
    got = rnn_sequence(n.x, n.h0, n.c0, n.weights, rnn_mode=rnn_mode, lengths=n.lengths, training=False)
    want = fast(n)
    for a, name in zip(got[:3], ("y", "h_n", "c_n"), strict=True):
        assert_within(name, a, want[name], 1e-15)


def test_relu_passes_no_gradient_at_zero():
    n = random_layer("rnn_relu", seed=8)
    W, R, _, bW, bR = n.weights[0]
    for a in (n.h0, W, bW, bR):
        a[...] = 0
    got = fast(n)
    assert not got["y"].any()
    for name in ("dx", "dh0", "dW[0]", "dR[0]", "dbW[0]", "dbR[0]"):
        assert not got[name].any(), name
