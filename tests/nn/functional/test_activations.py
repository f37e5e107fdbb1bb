"""Activations: derivatives of both orders, extremes, kinks, float16; the values are in `test_stored`."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close
from tests.each import each

BENT: list[Any] = [lambda x: F.elu(x, 1.3), lambda x: F.leaky_relu(x, 0.2), lambda x: F.hardtanh(x, -0.7, 1.1)]


@pytest.mark.parametrize("function", BENT, ids=["elu", "leaky_relu", "hardtanh"])
def test_derivatives_away_from_kinks_agree_with_differences(function: Any) -> None:
    x = np.array([[-1.9, -0.31, 0.23, 2.1], [0.9, -4.2, 3.3, -0.6], [0.05, 1.4, -0.05, -2.2]])
    assert mr.gradcheck(function, [x], order=2)


def test_softplus_has_no_kink_at_0_and_is_exact_where_it_is_small(device: str) -> None:
    x = mr.tensor([0.0, -1000.0, 1000.0, -30.0], dtype=np.float64, requires_grad=True, device=device)
    y = F.softplus(x)
    np.testing.assert_allclose(y.numpy(), [np.log(2), 0, 1000, np.exp(-30)], rtol=1e-12)
    assert_close(mr.grad(y, x, np.ones(4)), [0.5, 0, 1, np.exp(-30)])
    np.testing.assert_allclose(F.logsigmoid(mr.tensor([30.0], dtype=np.float64)).numpy(), -np.exp([-30.0]), rtol=1e-12)


def test_beyond_the_threshold_softplus_is_the_line(device: str) -> None:
    x = mr.tensor([0.5, 0.4], dtype=np.float64, requires_grad=True, device=device)
    y = F.softplus(x, beta=2.0, threshold=0.9)
    assert y.tolist()[0] == 0.5
    assert y.tolist()[1] > 0.5
    assert mr.grad(y, x, np.ones(2)).tolist()[0] == 1
    np.testing.assert_allclose(F.softplus(np.float32([0.5]), beta=2.0), np.log1p(np.e) / 2, rtol=1e-6)


KINKS: list[Any] = [
    (F.relu, 0.0, 0.0),
    (F.relu6, 0.0, 0.0),
    (F.relu6, 6.0, 0.0),
    (F.hardtanh, -1.0, 0.0),
    (F.hardtanh, 1.0, 0.0),
    (lambda x: F.leaky_relu(x, 0.3), 0.0, 0.3),
    (lambda x: F.elu(x, 1.7), 0.0, 1.7),
]


@pytest.mark.parametrize(("function", "at", "derivative"), KINKS, ids=range(len(KINKS)))
def test_derivatives_at_kinks_are_torchs(function: Any, at: float, derivative: float) -> None:
    x = mr.tensor(at, dtype=np.float64, requires_grad=True)
    assert mr.grad(function(x), x).item() == derivative


@each("dtype", [np.float16, np.float32])
@each("name", ["silu", "gelu", "softplus", "logsigmoid", "elu", "softmax", "log_softmax", "softmin"])
def test_results_are_rounded_once(name: str, dtype: Any, device: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(3, 500)) * 2).astype(dtype)
    said = dict(dim=1) if "soft" in name and name != "softplus" else {}
    y = getattr(F, name)(mr.tensor(x, device=device), **said)
    exact = getattr(F, name)(x.astype(np.float64), **said).numpy()
    assert y.dtype == dtype
    # one rounding is half a spacing; float32 has a few more inside
    np.testing.assert_allclose(y.numpy(), exact, rtol=0.5 * 2.0**-10 * 1.01 if dtype == np.float16 else 2e-6, atol=1e-7)


def test_nothing_overflows_where_it_is_not_used() -> None:
    x = np.array([-1e4, 1e4])
    assert F.elu(x).tolist() == [-1, 1e4]
    assert F.silu(x).tolist() == [0, 1e4]
    assert np.isnan(F.hardtanh(np.array(np.nan)).item())


def test_bounds_may_be_equal_or_infinite() -> None:
    x = np.array([-1e30, 0.5, 3.0])
    assert F.hardtanh(x, 1, 1).tolist() == [1, 1, 1]
    assert F.hardtanh(x, -np.inf, np.inf).tolist() == x.tolist()


def test_softmax_in_another_dtype() -> None:
    y = F.softmax(mr.tensor([1, 2]), dim=0, dtype=np.float64)
    assert y.dtype == np.float64
    assert_close(y, np.exp([1, 2]) / np.exp([1, 2]).sum())


def test_at_the_threshold_softplus_still_bends() -> None:
    assert_close(F.softplus(np.array(1.0), threshold=1.0), np.log1p(np.e))
