"""Sequences of unequal lengths: a sample computes as if alone, and the padding does not matter.

Tests `minirnn/devices/cpu/sequence/layer.py` and `minirnn/devices/cpu/sequence/visit.py`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu.sequence.layer import cell_sequence
from tests.devices.cpu.kernel_checks import assert_within
from tests.devices.cpu.sequence.layer_cases import (
    LENGTHS,
    B,
    H,
    T,
    assert_identical,
    assert_same,
    both_directions,
    fast,
    random_layer,
    variants,
    with_and_without_lengths,
)
from tests.each import each


@variants
@both_directions
@each("lengths", [LENGTHS, (7, 2, 7)], ids=["short", "mixed"])
@each("poison", [np.nan, np.inf])
def test_values_in_the_padding_change_no_bit(rnn_mode, options, D, lengths, poison):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=9, **options)
    want = fast(n)
    past = np.arange(T)[:, None] >= np.asarray(lengths)
    n.x[past] = poison
    n.dy[past] = poison
    got = fast(n)
    assert all(a is None or np.isfinite(a).all() for a in got.values())
    assert_identical(got, want)
    assert not got["y"][past].any()
    assert not got["dx"][past].any()
    y, h_n, c_n, _ = cell_sequence(n.x, n.h0, n.c0, n.weights, training=False, **n.attributes)
    assert_same({"y": y, "h_n": h_n, "c_n": c_n}, {name: want[name] for name in ("y", "h_n", "c_n")}, 1e-15)


@variants
@both_directions
def test_full_lengths_equal_no_lengths(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, seed=10, **options)
    assert_identical(fast(n._replace(lengths=np.full(B, T, np.int32))), fast(n))


@variants
@both_directions
@with_and_without_lengths
def test_each_sample_computes_as_if_alone(rnn_mode, options, D, lengths):
    n = random_layer(rnn_mode, D=D, lengths=lengths, seed=11, **options)
    together = fast(n)
    for b, length in enumerate(lengths or (T,) * B):
        one = slice(b, b + 1)
        alone = fast(
            n._replace(
                x=n.x[:length, one], h0=n.h0[:, one], c0=None if n.c0 is None else n.c0[:, one], lengths=None,
                dy=n.dy[:length, one], dh_n=n.dh_n[:, one], dc_n=None if n.dc_n is None else n.dc_n[:, one],
            )
        )  # fmt: skip
        for name in ("y", "dx"):
            assert_within(name, together[name][:length, one], alone[name], 1e-12)
        for name in ("h_n", "c_n", "dh0", "dc0"):
            assert_within(name, None if together[name] is None else together[name][:, one], alone[name], 1e-12)


@both_directions
def test_growing_relu_of_a_long_neighbor_does_not_reach_a_short_sample(D):
    n = random_layer("rnn_relu", T=400, B=2, D=D, lengths=(2, 400), dtype=np.float32, seed=12)
    for own in n.weights:
        own.R[...] = np.eye(H) * 1.3  # 1.3 ** 400 overflows float32
    n.x[2:, 1] = -1e9  # keeps the long sample at 0
    for own in n.weights:
        own.W[...] = np.abs(own.W)
    with np.errstate(all="raise", under="ignore"):
        got = fast(n)
    assert all(a is None or np.isfinite(a).all() for a in got.values())
