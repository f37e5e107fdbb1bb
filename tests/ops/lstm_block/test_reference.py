"""BlockLSTM gives the results of a loop over the formulas of one step.

Tests `minirnn/ops/lstm_block/sequence.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.sequence.named import in_columns
from tests.devices.cpu.kernel_checks import LAYOUTS, assert_all_close
from tests.ops.lstm_block.lstm_cases import (
    DTYPES,
    FULL,
    GRADIENTS,
    OUTPUTS,
    B,
    H,
    T,
    block_lstm,
    block_lstm_grad,
    block_lstm_grad_reference,
    block_lstm_reference,
    draw,
    inputs,
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("cell_clip", [0.0, 0.4])
def test_fast_equals_reference(
    rng: np.random.Generator, small_chunks: None, dtype: str, use_peephole: bool, cell_clip: float
) -> None:
    for lengths in [(T, T), (T, T - 1), (T, 2), (T, 1), (T, 0), (1, 1), (T, 3)]:
        T_, L = lengths
        B_, I_, H_ = (int(rng.integers(1, high)) for high in (5, 9, 11))
        args = inputs(rng, (T_, B_), I_, H_, dtype)
        where = {"seq_len_max": L, "use_peephole": use_peephole}
        attributes = {"forget_bias": float(rng.normal()), "cell_clip": cell_clip}
        want = block_lstm_reference(*args, **where, **attributes)
        got = block_lstm(*args, **where, **attributes)
        assert_all_close(OUTPUTS, got, want)
        upstream = draw(rng, 2, (T_, B_, H_), dtype)
        want = block_lstm_grad_reference(*args, *got, *upstream, **where)
        assert_all_close(GRADIENTS, block_lstm_grad(*args, *got, *upstream, **where), want)


def test_fast_equals_reference_where_weights_are_copied_in_blocks(rng: np.random.Generator) -> None:
    T, B, I, H = 3, 2, 71, 37
    args = inputs(rng, (T, B), I, H)
    where = {"seq_len_max": T, "use_peephole": True}
    want = block_lstm_reference(*args, **where, forget_bias=1.0, cell_clip=3.0)
    got = block_lstm(*args, **where, forget_bias=1.0, cell_clip=3.0)
    assert_all_close(OUTPUTS, got, want)


@pytest.mark.parametrize("column_layout", [False, True])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_gradient_is_a_function_of_whatever_was_saved(
    rng: np.random.Generator, small_chunks: None, column_layout: bool, use_peephole: bool
) -> None:
    args = inputs(rng, (T, B))
    saved = draw(rng, 7, (T, B, H))
    upstream = draw(rng, 2, (T, B, H))
    where = {"seq_len_max": 6, "use_peephole": use_peephole}
    want = block_lstm_grad_reference(*args, *saved, *upstream, **where)
    if column_layout:
        saved = [LAYOUTS["columns"](a) for a in saved]
    assert_all_close(GRADIENTS, block_lstm_grad(*args, *saved, *upstream, **where), want)


def test_saved_outputs_reach_the_gradient_without_a_copy(rng: np.random.Generator) -> None:
    *outputs, h = block_lstm(*inputs(rng, (T, B)), **FULL, seq_len_max=T)
    assert h.flags.c_contiguous  # it is read by rows
    for a in outputs:
        assert np.shares_memory(in_columns(a), a)
        assert not np.shares_memory(in_columns(a.copy("C")), a)


@pytest.mark.parametrize("zero", ["cs_grad", "h_grad"])
def test_a_missing_upstream_gradient_counts_as_zeros(rng: np.random.Generator, zero: str) -> None:
    args = inputs(rng, (T, B))
    upstream = dict(zip(("cs_grad", "h_grad"), draw(rng, 2, (T, B, H)), strict=True))
    upstream[zero] = np.broadcast_to(np.float64(0), (T, B, H))
    where = {"seq_len_max": T, "use_peephole": True}
    saved = block_lstm(*args, **where, forget_bias=1.0, cell_clip=0.5)
    want = block_lstm_grad_reference(*args, *saved, *upstream.values(), **where)
    assert_all_close(GRADIENTS, block_lstm_grad(*args, *saved, *upstream.values(), **where), want)
