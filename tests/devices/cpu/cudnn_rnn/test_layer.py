"""The whole-sequence kernels against the plain version.

Tests `minirnn/devices/cpu/cudnn_rnn/layer.py`, `minirnn/devices/cpu/columns/direction.py` and
`minirnn/devices/cpu/columns/lstm.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.sequence import visit
from minirnn.devices.cpu.cudnn_rnn.layer import rnn_sequence
from tests.devices.cpu.cudnn_rnn.layer_cases import (
    LENGTHS,
    MODES,
    ZONEOUT,
    B,
    H,
    assert_same,
    both_directions,
    fast,
    plain,
    random_layer,
    variants,
    zoned_layer,
)
from tests.devices.cpu.kernel_checks import assert_within
from tests.each import each

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


@each("rnn_mode", MODES)
@each("sizes", SIZES, ids=str)
@both_directions
@each("ragged", [False, True], ids=["full", "ragged"])
def test_fast_equals_plain_for_all_shapes(rnn_mode, sizes, D, ragged):
    T, B, I, H = sizes
    lengths = np.random.default_rng(T).integers(1, T + 1, B) if ragged else None
    for zoneout in ("", "masks"):
        n = zoned_layer(rnn_mode, zoneout, 2, T=T, B=B, I=I, H=H, D=D, lengths=lengths)
        assert_same(fast(n), plain(n), 1e-11)


@variants
@both_directions
@ZONEOUT
def test_fast_equals_plain_for_all_variants_and_inference_gives_what_training_gives(rnn_mode, options, D, zoneout):
    for lengths in (None, LENGTHS, (7, 2, 7)):
        n = zoned_layer(rnn_mode, zoneout, 3, D=D, lengths=lengths, **options)
        want = fast(n)
        assert_same(want, plain(n), 1e-12)
        got = rnn_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
        for a, name in zip(got[:3], ("y", "h_n", "c_n"), strict=True):
            assert_within(name, a, want[name], 1e-15)


@pytest.mark.parametrize("rnn_mode", MODES)
@both_directions
@pytest.mark.parametrize("cells", [1, 4 * B * H])
def test_length_of_the_pieces_does_not_matter(rnn_mode, D, cells, monkeypatch):
    monkeypatch.setattr(visit, "CACHED_CELLS", cells)
    for lengths in (None, LENGTHS):
        for zoneout in ("", "fractions"):
            n = zoned_layer(rnn_mode, zoneout, 4, D=D, lengths=lengths)
            assert_same(fast(n), plain(n), 1e-12)


def test_relu_passes_no_gradient_at_zero():
    n = random_layer("rnn_relu", seed=8)
    W, R, _, bW, bR = n.weights[0]
    for a in (n.h0, W, bW, bR):
        a[...] = 0
    got = fast(n)
    assert not got["y"].any()
    for name in ("dx", "dh0", "dW[0]", "dR[0]", "dbW[0]", "dbR[0]"):
        assert not got[name].any(), name
