"""The LSTM kernels with every dtype, memory layout and size; their results, and the absence of side effects.

Tests `minirnn/ops/lstm_block/cell.py` and `minirnn/ops/lstm_block/nodes.py`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.devices.cpu.kernel_checks import LAYOUTS, TOLERANCE, assert_all_close
from tests.ops.lstm_block.lstm_cases import (
    CELL_GRADIENTS,
    DTYPES,
    FULL,
    GRADIENTS,
    OUTPUTS,
    B,
    H,
    T,
    block_lstm,
    block_lstm_grad,
    draw,
    inputs,
    lstm_block_cell,
    lstm_block_cell_grad,
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter(rng: np.random.Generator, small_chunks: None, layout: str, dtype: str) -> None:
    other = LAYOUTS[layout]
    args, upstream = inputs(rng, (T, B), dtype=dtype), draw(rng, 2, (T, B, H), dtype)
    step, step_upstream = [args[0][0], *args[1:]], [a[0] for a in upstream]
    where = {"seq_len_max": 5, "use_peephole": True}
    tolerance = 0.1 * TOLERANCE[dtype]

    want = lstm_block_cell(*step, **FULL)
    got = lstm_block_cell(*map(other, step), **FULL)
    assert_all_close(OUTPUTS, got, want, tolerance)
    want_grad = lstm_block_cell_grad(*step, *want[:-1], *step_upstream, use_peephole=True)
    got_grad = lstm_block_cell_grad(*map(other, (*step, *got[:-1], *step_upstream)), use_peephole=True)
    assert_all_close(CELL_GRADIENTS, got_grad, want_grad, tolerance)

    want = block_lstm(*args, **where, forget_bias=1.0, cell_clip=3.0)
    got = block_lstm(*map(other, args), **where, forget_bias=1.0, cell_clip=3.0)
    assert_all_close(OUTPUTS, got, want, tolerance)
    want_grad = block_lstm_grad(*args, *want, *upstream, **where)
    got_grad = block_lstm_grad(*map(other, (*args, *got, *upstream)), **where)
    assert_all_close(GRADIENTS, got_grad, want_grad, tolerance)


def train_step(seed: int) -> tuple[np.ndarray, ...]:
    """Forward and backward at a size whose buffers come from the pool."""
    rng = np.random.default_rng(seed)
    T, B, I, H = 8, 40, 30, 128
    args, upstream = inputs(rng, (T, B), I, H, "float32"), draw(rng, 2, (T, B, H), "float32")
    saved = block_lstm(*args, **FULL, seq_len_max=T - 1)
    grads = block_lstm_grad(*args, *saved, *upstream, seq_len_max=T - 1, use_peephole=True)
    return (*saved, *grads)


def test_results_survive_later_calls() -> None:
    kept = train_step(0)
    copies = [a.copy() for a in kept]
    for seed in range(1, 4):
        train_step(seed)
    for a, b in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_do_not_disturb_each_other() -> None:
    alone = [train_step(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(train_step, [0, 1, 2, 3] * 4))
    for k, results in enumerate(together):
        for a, b in zip(results, alone[k % 4], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
