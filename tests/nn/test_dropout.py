"""Dropout: its share, its scale, its gradient, and that it draws the same in every dtype."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


@pytest.mark.parametrize("p", [0.25, 0.7])
def test_dropout_zeros_a_share_p_and_scales_the_rest(p: float, device: str) -> None:
    mr.manual_seed(3)
    y = nn.Dropout(p)(mr.tensor(np.ones((200, 300)), device=device)).numpy()
    kept = y != 0
    np.testing.assert_array_equal(y[kept], 1 / (1 - p))
    assert nn.Dropout(p).eval()(x := mr.tensor([1.0])) is x
    # Binomial: five standard deviations of the share of 60000 draws.
    assert abs(1 - kept.mean() - p) < 5 * np.sqrt(p * (1 - p) / y.size)


def test_one_seed_drops_the_same_elements_in_every_dtype() -> None:
    masks = []
    for dtype in (np.float16, np.float32, np.float64):
        mr.manual_seed(5)
        y = nn.Dropout(0.5)(np.ones((6, 7), dtype))
        assert y.dtype == dtype
        masks.append(y.numpy() != 0)
    np.testing.assert_array_equal(masks[0], masks[1])
    np.testing.assert_array_equal(masks[1], masks[2])
