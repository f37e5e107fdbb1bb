"""+ - * / ** and comparisons: values and gradients against torch, broadcasting, limits of the power, messages."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_close, assert_same
from tests.each import each

BINARY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}
COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
# Every operand in turn is the smaller one, has fewer axes, has axes of size 1 in front, inside and at the end.
SHAPES = [
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (4,)),
    ((3, 1), (2, 3, 4)),
    ((2, 1, 4), (3, 1)),
    ((1, 3, 1), (2, 1, 4)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((1,), (1, 1)),
    ((0,), (1,)),
    ((2, 0, 3), (1, 3)),
]


def away_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    x = rng.standard_normal(shape)
    return np.where(x < 0, x - 0.5, x + 0.5)


@each("shapes", SHAPES, ids=str)
@each("name", BINARY)
def test_values_and_gradients_are_torchs_for_every_broadcast(
    device: str, rng: np.random.Generator, name: str, shapes: Any
) -> None:
    for dtype in (np.float64, np.float32) if device == "cpu" else (np.float64,):
        inputs = [away_from_zero(rng, s).astype(dtype) for s in shapes]
        assert_agrees_with_torch(BINARY[name], BINARY[name], inputs, rng, device)


@each("shapes", SHAPES[:6], ids=str)
@each("name", BINARY)
def test_first_and_second_derivatives_are_those_of_differences(
    rng: np.random.Generator, name: str, shapes: Any
) -> None:
    assert mr.gradcheck(BINARY[name], [away_from_zero(rng, s) for s in shapes], order=2)


@each("shapes", SHAPES, ids=str)
def test_a_power_has_torchs_values_and_gradients_for_every_broadcast(
    device: str, rng: np.random.Generator, shapes: Any
) -> None:
    a, b = np.abs(away_from_zero(rng, shapes[0])), rng.standard_normal(shapes[1])
    assert_agrees_with_torch(operator.pow, operator.pow, [a, b], rng, device)


def test_a_power_has_the_second_derivatives_of_differences(rng: np.random.Generator) -> None:
    a, b = np.abs(away_from_zero(rng, (3, 1))), rng.standard_normal((2, 1, 4))
    assert mr.gradcheck(operator.pow, [a, b], order=2)


@pytest.mark.parametrize("p", [3, 2, 1, 0, -1, -2, 0.5, -1.5, 2.5])
def test_a_constant_power_has_torchs_gradient_and_the_second_derivative_of_differences(
    rng: np.random.Generator, p: float
) -> None:
    a = np.abs(away_from_zero(rng, (2, 3)))
    assert_agrees_with_torch(lambda t: t**p, lambda t: t**p, [a], rng)
    assert mr.gradcheck(lambda t: t**p, [a], order=2)


@pytest.mark.parametrize("p", [2, 3, -1, -2])
def test_a_negative_base_may_have_an_integer_exponent(rng: np.random.Generator, p: int) -> None:
    a = -np.abs(away_from_zero(rng, (2, 3)))
    assert_agrees_with_torch(lambda t: t**p, lambda t: t**p, [a], rng)
    exponent = np.full((2, 3), float(p))
    assert_agrees_with_torch(
        lambda t: t ** mr.tensor(exponent), lambda t: t ** t.new_tensor(exponent.tolist()), [a], rng
    )


@pytest.mark.parametrize("p", [0, 0.0])
def test_zero_to_the_power_zero_is_one_with_gradient_zero(p: float) -> None:
    a = mr.tensor([0.0, 2.0], requires_grad=True)
    y = a**p
    assert_same(y, np.float32([1, 1]))
    assert_same(mr.grad(y.sum(), a), np.float32([0, 0]))


def test_the_gradients_of_a_power_have_their_limits_at_zero() -> None:
    a = mr.tensor([0.0, 0.0, 0.0, 0.0, 3.0], requires_grad=True, dtype=np.float64)
    b = mr.tensor([0.0, 1.0, 2.0, 3.5, 0.0], requires_grad=True, dtype=np.float64)
    y = a**b
    assert_same(y, np.array([1.0, 0.0, 0.0, 0.0, 1.0]))
    da, db = mr.grad(y.sum(), [a, b])
    assert_same(da, np.array([0.0, 1.0, 0.0, 0.0, 0.0]))
    assert_close(db, [0.0, 0.0, 0.0, 0.0, np.log(3.0)])


def test_the_mixed_second_derivative_of_a_power_is_right_at_exponent_zero() -> None:
    a = mr.tensor(3.0, requires_grad=True, dtype=np.float64)
    b = mr.tensor(0.0, requires_grad=True, dtype=np.float64)
    (da,) = mr.grad(a**b, [a], create_graph=True)
    assert_close(mr.grad(da, b), 1 / 3)  # d/db of b * a^(b-1) at b = 0


def test_squares_at_zero_have_second_derivative_two() -> None:
    a = mr.tensor([0.0, 1.0], requires_grad=True)
    da = mr.grad((a**2).sum(), a, create_graph=True)
    assert_same(mr.grad(da.sum(), a), np.float32([2, 2]))


def test_a_numpy_exponent_keeps_the_dtype_of_the_base() -> None:
    a = mr.tensor([2.0, 3.0], requires_grad=True)
    y = a ** np.float64(2.0)
    assert y.dtype == np.float32
    assert_same(mr.grad(y.sum(), a), np.float32([4, 6]))


@each("shapes", SHAPES[:8], ids=str)
@each("name", COMPARISONS)
def test_comparisons_are_numpys_and_carry_no_gradient(
    device: str, rng: np.random.Generator, name: str, shapes: Any
) -> None:
    a, b = (rng.integers(-2, 3, s).astype(np.float64) for s in shapes)
    y = getattr(ops, name)(mr.tensor(a, requires_grad=True, device=device), mr.tensor(b, device=device))
    assert_same(y, COMPARISONS[name](a, b))
    assert not y.requires_grad
    assert_same(COMPARISONS[name](mr.tensor(a), mr.tensor(b)), COMPARISONS[name](a, b))


def test_comparisons_with_nan_are_false_except_not_equal() -> None:
    t = mr.tensor([np.nan, 1.0])
    assert (t == t).tolist() == [False, True]
    assert (t != t).tolist() == [True, False]
    assert (t <= np.nan).tolist() == [False, False]


def test_negative_is_torchs(device: str, rng: np.random.Generator) -> None:
    for shape in ((2, 3), (), (0,)):
        assert_agrees_with_torch(operator.neg, operator.neg, [rng.standard_normal(shape)], rng, device)


def test_the_same_tensor_on_both_sides_gets_both_gradients() -> None:
    a = mr.tensor(3.0, requires_grad=True)
    for f, expected in ((lambda: a * a, 6.0), (lambda: a + a, 2.0), (lambda: a - a, 0.0), (lambda: a / a, 0.0)):
        assert mr.grad(f(), a).item() == expected


def test_an_integer_to_a_negative_power_is_an_error_on_every_device(device: str) -> None:
    two = mr.tensor([2, 3], device=device)
    with pytest.raises(ValueError, match=r"power: dtype int64 to the power -2\n  expected floats"):
        two ** mr.tensor([1, -2], device=device)
    assert_same(two ** mr.tensor([0, 3], device=device), np.array([1, 27]))
    assert_same(two ** mr.tensor(np.array([], np.int64).reshape(0, 1), device=device), np.zeros((0, 2), np.int64))
    assert_same(two ** mr.tensor([-1.0, 2.0], device=device), np.float32([0.5, 9.0]))


def test_integers_divide_to_floats_of_the_default_dtype(device: str) -> None:
    whole, half = mr.tensor([1, 2], device=device), np.float32([0.5, 0.5])
    assert_same(whole / mr.tensor([2, 4], device=device), half)
    assert_same(whole / 2 * mr.tensor([1, 1], device=device), np.float32([0.5, 1]))
    assert_same(mr.vmap(lambda a, b: a / b)(whole, whole), np.float32([1, 1]))
    mr.set_default_dtype(np.float64)
    try:
        assert (whole / whole).dtype == (whole * 0.5).dtype == np.float64
    finally:
        mr.set_default_dtype(np.float32)


@pytest.mark.parametrize("f", [lambda a: 0.0 * a, lambda a: a * 0.0, lambda a: 0.0 - a], ids=["0*a", "a*0", "0-a"])
def test_zero_keeps_its_sign(f: Callable[[Any], Any]) -> None:
    a = np.array([-1.0, 1.0, -0.0, 0.0], np.float32)
    assert np.signbit(f(mr.tensor(a)).numpy()).tolist() == np.signbit(f(a)).tolist()
