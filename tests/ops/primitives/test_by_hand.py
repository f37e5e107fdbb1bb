"""What the table of ops (`tests/ops/table.py`) cannot say of primitive ops: histories, side effects, many numbers.

Tests `minirnn/ops/primitives/`.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_close, assert_same


def test_the_mixed_second_derivative_of_a_power_is_right_at_exponent_zero() -> None:
    a = mr.tensor(3.0, requires_grad=True, dtype=np.float64)
    b = mr.tensor(0.0, requires_grad=True, dtype=np.float64)
    (da,) = mr.grad(a**b, [a], create_graph=True)
    assert_close(mr.grad(da, b), 1 / 3)  # d/db of b * a^(b-1) at b = 0


def test_squares_at_zero_have_second_derivative_two() -> None:
    a = mr.tensor([0.0, 1.0], requires_grad=True)
    da = mr.grad((a**2).sum(), a, create_graph=True)
    assert_same(mr.grad(da.sum(), a), np.float32([2, 2]))


def test_the_same_tensor_on_both_sides_gets_both_gradients() -> None:
    a = mr.tensor(3.0, requires_grad=True)
    for f, expected in ((lambda: a * a, 6.0), (lambda: a + a, 2.0), (lambda: a - a, 0.0), (lambda: a / a, 0.0)):
        assert mr.grad(f(), a).item() == expected


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


def test_an_infinite_cotangent_stays_with_the_larger_operand() -> None:
    a, b = mr.tensor([1.0, 2.0], requires_grad=True), mr.tensor([2.0, 1.0], requires_grad=True)
    da, db = mr.grad(ops.maximum(a, b), [a, b], [np.float32([np.inf, np.inf])])
    assert (da.tolist(), db.tolist()) == ([0, np.inf], [np.inf, 0])


def test_a_straight_through_clip_passes_every_gradient() -> None:
    x = mr.tensor([-2.0, 0.1, 5.0], requires_grad=True)
    assert ops.clip(x) is x
    y = x.clip(-1.0, 1.0, straight_through=True)
    assert y.tolist() == [-1, pytest.approx(0.1), 1]
    assert mr.grad(y, x, np.float32([2, 3, 4])).tolist() == [2, 3, 4]


def test_where_does_not_see_a_condition_that_changes_later() -> None:
    condition, a = mr.tensor([True, False]), mr.tensor([1.0, 2.0], requires_grad=True)
    y = ops.where(condition, a, 0.0)
    condition.assign([False, True])
    assert mr.grad(y.sum(), a).tolist() == [1, 0]


def test_a_gradient_comes_back_through_astype_in_the_old_dtype() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    y = x.astype(np.float64)
    assert_same(mr.grad(y, x, np.array([3.0, 4.0])), np.float32([3, 4]))
    assert mr.gradcheck(lambda t: t.astype(np.float32).astype(np.float64) * 0.0 + t, [np.ones(2)])
    assert not x.astype(np.int64).requires_grad
    assert x.astype(np.float32) is x


@pytest.mark.parametrize("dtype", ["complex64", "object", "U3", ">f8", "longdouble"])
def test_astype_refuses_dtypes_that_tensors_do_not_have(dtype: str) -> None:
    with pytest.raises(TypeError, match=r"astype: got .*\n  expected float16/32/64, an integer type or bool"):
        mr.tensor([1.0]).astype(dtype)


def test_an_index_array_is_copied() -> None:
    t, index = mr.tensor([1.0, 2.0, 3.0], requires_grad=True), np.array([0, 0])
    y = t[index].sum()
    index[:] = 2
    assert mr.grad(y, t).tolist() == [2, 0, 0]


def test_scalars_have_only_empty_indices() -> None:
    t = mr.tensor(2.0, requires_grad=True)
    assert t[()].shape == () and t[...].shape == () and t[None].shape == (1,)
    assert mr.grad(t[None].sum() + t[...], t).item() == 2
    with pytest.raises(IndexError, match=r"indexing a Tensor of shape \(\): "):
        t[0]


OPERATORS = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_and_arrays_stand_on_either_side(device: str, name: str) -> None:
    f = OPERATORS[name]
    a, m = np.array([1, 2, 5]), np.array([True, False, True])
    t, u = mr.tensor(a, device=device), mr.tensor(m, device=device)
    for got, expected in ((f(t, 3), f(a, 3)), (f(3, t), f(3, a)), (f(t, True), f(a, True)), (f(u, False), f(m, False))):
        assert_same(got.numpy(), expected)
    assert_same(f(m, u).numpy(), f(m, m))
    assert_same(f(u, np.bool_(True)).numpy(), f(m, True))


def test_axis_is_numpys_word_and_dim_is_torchs() -> None:
    x = np.array([[1.0, 5, 5], [4, 2, 0]])
    t = mr.tensor(x, requires_grad=True)
    assert_same(t.max(axis=1), x.max(1))
    assert_same(t.min(axis=(0, 1), keepdims=True), x.min(keepdims=True))
    values, indices = t.max(dim=1)
    assert_same(values, x.max(1))
    assert_same(indices, np.array([1, 0]))
    assert t.min(1)._fields == ("values", "indices")
    assert_same(mr.grad(values.sum(), t), np.array([[0.0, 1, 0], [1, 0, 0]]))
    assert_same(mr.grad(t.max(axis=1).sum(), t), np.array([[0.0, 0.5, 0.5], [1, 0, 0]]))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda t: (t / 10).norm(), 30 * np.sqrt(50_000)),
        (lambda t: t.std(unbiased=False), 0.0),
        (lambda t: t.var(), 0.0),
        (lambda t: (t - t.detach() + 1e-3).cumsum(0)[-1], 50.0),
        (lambda t: (t / 300).prod(), 1.0),
    ],
    ids=["norm", "std", "var", "cumsum", "prod"],
)
def test_float16_is_computed_in_float32(device: str, f: Any, expected: float) -> None:
    y = f(mr.tensor(np.full(50_000, 300, np.float16), device=device))
    assert y.dtype == np.float16
    assert y.item() == pytest.approx(np.float16(expected), rel=2e-3)


def test_the_mean_of_float16_does_not_overflow_on_the_way() -> None:
    x = mr.tensor(np.full(5000, 100, np.float16), requires_grad=True)
    y = x.mean()
    assert_same(y, np.float16(100))
    assert_close(mr.grad(y, x, np.float16(4096)), np.full(5000, 4096 / 5000))
