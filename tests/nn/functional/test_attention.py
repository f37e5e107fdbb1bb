"""scaled_dot_product_attention: masks, queries that see nothing, dropout."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close


def test_dropout_drops_weights_whatever_the_mode(device: str) -> None:
    mr.manual_seed(1)
    q, k, v = np.zeros((1, 2)), np.zeros((1000, 2)), np.eye(1000)
    y = F.scaled_dot_product_attention(*(mr.tensor(t, device=device) for t in (q, k, v)), dropout_p=0.25).numpy()
    assert set(np.round(np.unique(y) * 1000 * 0.75, 9)) == {0, 1}
    assert abs((y == 0).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 1000)  # five standard deviations of 1000 draws


def test_float16_is_computed_in_float32(rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(2, 300)).astype(np.float16) * 20 for _ in range(3))  # scores beyond float16
    y = F.scaled_dot_product_attention(q, k, v)
    assert y.dtype == np.float16
    exact = F.scaled_dot_product_attention(*(t.astype(np.float64) for t in (q, k, v)))
    np.testing.assert_allclose(y.numpy(), exact.numpy(), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("mask", [None, np.zeros((3, 0), bool), np.zeros((3, 0))])
def test_without_keys_there_are_zeros(mask: np.ndarray | None, device: str) -> None:
    q, k, v = (mr.tensor(np.ones(shape), device=device) for shape in ((3, 4), (0, 4), (0, 5)))
    assert_close(F.scaled_dot_product_attention(q, k, v, mask), np.zeros((3, 5)))
    assert F.scaled_dot_product_attention(k, q, q, None if mask is None else mask.T).shape == (0, 4)


def test_vectors_without_elements_are_all_alike() -> None:
    y = F.scaled_dot_product_attention(np.ones((3, 0)), np.ones((2, 0)), np.array([[1.0], [2.0]]))
    assert_close(y, np.full((3, 1), 1.5))
