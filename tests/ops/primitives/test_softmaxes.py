"""softmax, log_softmax: against torch and differences, at extreme scores, messages."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch
from tests.each import each


@each("axis", [0, 1, -1, -3])
@each("name", ["softmax", "log_softmax"])
def test_values_and_gradients_are_torchs(device: str, rng: np.random.Generator, name: str, axis: int) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (np.float64, np.float32):
        x = rng.standard_normal((2, 3, 4)).astype(dtype)
        assert_agrees_with_torch(
            lambda t: getattr(ops, name)(t, axis), lambda t: getattr(torch, name)(t, axis), [x], rng, device
        )
    if device == "cpu":
        assert mr.gradcheck(lambda t: getattr(ops, name)(t, axis), [rng.standard_normal((2, 3, 4))], order=2)


def test_extreme_scores_neither_overflow_nor_lose_small_probabilities(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [0.0, -np.inf, 1.0], [800.0, 800.0, 799.0]])
    for name in ("softmax", "log_softmax"):
        assert_agrees_with_torch(getattr(ops, name), lambda t, n=name: getattr(torch, n)(t, -1), [x], rng)
    y = ops.log_softmax(np.float32([-1e4, 0.0]))
    assert y.tolist() == [-1e4, 0]
