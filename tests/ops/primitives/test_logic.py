"""& | ^ ~, logical_and and relatives, masked_fill: against NumPy and torch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_same
from tests.each import each

OPERATORS = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
SHAPES = [((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((3,), ()), ((), ()), ((0, 3), (3,)), ((2, 0), (1, 1))]


def values(rng: np.random.Generator, shape: Any, dtype: str) -> np.ndarray:
    return rng.integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype)


@each("name", OPERATORS)
@each("dtypes", [("bool", "bool"), ("int64", "int64"), ("uint8", "bool"), ("int32", "int64")], ids=str)
def test_bits_are_numpys_in_torchs_dtype(device: str, rng: np.random.Generator, name: str, dtypes: Any) -> None:
    for shapes in SHAPES:
        a, b = (values(rng, s, d) for s, d in zip(shapes, dtypes, strict=True))
        t, u = mr.tensor(a, device=device), mr.tensor(b, device=device)
        for got in (OPERATORS[name](t, u), getattr(t, name)(u), getattr(ops, name)(t, u)):
            assert got.device == device
            of = [x.dtype for x in (a, b) if x.ndim] or [a.dtype, b.dtype]  # an integer without axes widens none
            dtype = np.result_type(*of) if "bool" not in dtypes else np.result_type(a, b)
            assert_same(got.numpy(), OPERATORS[name](a.astype(dtype), b.astype(dtype)))


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_and_arrays_stand_on_either_side(device: str, name: str) -> None:
    f = OPERATORS[name]
    a, m = np.array([1, 2, 5]), np.array([True, False, True])
    t, u = mr.tensor(a, device=device), mr.tensor(m, device=device)
    for got, expected in ((f(t, 3), f(a, 3)), (f(3, t), f(3, a)), (f(t, True), f(a, True)), (f(u, False), f(m, False))):
        assert_same(got.numpy(), expected)
    assert_same(f(m, u).numpy(), f(m, m))
    assert_same(f(u, np.bool_(True)).numpy(), f(m, True))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8"])
def test_not_is_numpys(device: str, rng: np.random.Generator, dtype: str) -> None:
    for shape in ((), (2, 3), (0, 2)):
        a = values(rng, shape, dtype)
        assert_same((~mr.tensor(a, device=device)).numpy(), ~a)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions_ask_whether_numbers_differ_from_0(device: str, name: str) -> None:
    sides = [np.float32([0, 0, 2.5, np.nan]), np.array([0, 3, 0, 1]), np.array([True, False, True, False])]
    for a in sides:
        for b in sides:
            got = getattr(mr.tensor(a, device=device), name)(mr.tensor(b, device=device))
            assert_same(got.numpy(), getattr(np, name)(a, b))
        assert_same(getattr(ops, name)(mr.tensor(a, device=device), 1.0).numpy(), getattr(np, name)(a, 1.0))
        assert_same(mr.tensor(a, device=device).logical_not().numpy(), np.logical_not(a))


def test_a_mask_of_two_conditions_chooses() -> None:
    x = mr.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
    y = mr.where((x > -1) & ~(x >= 1) | (x == 2), x, 0.0)
    assert y.tolist() == [0, -0.5, 0.5, 2]
    assert mr.grad(y.sum(), x).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0, 3), (3,)), ((), ())], ids=str
)
def test_masked_fill_is_torchs(device: str, rng: np.random.Generator, shapes: Any) -> None:
    torch = pytest.importorskip("torch")
    mask = rng.random(shapes[1]) < 0.5
    x = rng.standard_normal(shapes[0])

    def ours(t: Any, v: Any) -> Any:
        return [t.masked_fill(mr.tensor(mask, device=device), v), ops.masked_fill(t, mask, -1e9)]

    def theirs(t: Any, v: Any) -> Any:
        return [t.masked_fill(torch.tensor(mask), v), t.masked_fill(torch.tensor(mask), -1e9)]

    assert_agrees_with_torch(ours, theirs, [x, np.array(0.7)], rng, device)


def test_masked_fill_has_the_derivatives_of_differences_and_keeps_the_dtype(rng: np.random.Generator) -> None:
    mask = rng.random((2, 3)) < 0.5
    inputs = [rng.standard_normal((2, 3)), np.array(0.7)]
    assert mr.gradcheck(lambda t, v: (t * t).masked_fill(mask, v * v), inputs, order=2)
    for dtype, value in (("float16", -1e4), ("float32", float("-inf")), ("int64", 1.5), ("bool", True)):
        a = np.zeros(3).astype(dtype)
        expected = np.array([0, value, 0]).astype(dtype)
        assert_same(mr.tensor(a).masked_fill([False, True, False], value), expected)
