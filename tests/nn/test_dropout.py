"""Dropout: its share, its scale, its gradient, and that it draws the same in every dtype."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.nn.gradients import gradients


@pytest.mark.parametrize("p", [0.25, 0.7])
def test_dropout_zeros_a_share_p_and_scales_the_rest(p: float, device: str) -> None:
    mr.manual_seed(3)
    y = nn.Dropout(p)(mr.tensor(np.ones((200, 300)), device=device)).numpy()
    kept = y != 0
    np.testing.assert_array_equal(y[kept], 1 / (1 - p))
    # Binomial: five standard deviations of the share of 60000 draws.
    assert abs(1 - kept.mean() - p) < 5 * np.sqrt(p * (1 - p) / y.size)


def test_dropout_gives_gradients_the_same_mask(device: str, rng: np.random.Generator) -> None:
    x = mr.tensor(rng.normal(size=(4, 5)), requires_grad=True, device=device)
    y = nn.Dropout(0.5)(x)
    dy = rng.normal(size=(4, 5))
    np.testing.assert_array_equal(gradients(y, dy, [x])[0], np.where(y.numpy() != 0, 2 * dy, 0))


def test_dropout_in_evaluation_or_with_p_0_changes_nothing_and_draws_nothing() -> None:
    x = mr.tensor(np.ones((4, 5)))
    before = mr.random.generator().bit_generator.state["state"]["counter"].copy()
    assert nn.Dropout(0.5).eval()(x) is x
    assert nn.Dropout(0.0)(x) is x
    np.testing.assert_array_equal(mr.random.generator().bit_generator.state["state"]["counter"], before)


def test_dropout_with_p_1_leaves_zeros_and_no_nan() -> None:
    np.testing.assert_array_equal(nn.Dropout(1.0)(np.ones((4, 5))), np.zeros((4, 5)))


def test_one_seed_drops_the_same_elements_in_every_dtype() -> None:
    masks = []
    for dtype in (np.float16, np.float32, np.float64):
        mr.manual_seed(5)
        y = nn.Dropout(0.5)(np.ones((6, 7), dtype))
        assert y.dtype == dtype
        masks.append(y.numpy() != 0)
    np.testing.assert_array_equal(masks[0], masks[1])
    np.testing.assert_array_equal(masks[1], masks[2])
