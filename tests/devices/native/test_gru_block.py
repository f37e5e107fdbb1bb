"""GRUBlockCell in C++ against NumPy's in float64, at sizes that leave a vector half empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cpu import gru_block


@pytest.mark.parametrize(
    "size", [(1, 1, 1), (3, 4, 7), (7, 20, 15), (2, 5, 17), (13, 9, 33), (40, 70, 130)], ids=lambda s: str(s)
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_and_its_gradient_equal_numpys(rng: Any, dtype: str, size: tuple[int, int, int]) -> None:
    device: Any = mr.devices.get("native")
    B, I, H = size
    shapes = [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)]
    scales = [1, 1, (I + H) ** -0.5, (I + H) ** -0.5, 0.5, 0.5]
    given = [(rng.standard_normal(s) * scale).astype(dtype) for s, scale in zip(shapes, scales, strict=True)]
    d_h = rng.standard_normal((B, H)).astype(dtype)
    values = device.gru_block_cell(*given)
    right = gru_block.gru_block_cell(*(a.astype("f8") for a in given))
    gradients = device.gru_block_cell_grad(*given, *values[:3], d_h)
    right += gru_block.gru_block_cell_grad(*(a.astype("f8") for a in [*given, *values[:3], d_h]))
    # Terms are of the size of 1 or h_prev, in gradients times d_h, and may cancel out; the roundings of sums of up to
    # I + 3H of them grow as its square root.
    rounding = np.finfo(dtype).eps * (4 + (I + 3 * H) ** 0.5)
    terms = [1.0] * len(values) + [np.abs(d_h).max() * max(1, np.abs(given[1]).max())] * len(gradients)
    for value, expected, term in zip((*values, *gradients), right, terms, strict=True):
        assert value.dtype == dtype
        assert np.abs(value - expected).max() <= rounding * max(term, np.abs(expected).max())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_stay_with_their_sample(rng: Any, value: float) -> None:
    device: Any = mr.devices.get("native")
    B, I, H = 7, 3, 17
    shapes = [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)]
    given = [rng.standard_normal(s).astype("f4") for s in shapes]
    right = device.gru_block_cell(*given)
    given[0][2, 1] = value
    with np.errstate(invalid="ignore"):
        numpys = gru_block.gru_block_cell(*given)
    others = np.arange(B) != 2
    for a, b, expected in zip(device.gru_block_cell(*given), right, numpys, strict=True):
        np.testing.assert_array_equal(a[others], b[others])
        np.testing.assert_allclose(a[2], expected[2], rtol=1e-5, atol=1e-6)
