"""Gradient clipping, against torch."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from tests.optim.test_optim import SHAPES, parameters


@pytest.mark.parametrize("max_norm", [0.5, 1e6])
def test_clipping_equals_torch_without_its_1e_minus_6(max_norm: float, device: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    ps = parameters(rng, device)
    grads = [rng.normal(size=s) for s in SHAPES]
    theirs = [torch.tensor(p.numpy().copy(), requires_grad=True) for p in ps]
    for p, t, g in zip(ps, theirs, grads, strict=True):
        p.grad, t.grad = mr.tensor(g, device=device), torch.tensor(g)
    norm = optim.clip_grad_norm_(ps, max_norm)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm).item()
    assert norm == pytest.approx(expected, rel=1e-14)
    for p, t in zip(ps, theirs, strict=True):
        theirs_exact = t.grad * (
            (expected + 1e-6) / expected if expected > max_norm else 1
        )  # torch divides by norm + 1e-6
        np.testing.assert_allclose(p.grad, theirs_exact, rtol=1e-14)
    after = np.sqrt(sum((p.grad.numpy() ** 2).sum() for p in ps))
    assert after == pytest.approx(min(norm, max_norm), rel=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_norm_that_is_not_finite_is_returned_and_changes_no_gradient(bad: float, rng: np.random.Generator) -> None:
    ps = parameters(rng)
    for p in ps[1:]:
        p.grad = mr.tensor(np.ones(p.shape))
    ps[1].grad = mr.tensor(np.array([1.0, bad, 2.0, 3.0]))
    norm = optim.clip_grad_norm_(ps, 0.5)
    np.testing.assert_array_equal(norm, bad)
    assert ps[0].grad is None
    np.testing.assert_array_equal(ps[2].grad, 1.0)


def test_float16_gradients_are_measured_without_overflow() -> None:
    p = nn.Parameter(np.zeros(3, np.float16))
    p.grad = mr.tensor(np.array([300, 400, 0], np.float16))
    assert optim.clip_grad_norm_([p], 5.0) == 500
    np.testing.assert_allclose(p.grad, [3, 4, 0], rtol=2**-10)
    assert p.grad.dtype == np.float16


@pytest.mark.parametrize("max_norm", [0, -1.0, float("nan")])
def test_a_limit_that_is_not_above_zero_is_rejected(max_norm: float) -> None:
    with pytest.raises(ValueError, match="clip_grad_norm_: max_norm is"):
        optim.clip_grad_norm_([nn.Parameter([1.0])], max_norm)
