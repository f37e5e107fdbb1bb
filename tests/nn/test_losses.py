"""CrossEntropyLoss and MSELoss, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn import functional


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_equals_torch_with_classes_on_the_last_axis(
    reduction: str, device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    T, B, V = 4, 3, 7
    scores, target = rng.normal(size=(T, B, V)), rng.integers(V, size=(T, B))
    theirs = torch.tensor(scores, requires_grad=True)
    expected = torch.nn.CrossEntropyLoss(reduction=reduction)(theirs.movedim(-1, 1), torch.tensor(target))
    dy = rng.normal(size=tuple(expected.shape))
    expected.backward(torch.tensor(dy))
    t = mr.tensor(scores, requires_grad=True, device=device)
    loss = nn.CrossEntropyLoss(reduction)(t, target)
    np.testing.assert_allclose(loss, expected.detach(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(mr.grad(loss, t, dy), theirs.grad, rtol=0, atol=1e-13)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse_equals_torch_in_value_and_both_gradients(reduction: str, device: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    data = [rng.normal(size=(4, 3)), rng.normal(size=(4, 3))]
    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    expected = torch.nn.MSELoss(reduction=reduction)(*theirs)
    dy = rng.normal(size=tuple(expected.shape))
    expected.backward(torch.tensor(dy))
    ours = [mr.tensor(a, requires_grad=True, device=device) for a in data]
    loss = nn.MSELoss(reduction)(*ours)
    np.testing.assert_allclose(loss, expected.detach(), rtol=0, atol=1e-14)
    for g, t in zip(mr.grad(loss, ours, dy), theirs, strict=True):
        np.testing.assert_allclose(g, t.grad, rtol=0, atol=1e-14)


def test_mse_does_not_broadcast() -> None:
    with pytest.raises(
        ValueError, match=r"x has shape \(4, 1\), target \(4,\)\n  expected one shape.*\n  likely an axis"
    ):
        functional.mse_loss(np.zeros((4, 1)), np.zeros(4))


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss, nn.MSELoss])
def test_an_unknown_reduction_is_rejected_when_the_loss_is_made(loss: Any) -> None:
    with pytest.raises(ValueError, match=f"{loss.__name__}: reduction is 'average'"):
        loss("average")
    assert repr(loss("sum")) == f"{loss.__name__}(reduction='sum')"
