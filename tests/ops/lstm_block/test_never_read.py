"""The LSTM kernels do not read inputs that they do not need.

Tests `minirnn/ops/lstm_block/cell.py` and `minirnn/ops/lstm_block/nodes.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.each import each
from tests.ops.lstm_block.lstm_cases import (
    CELL_GRADIENTS,
    FULL,
    GRADIENTS,
    INPUTS,
    OUTPUTS,
    VERSIONS,
    B,
    H,
    T,
    block_lstm,
    draw,
    inputs,
    lstm_block_cell,
    lstm_block_cell_grad,
)


@each("version", VERSIONS)
@each("use_peephole", [False, True])
@each("L", [0, 1, 4, T])
def test_nothing_past_seq_len_max_is_read_and_all_outputs_are_zero_there(
    rng: np.random.Generator, small_chunks: None, version: str, use_peephole: bool, L: int
) -> None:
    forward, backward = VERSIONS[version]
    args = inputs(rng, (T, B))
    where = {"seq_len_max": L, "use_peephole": use_peephole}
    attributes = {"forget_bias": 1.0, "cell_clip": 3.0}
    clean = forward(*args, **where, **attributes)
    args[0][L:] = np.nan
    outputs = forward(*args, **where, **attributes)
    for name, a, b in zip(OUTPUTS, outputs, clean, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert not a[L:].any(), name
        assert a[:L].all(), name

    upstream = draw(rng, 2, (T, B, H))
    saved = [np.array(a) for a in outputs]
    want = backward(*args, *saved, *upstream, **where)
    for a in (*saved, *upstream):
        a[L:] = np.nan
    got = backward(*args, *saved, *upstream, **where)
    for name, a, b in zip(GRADIENTS, got, want, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert np.isfinite(a).all(), name
    assert not got[0][L:].any()
    if L == 0:
        assert not any(a.any() for a in got)


@pytest.mark.parametrize("version", VERSIONS)
def test_gradient_ignores_values_it_has_no_use_for(rng: np.random.Generator, version: str) -> None:
    _, backward = VERSIONS[version]
    args, saved, upstream = inputs(rng, (T, B)), draw(rng, 7, (T, B, H)), draw(rng, 2, (T, B, H))
    where = {"seq_len_max": T}
    for use_peephole in (True, False):
        want = backward(*args, *saved, *upstream, **where, use_peephole=use_peephole)
        args[INPUTS.index("b")][:] = np.nan
        saved[OUTPUTS.index("h")][T - 1] = np.nan
        if not use_peephole:
            saved[OUTPUTS.index("cs")][T - 1] = np.nan
            for name in ("wci", "wcf", "wco"):
                args[INPUTS.index(name)][:] = np.nan
        got = backward(*args, *saved, *upstream, **where, use_peephole=use_peephole)
        for name, a, b in zip(GRADIENTS, got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
            assert np.isfinite(a).all(), name


def test_cell_gradient_ignores_values_it_has_no_use_for(rng: np.random.Generator) -> None:
    args, saved, upstream = inputs(rng, (B,)), draw(rng, 6, (B, H)), draw(rng, 2, (B, H))
    for use_peephole in (True, False):
        want = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=use_peephole)
        for name in ("x", "h_prev", "w", "b", *(() if use_peephole else ("wci", "wcf", "wco"))):
            args[INPUTS.index(name)][:] = np.nan
        if not use_peephole:
            saved[OUTPUTS.index("cs")][:] = np.nan
        got = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=use_peephole)
        for name, a, b in zip(CELL_GRADIENTS, got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
            assert np.isfinite(a).all(), name


def test_without_peephole_the_peephole_weights_do_not_matter(rng: np.random.Generator) -> None:
    args = inputs(rng, (T, B))
    off = {**FULL, "use_peephole": False}
    sequence = block_lstm(*args, **off, seq_len_max=T)
    cell = lstm_block_cell(args[0][0], *args[1:], **off)
    for name in ("wci", "wcf", "wco"):
        args[INPUTS.index(name)][:] = np.nan
    for a, b in zip(block_lstm(*args, **off, seq_len_max=T), sequence, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(lstm_block_cell(args[0][0], *args[1:], **off), cell, strict=True):
        np.testing.assert_array_equal(a, b)
