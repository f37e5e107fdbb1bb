"""The kernels of cross_entropy in NumPy: layouts, types, and values beyond what exp can hold."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.losses import cross_entropy, cross_entropy_grad


def case(rng: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rng.standard_normal(shape), rng.integers(0, shape[-1], shape[:-1]), rng.standard_normal(shape[:-1])


def test_the_gradient_is_that_of_finite_differences(rng: np.random.Generator) -> None:
    x, target, dy = case(rng, 3, 2, 5)
    (dx,) = cross_entropy_grad(x, dy, target=target)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = 1e-6
        (above,), (below,) = (cross_entropy(x + sign * step, target=target) for sign in (1, -1))
        assert dx[k] == pytest.approx(((above - below) * dy).sum() / 2e-6, abs=1e-8)


def test_arguments_are_read_in_any_layout_and_stay_as_they_are(rng: np.random.Generator) -> None:
    x, target, dy = case(rng, 4, 6)
    turned = np.asfortranarray(x), np.repeat(dy, 2)[::2]
    before = [a.copy() for a in (*turned, target)]
    np.testing.assert_array_equal(cross_entropy(turned[0], target=target), cross_entropy(x, target=target))
    np.testing.assert_allclose(cross_entropy_grad(*turned, target=target), cross_entropy_grad(x, dy, target=target))
    for a, b in zip((*turned, target), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_scores_do_not_overflow(dtype: str) -> None:
    x = np.array([[6e4, 0.0, -6e4], [6e4, 6e4, 6e4]], dtype)
    with np.errstate(all="raise", under="ignore"):
        (y,) = cross_entropy(x, target=np.array([1, 2]))
        (dx,) = cross_entropy_grad(x, np.ones(2, dtype), target=np.array([1, 2]))
    assert y.dtype == dx.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y, np.array([6e4, np.log(3)], dtype), 1e-3)
    np.testing.assert_allclose(dx, [[1, -1, 0], [1 / 3, 1 / 3, -2 / 3]], 1e-3)
