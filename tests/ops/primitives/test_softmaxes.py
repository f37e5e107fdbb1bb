"""softmax, log_softmax, cross_entropy: against torch and differences, at extreme scores, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_close


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_values_and_gradients_are_torchs(device: str, rng: np.random.Generator, name: str, axis: int) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (np.float64, np.float32):
        x = rng.standard_normal((2, 3, 4)).astype(dtype)
        assert_agrees_with_torch(
            lambda t: getattr(ops, name)(t, axis), lambda t: getattr(torch, name)(t, axis), [x], rng, device
        )
    assert mr.gradcheck(lambda t: getattr(ops, name)(t, axis), [rng.standard_normal((2, 3, 4))], order=2)


def test_extreme_scores_neither_overflow_nor_lose_small_probabilities(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [0.0, -np.inf, 1.0], [800.0, 800.0, 799.0]])
    for name in ("softmax", "log_softmax"):
        assert_agrees_with_torch(getattr(ops, name), lambda t, n=name: getattr(torch, n)(t, -1), [x], rng)
    y = ops.log_softmax(np.float32([-1e4, 0.0]))
    assert y.tolist() == [-1e4, 0]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_an_axis_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: axis 1 of an array with 1 axes\n  expected -1 .. 0"):
        getattr(ops, name)([1.0, 2.0], 1)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)], ids=str)
def test_cross_entropy_is_torchs(device: str, rng: np.random.Generator, shape: Any, reduction: str) -> None:
    torch = pytest.importorskip("torch")
    target = rng.integers(0, 5, shape[:-1])

    def theirs(t: Any) -> Any:
        loss = torch.nn.functional.cross_entropy(
            t.reshape(-1, 5), torch.tensor(target).reshape(-1), reduction=reduction
        )
        return loss.reshape(shape[:-1]) if reduction == "none" else loss

    for dtype in (np.float64, np.float32):
        x = rng.standard_normal(shape).astype(dtype)
        assert_agrees_with_torch(lambda t: ops.cross_entropy(t, target, reduction), theirs, [x], rng, device)
    assert mr.gradcheck(lambda t: ops.cross_entropy(t, target, reduction), [rng.standard_normal(shape)], order=2)


def test_cross_entropy_is_finite_for_scores_that_are_sure_and_wrong() -> None:
    x = mr.tensor([[1e4, 0.0], [0.0, -1e4]], requires_grad=True)
    loss = ops.cross_entropy(x, [1, 1], "none")
    assert loss.tolist() == [1e4, 1e4]
    assert_close(mr.grad(loss.sum(), x), [[1, -1], [1, -1]])


def test_cross_entropy_does_not_see_targets_that_change_later() -> None:
    x, target = mr.tensor(np.zeros((1, 2)), requires_grad=True), np.array([0])
    loss = ops.cross_entropy(x, target)
    target[0] = 1
    assert mr.grad(loss, x).tolist() == [[-0.5, 0.5]]


@pytest.mark.parametrize("make", [list, np.array, mr.tensor, lambda t: np.array(t, np.uint8)])
def test_targets_may_be_lists_arrays_and_tensors(make: Any) -> None:
    assert ops.cross_entropy(np.zeros((2, 4)), make([1, 3])).item() == pytest.approx(np.log(4))


ERRORS = {
    "shape": (
        (np.zeros((2, 3)), [0, 1, 2]),
        ValueError,
        r"target has shape \(3,\)\n  expected \(2,\), from scores \(2, 3\)",
    ),
    "range": ((np.zeros((2, 3)), [0, 3]), ValueError, "targets run from 0 to 3\n  expected 0 .. 2"),
    "negative": ((np.zeros((2, 3)), [-1, 0]), ValueError, "targets run from -1 to 0"),
    "dtype": ((np.zeros((2, 3)), [0.0, 1.0]), TypeError, "target has dtype float64\n  expected integers"),
    "reduction": (
        (np.zeros((2, 3)), [0, 1], "max"),
        ValueError,
        "reduction is 'max'\n  expected 'mean', 'sum' or 'none'",
    ),
    "scalar": ((np.float64(1.0), 0), ValueError, r"target has shape \(\)"),
    "no rows": ((np.zeros((0, 3)), np.zeros(0, int)), ValueError, "nothing to average"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_cross_entropy_says_what_came_and_what_was_expected(name: str) -> None:
    args, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        ops.cross_entropy(*args)
