"""// and %: against NumPy and torch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import minirnn as mr
from tests.compare import assert_agrees_with_torch, assert_same
from tests.each import each


@each("f", [operator.floordiv, operator.mod], ids=["floordiv", "mod"])
@each("dtypes", [("float32", "float32"), ("int64", "int64"), ("float64", "int64"), ("uint8", "uint8")])
def test_values_are_numpys(device: str, rng: np.random.Generator, f: Any, dtypes: Any) -> None:
    for shapes in (((2, 3), (3,)), ((), (2,)), ((0, 3), (3,)), ((2, 1), (1, 0))):
        a, b = (rng.integers(1, 9, s).astype(d) for s, d in zip(shapes, dtypes, strict=True))
        if dtypes[0] != "uint8":
            a = -a
        got = f(mr.tensor(a, device=device), mr.tensor(b, device=device))
        assert got.device == device
        kinds = {x.dtype.kind for x in (a, b)}
        of = [x.astype("float64") for x in (a, b)] if kinds == {"f", "i"} else (a, b)  # integers follow the floats
        assert_same(got.numpy(), f(*of))
    t, a = mr.tensor([-5, 7], device=device), np.array([-5, 7])
    for got, expected in ((f(t, 3), f(a, 3)), (f(20, t), f(20, a)), (f(t, -2.5), f(np.float32(a), -2.5))):
        assert_same(got.numpy(), expected)


def test_the_remainder_has_torchs_gradients_and_the_quotient_zeros(device: str, rng: np.random.Generator) -> None:
    a = rng.uniform(-5, 5, (2, 3))
    b = rng.uniform(0.5, 2, (3,)) * [1, -1, 1]
    assert_agrees_with_torch(lambda x, y: x % y, lambda x, y: x % y, [a, b], rng, device)
    assert_agrees_with_torch(
        lambda x: [x % 2.0, 7.0 % x], lambda x: [x % 2.0, 7.0 + 0 * x - x * (7.0 // x.detach())], [a], rng, device
    )
    x = mr.tensor(a, requires_grad=True)
    (x // mr.tensor(b)).backward(a)
    assert x.grad.shape == a.shape and not x.grad.numpy().any()


def test_the_remainder_has_the_derivatives_of_differences(rng: np.random.Generator) -> None:
    a, b = np.array([[5.3, -5.3, 0.4]]), np.array([2.0, 2.0, -3.0])
    assert mr.gradcheck(lambda x, y: (x * x) % (y * y + 1), [a, b], order=2)


def test_floats_divided_by_0_are_torchs() -> None:
    x = mr.tensor([5.0, -5.0, 0.0])
    assert str((x // 0).tolist()) == "[inf, -inf, nan]" and np.isnan((x % 0).numpy()).all()
