"""sum, mean, max, argmax along any axes: against torch and differences; ties, empty axes, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_close, assert_same
from tests.each import each

AXES = [None, 0, 1, -1, (0, 2), (-1, 0), (1,), (0, 1, 2), ()]


@each("keepdims", [False, True])
@each("axis", AXES, ids=str)
@each("name", ["sum", "mean", "max"])
def test_values_and_gradients_are_torchs(
    device: str, rng: np.random.Generator, name: str, axis: Any, keepdims: bool
) -> None:
    torch = pytest.importorskip("torch")
    every = (0, 1, 2) if axis is None else axis

    def theirs(t: Any) -> Any:
        if every == ():  # torch takes () for all axes, NumPy for none
            return t.clone()
        return (torch.amax if name == "max" else getattr(torch, name))(t, dim=every, keepdim=keepdims)

    for dtype in (np.float64, np.float32):
        x = rng.standard_normal((2, 3, 4)).astype(dtype)
        assert_agrees_with_torch(lambda t: getattr(t, name)(axis=axis, keepdims=keepdims), theirs, [x], rng, device)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_first_and_second_derivatives_are_those_of_differences(
    rng: np.random.Generator, name: str, axis: Any, keepdims: bool
) -> None:
    x = rng.standard_normal((2, 3, 4))
    assert mr.gradcheck(lambda t: getattr(ops, name)(t * t, axis, keepdims), [x], order=2)


def test_equal_maxima_share_the_gradient_in_equal_parts(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -0.0, -1.0]])
    assert_agrees_with_torch(lambda t: t.max(axis=1), lambda t: torch.amax(t, 1), [x], rng)
    assert_agrees_with_torch(lambda t: t.max(), lambda t: torch.amax(t), [x], rng)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_argmax_is_numpys_and_the_first_one_wins(rng: np.random.Generator, axis: int) -> None:
    x = rng.integers(0, 3, (2, 3, 4)).astype(float)
    y = mr.tensor(x, requires_grad=True).argmax(axis)
    assert_same(y, np.argmax(x, axis))
    assert not y.requires_grad


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"])
def test_a_sum_has_torchs_dtype(dtype: str) -> None:
    x = np.ones((2, 3), dtype)
    assert_same(mr.tensor(x).sum(axis=0), x.sum(axis=0, dtype=np.int64 if dtype == "uint8" else None))
    assert_same(mr.tensor(x).max(axis=0), x.max(axis=0))


def test_the_mean_of_integers_is_float32() -> None:
    assert_same(mr.tensor([1, 2]).mean(), np.float32(1.5))
    assert_same(mr.tensor([True, False, False, True]).mean(), np.float32(0.5))


def test_the_mean_of_float16_does_not_overflow_on_the_way() -> None:
    x = mr.tensor(np.full(5000, 100, np.float16), requires_grad=True)
    y = x.mean()
    assert_same(y, np.float16(100))
    assert_close(mr.grad(y, x, np.float16(4096)), np.full(5000, 4096 / 5000))


def test_sums_over_nothing_are_zero_and_maxima_over_nothing_an_error(rng: np.random.Generator) -> None:
    empty = mr.tensor(np.ones((2, 0)), requires_grad=True)
    assert_same(empty.sum(axis=1), np.zeros(2))
    assert mr.grad(empty.sum(), empty).shape == (2, 0)
    for name, message in (("max", "no element along"), ("argmax", "no element")):
        with pytest.raises(ValueError, match=rf"{name}: {message}.* \(2, 0\)"):
            getattr(empty, name)(axis=1)
    assert np.isnan(empty.mean(axis=1).numpy()).all()
