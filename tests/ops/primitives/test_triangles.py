"""tril and triu: against NumPy and torch."""

from __future__ import annotations

import numpy as np

import minirnn as mr
from tests.compare import assert_agrees_with_torch, assert_same
from tests.each import each


@each("name", ["tril", "triu"])
@each("diagonal", [-9, -2, -1, 0, 1, 3, 9])
def test_values_and_gradients_are_torchs(device: str, rng: np.random.Generator, name: str, diagonal: int) -> None:
    for shape in ((3, 3), (2, 3, 5), (4, 2), (0, 3), (2, 3, 0)):
        a = rng.standard_normal(shape)
        assert_same(getattr(mr, name)(mr.tensor(a, device=device), diagonal).numpy(), getattr(np, name)(a, diagonal))
        assert_agrees_with_torch(
            lambda t: getattr(t, name)(diagonal), lambda t: getattr(t, name)(diagonal), [a], rng, device
        )


def test_dtypes_stay(device: str) -> None:
    for dtype in ("float16", "int64", "bool"):
        a = np.ones((3, 3)).astype(dtype)
        assert_same(mr.ones(3, 3, dtype=dtype, device=device).tril().numpy(), np.tril(a))


def test_first_and_second_derivatives_are_those_of_differences(rng: np.random.Generator) -> None:
    assert mr.gradcheck(lambda t: (t * t).tril(-1) + (t * t).triu(1), [rng.standard_normal((2, 3, 4))], order=2)
