"""The LSTM kernels at the edges of their numbers: clip, forget bias, saturation, overflow.

Tests `minirnn/ops/lstm_block/cell.py` and `minirnn/ops/lstm_block/nodes.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.devices.cpu.kernel_checks import assert_all_close
from tests.ops.lstm_block.lstm_cases import OUTPUTS, VERSIONS, B, H, I, T, inputs, lstm_block_cell


def run(version: str, args: list, **attributes: Any) -> tuple[np.ndarray, ...]:
    """One step by the cell, or several by a sequence version, on inputs of a sequence."""
    if version == "cell":
        return lstm_block_cell(args[0][0], *args[1:], **attributes)
    return VERSIONS[version][0](*args, **attributes, seq_len_max=len(args[0]))


FORWARD = ("cell", *VERSIONS)


@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("off", [0.0, -0.0, -1.0, -np.inf, np.inf])
def test_a_clip_that_is_not_positive_or_infinite_clips_nothing(
    rng: np.random.Generator, version: str, off: float
) -> None:
    args = inputs(rng, (T, B))
    args[1] *= 100
    attributes = {"forget_bias": 3.0, "use_peephole": True}
    want = run(version, args, **attributes, cell_clip=1e30)
    assert np.abs(want[1]).max() > 50
    assert_all_close(OUTPUTS, run(version, args, **attributes, cell_clip=off), want)


@pytest.mark.parametrize("version", FORWARD)
def test_the_output_cs_is_the_clipped_one_on_both_sides(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B))
    args[1] *= 10
    _, cs, _, _, _, co, _ = run(version, args, forget_bias=3.0, cell_clip=0.5, use_peephole=False)
    assert (cs.min(), cs.max()) == (-0.5, 0.5)
    np.testing.assert_allclose(co, np.tanh(cs), rtol=1e-15)


@pytest.mark.parametrize("version", FORWARD)
def test_nan_passes_the_clip(rng: np.random.Generator, version: str) -> None:
    args = inputs(rng, (T, B))
    args[1][1, 2] = np.nan
    _, cs, *_ = run(version, args, forget_bias=1.0, cell_clip=0.1, use_peephole=False)
    first = cs if version == "cell" else cs[0]
    assert np.isnan(first[1, 2])
    assert np.isnan(first).sum() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("sign", [-1, 1])
def test_saturated_gates_are_exactly_zero_or_one(version: str, dtype: str, sign: int) -> None:
    x = np.full((T, B, I), 1.0, dtype)
    w = np.full((I + H, 4 * H), sign * 1e4, dtype)
    args = [x, *np.zeros((2, B, H), dtype), w, *np.zeros((3, H), dtype), np.zeros(4 * H, dtype)]
    with np.errstate(all="raise"):
        i, cs, f, o, ci, co, h = run(version, args, forget_bias=1.0, cell_clip=-1.0, use_peephole=True)
    for gate in (i, f, o):
        assert (gate == (sign > 0)).all()
    assert (ci == sign).all()
