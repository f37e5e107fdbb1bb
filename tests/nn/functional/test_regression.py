"""Losses of numbers: shapes, dtypes, nothing to average."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"])
def test_a_mean_of_nothing_is_nan_and_a_sum_zero(name: str) -> None:
    x = np.zeros((0, 3), np.float32)
    assert np.isnan(getattr(F, name)(x, x).item())
    assert getattr(F, name)(x, x, reduction="sum").item() == 0


def test_integers_take_the_dtype_of_the_other() -> None:
    loss = F.mse_loss(np.ones(3, np.float32), [1, 2, 3])
    assert loss.dtype == np.float32
    assert loss.item() == pytest.approx(5 / 3)
    assert F.l1_loss([1, 2, 3], mr.tensor(np.ones(3, np.float16))).dtype == np.float16


def test_float16_is_squared_and_summed_in_float32(device: str) -> None:
    x = mr.tensor(np.full(3000, 300, np.float16), requires_grad=True, device=device)
    loss = F.mse_loss(x / 1, np.full(3000, 100, np.float16))  # 40000 is within float16, the sum is not
    assert loss.dtype == np.float16
    assert loss.item() == 40000
    assert mr.grad(loss, x).dtype == np.float16


def test_a_weighted_mean_divides_by_the_weights_and_that_of_huber_by_the_number() -> None:
    x, y, w = np.array([3.0, 0.0]), np.zeros(2), np.array([1.0, 3.0])
    assert F.mse_loss(x, y, weight=w).item() == 9 / 4
    assert F.l1_loss(x, y, weight=w).item() == 3 / 4
    assert F.huber_loss(x, y, weight=w).item() == 2.5 / 2


def test_the_divergence_of_a_probability_0_is_finite_and_of_a_negative_one_nan() -> None:
    assert F.kl_div(np.log([0.5, 0.5, 0.5]), np.array([0.0, 0.5, -0.5]), reduction="none").tolist()[:2] == [0, 0]
    assert np.isnan(F.kl_div(np.log([0.5]), np.array([-0.5])).item())
    p = mr.tensor([np.nan, 0.5], dtype="float64", requires_grad=True)
    np.testing.assert_allclose(mr.grad(F.kl_div(np.log([0.5, 0.5]), p, reduction="sum"), p), [np.nan, 1.0])


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_array_takes_the_dtype_of_a_tensor_on_either_side(name: str, dtype: type) -> None:
    for other in (np.float64, np.float32, np.int64):
        t, a = mr.tensor(np.array([0.5, 1.5], dtype)), np.array([1, 2], other)
        assert getattr(F, name)(t, a).dtype == dtype
        assert getattr(F, name)(a, t).dtype == dtype
