"""The whole-sequence kernels with every dtype and memory layout, and without side effects.

Tests `minirnn/devices/cpu/sequence/layer.py`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence.layer import cell_sequence, cell_sequence_grad
from tests.devices.cpu.sequence.layer_cases import (
    LENGTHS,
    assert_identical,
    assert_same,
    both_directions,
    fast,
    named,
    random_layer,
    variants,
)


@variants
@both_directions
def test_inputs_are_not_changed_and_may_be_read_only_and_strided(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, lengths=LENGTHS, seed=15, **options)

    def locked(a: np.ndarray | None, *, strided: bool = True) -> np.ndarray | None:
        if a is None:
            return None
        if strided and a.ndim == 3:
            a = np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1)
        a = a.view()
        a.flags.writeable = False
        return a

    frozen = n._replace(
        x=locked(n.x), h0=locked(n.h0), c0=locked(n.c0), lengths=locked(n.lengths), dy=locked(n.dy),
        dh_n=locked(n.dh_n), dc_n=locked(n.dc_n), weights=[Weights(*map(locked, parts[:5])) for parts in n.weights],
    )  # fmt: skip
    assert_same(fast(frozen), fast(n), 1e-14)


@variants
@both_directions
def test_backward_twice_from_what_was_saved_gives_the_same(rnn_mode, options, D):
    n = random_layer(rnn_mode, D=D, lengths=LENGTHS, seed=16, **options)
    attrs = n.attributes
    y, _, _, saved = cell_sequence(n.x, n.h0, n.c0, n.weights, training=True, **attrs)
    if saved is not None:
        saved.flags.writeable = False
    y.flags.writeable = False
    results = []
    for _ in range(2):
        back = cell_sequence_grad(n.x, n.h0, n.c0, n.weights, saved, y, n.dy, n.dh_n, n.dc_n, **attrs)
        results.append(named(None, None, None, *back))
    assert_identical(*results)


@variants
def test_without_need_dx_everything_else_is_the_same(rnn_mode, options):
    n = random_layer(rnn_mode, D=2, lengths=LENGTHS, seed=17, **options)
    got, want = fast(n, need_dx=False), fast(n)
    assert got.pop("dx") is None
    del want["dx"]
    assert_identical(got, want)
