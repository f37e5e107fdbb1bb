"""Elementwise primitives of many numbers: the numbers of the plain formula, in fewer passes or without a branch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cpu import elementwise

MANY = elementwise.MANY + 77
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-4, 60000.0, -60000.0]


def numbers(rng: np.random.Generator, dtype: Any, n: int = MANY) -> np.ndarray:
    return np.concatenate([8 * rng.standard_normal(n), SPECIAL]).astype(dtype)


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float32, 3.5), (np.float64, 4.5)])
def test_erf_is_right_to_a_few_units_in_the_last_place(dtype: Any, ulps: float, rng: np.random.Generator) -> None:
    x = np.concatenate([rng.uniform(-7, 7, 100_000), 10.0 ** rng.uniform(-30, 0, 20_000)]).astype(dtype)
    exact = np.array([math.erf(v) for v in x.tolist()])
    error = np.abs(elementwise.erf(x) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= ulps and error.mean() < 1


def test_erf_at_the_ends_of_the_numbers() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        found = elementwise.erf(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 60000, -60000], dtype))
        np.testing.assert_array_equal(found, np.array([0, 0, 1, -1, np.nan, 1, -1], dtype))
        assert found.dtype == dtype and np.signbit(found[1])
        assert type(elementwise.erf(dtype(0.5))) is dtype


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-7), (np.float64, 3e-16)])
def test_the_normal_distribution_has_no_cancellation(dtype: Any, tolerance: float, rng: np.random.Generator) -> None:
    x = np.linspace(-12, 12, 3001).astype(dtype)
    exact = np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x.tolist()])
    found = elementwise.normal_cdf(x)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance)
    tail = (x > -5) & (x < 0)
    np.testing.assert_allclose(found[tail], exact[tail], rtol=5e-3)
    assert (np.diff(found[x < 0]) >= 0).all() and elementwise.normal_cdf(dtype(-3)) == pytest.approx(1.3498980e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sigmoid_and_relu_are_the_plain_formulas(dtype: Any, rng: np.random.Generator) -> None:
    x = numbers(rng, dtype)
    with np.errstate(over="ignore"):
        e = np.exp(-np.abs(x))
        plain = np.where(x >= 0, 1 / (1 + e), e / (1 + e))
    for found, expected in (
        (elementwise.sigmoid(x), plain),
        (np.array([elementwise.sigmoid(v) for v in x[-20:]]), plain[-20:]),
        (elementwise.relu(x), np.maximum(x, 0)),
        (elementwise.relu(x[:9]), np.maximum(x[:9], 0)),
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_where_chooses_every_bit(dtype: Any, rng: np.random.Generator) -> None:
    a = numbers(rng, np.float64)
    a = (np.nan_to_num(a, posinf=7, neginf=-7) if dtype == np.int64 else a).astype(dtype)
    b = a[::-1]
    condition = rng.random(a.shape) < 0.5
    for first, second in (
        (a, b),
        (a, dtype(2)),
        (dtype(3), b),
        (dtype(1), dtype(2)),
        (a, 0.5 if a.dtype.kind == "f" else 1),
    ):
        found, expected = elementwise.where(condition, first, second), np.where(condition, first, second)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    rows = rng.random((3, MANY)) < 0.5
    found = elementwise.where(rows, a[:MANY], np.arange(3.0)[:, None].astype(dtype))
    np.testing.assert_array_equal(found, np.where(rows, a[:MANY], np.arange(3.0)[:, None].astype(dtype)))
