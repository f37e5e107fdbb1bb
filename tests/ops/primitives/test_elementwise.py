"""exp, log, tanh, sigmoid, relu, clip, where and relatives: against torch and differences, saturated, at kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_close, assert_same
from tests.each import each

UNARY = ["exp", "log", "sqrt", "tanh", "sigmoid", "relu", "absolute"]
SHAPES = [(2, 3), (), (0,), (1, 4, 1)]


def inputs(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """In the domain and at least 0.1 away from kinks."""
    x = rng.standard_normal(shape)
    x = np.where(x < 0, x - 0.1, x + 0.1)
    return np.abs(x) if name in ("log", "sqrt") else x


@each("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@each("shape", SHAPES, ids=str)
@each("name", UNARY)
def test_values_and_gradients_are_torchs(
    device: str, rng: np.random.Generator, name: str, shape: Any, dtype: Any
) -> None:
    torch = pytest.importorskip("torch")
    x = inputs(name, rng, shape).astype(dtype)
    assert_agrees_with_torch(getattr(ops, name), getattr(torch, name), [x], rng, device)
    assert getattr(ops, name)(x).dtype == dtype


@pytest.mark.parametrize("name", UNARY)
def test_first_and_second_derivatives_are_those_of_differences(rng: np.random.Generator, name: str) -> None:
    for shape in ((2, 3), ()):
        assert mr.gradcheck(getattr(ops, name), [inputs(name, rng, shape)], order=2)


@pytest.mark.parametrize("name", UNARY)
def test_float16_is_right_to_a_few_roundings(rng: np.random.Generator, name: str) -> None:
    torch = pytest.importorskip("torch")
    x = inputs(name, rng, (5, 7)).astype(np.float16)
    assert_agrees_with_torch(getattr(ops, name), getattr(torch, name), [x], rng)
    assert getattr(ops, name)(x).dtype == np.float16


# The tests run with warnings as errors: an overflow inside any of these would fail.


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sigmoid_saturates_exactly_and_keeps_small_results(dtype: Any) -> None:
    big = float(np.finfo(dtype).max)
    x = mr.tensor(np.array([-big, -8.0, 0.0, 8.0, big, -np.inf, np.inf, np.nan], dtype), requires_grad=True)
    y = ops.sigmoid(x)
    e = float(np.exp(-8.0))
    assert_close(y, [0, e / (1 + e), 0.5, 1 / (1 + e), 1, 0, 1, np.nan])
    assert y.numpy()[1] == pytest.approx(e / (1 + e), rel=4 * float(np.finfo(dtype).eps))
    g = mr.grad(y.sum(), x)
    assert_close(g[:7], [0, e / (1 + e) ** 2, 0.25, e / (1 + e) ** 2, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tanh_saturates_exactly_with_gradient_zero(dtype: Any) -> None:
    big = float(np.finfo(dtype).max)
    x = mr.tensor(np.array([-np.inf, -big, -40.0, 40.0, big, np.inf], dtype), requires_grad=True)
    y = ops.tanh(x)
    assert_same(y, np.array([-1, -1, -1, 1, 1, 1], dtype))
    assert_same(mr.grad(y.sum(), x), np.zeros(6, dtype))


def test_relu_has_derivative_zero_at_zero_and_keeps_nan() -> None:
    x = mr.tensor([-2.0, -0.0, 0.0, 3.0, np.nan, np.inf], requires_grad=True)
    y = ops.relu(x)
    assert_same(y, np.float32([0, 0, 0, 3, np.nan, np.inf]))
    assert mr.grad(y, x, np.float32([5, 5, 5, 5, 5, 5])).tolist()[:4] == [0, 0, 0, 5]


def test_absolute_has_derivative_zero_at_zero() -> None:
    x = mr.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    assert mr.grad(abs(x).sum(), x).tolist() == [-1, 0, 1]


def test_sign_is_numpys_and_its_gradient_is_zero() -> None:
    x = mr.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    y = ops.sign(x)
    assert y.tolist() == [-1, 0, 1]
    y.backward([1.0, 2.0, 3.0])
    assert x.grad.tolist() == [0, 0, 0]


# ---- maximum, minimum


@each("name", ["maximum", "minimum"])
@each("shapes", [((2, 3), (2, 3)), ((2, 3, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()), ((0,), (1,))])
def test_maximum_and_minimum_are_torchs_for_every_broadcast(
    device: str, rng: np.random.Generator, name: str, shapes: Any
) -> None:
    torch = pytest.importorskip("torch")
    pair = [rng.standard_normal(s) for s in shapes]
    assert_agrees_with_torch(getattr(ops, name), getattr(torch, name), pair, rng, device)
    if pair[0].size and device == "cpu":
        assert mr.gradcheck(getattr(ops, name), pair, order=2)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_equal_operands_share_the_gradient(rng: np.random.Generator, name: str) -> None:
    torch = pytest.importorskip("torch")
    a = np.array([1.0, 2.0, -0.0, np.inf])
    assert_agrees_with_torch(getattr(ops, name), getattr(torch, name), [a, np.array([1.0, 3.0, 0.0, np.inf])], rng)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_wins(name: str) -> None:
    y = getattr(ops, name)(mr.tensor([np.nan, 1.0]), mr.tensor([1.0, np.nan]))
    assert np.isnan(y.numpy()).all()


def test_an_infinite_cotangent_stays_with_the_larger_operand() -> None:
    a, b = mr.tensor([1.0, 2.0], requires_grad=True), mr.tensor([2.0, 1.0], requires_grad=True)
    da, db = mr.grad(ops.maximum(a, b), [a, b], [np.float32([np.inf, np.inf])])
    assert (da.tolist(), db.tolist()) == ([0, np.inf], [np.inf, 0])


# ---- clip


@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (None, 0.3), (-0.3, None), (0.2, 0.2)], ids=str)
def test_clip_is_torchs_and_gradients_pass_at_the_bounds(device: str, rng: np.random.Generator, bounds: Any) -> None:
    torch = pytest.importorskip("torch")
    x = rng.standard_normal((3, 4))
    x.flat[:5] = -0.5, 0.5, 0.3, -0.3, 0.2
    assert_agrees_with_torch(lambda t: ops.clip(t, *bounds), lambda t: torch.clamp(t, *bounds), [x], rng, device)


def test_clip_has_the_derivatives_of_differences_away_from_its_bounds(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 4))
    assert np.abs(np.abs(x) - 0.5).min() > 1e-4
    assert mr.gradcheck(lambda t: ops.clip(t, -0.5, 0.5) * t, [x], order=2)


def test_a_straight_through_clip_passes_every_gradient() -> None:
    x = mr.tensor([-2.0, 0.1, 5.0], requires_grad=True)
    y = x.clip(-1.0, 1.0, straight_through=True)
    assert y.tolist() == [-1, pytest.approx(0.1), 1]
    assert mr.grad(y, x, np.float32([2, 3, 4])).tolist() == [2, 3, 4]


def test_clip_without_bounds_is_the_tensor_itself() -> None:
    x = mr.tensor([1.0])
    assert ops.clip(x) is x


def test_clip_keeps_nan_and_dtype() -> None:
    assert_same(mr.tensor([np.nan, 9.0]).clip(-1, 2), np.float32([np.nan, 2]))
    assert_same(ops.clip(np.float16([1, 9]), None, 2), np.float16([1, 2]))
    assert_same(ops.clip(np.float32(5.0), 0, np.float64(2.0)), np.float32(2))


# ---- where


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), (2, 3)), ((2, 3), (), (3,)), ((2, 1, 4), (3, 1), (4,)), ((), (2,), ())],
    ids=str,
)
def test_where_is_torchs_for_every_broadcast(device: str, rng: np.random.Generator, shapes: Any) -> None:
    torch = pytest.importorskip("torch")
    condition = rng.standard_normal(shapes[0]) > 0
    a, b = (rng.standard_normal(s) for s in shapes[1:])
    inner = mr.tensor(condition, device=device)
    assert_agrees_with_torch(
        lambda x, y: ops.where(inner, x, y),
        lambda x, y: torch.where(torch.tensor(condition), x, y),
        [a, b],
        rng,
        device,
    )
    assert mr.gradcheck(lambda x, y: ops.where(condition, x * y, y), [a, b], order=2)


def test_where_keeps_a_branch_that_was_not_taken_out_of_the_gradient() -> None:
    a = mr.tensor([1.0, 2.0], requires_grad=True)
    y = ops.where(np.array([True, False]), a, np.inf)
    assert mr.grad(y[0], a).tolist() == [1, 0]


def test_where_does_not_see_a_condition_that_changes_later() -> None:
    condition, a = mr.tensor([True, False]), mr.tensor([1.0, 2.0], requires_grad=True)
    y = ops.where(condition, a, 0.0)
    condition.assign([False, True])
    assert mr.grad(y.sum(), a).tolist() == [1, 0]


def test_where_refuses_a_condition_that_is_not_bool() -> None:
    with pytest.raises(TypeError, match="where: condition has dtype int64\n  expected bool"):
        ops.where(mr.tensor([1, 0]), 1.0, 2.0)


def test_where_names_the_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"where \(condition \(3,\)\): operands have shapes \(2,\) and \(2,\)"):
        ops.where(np.ones(3, bool), np.ones(2), np.ones(2))


# ---- dtype, device, identity


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "bool"])
def test_astype_converts_as_numpy_does(dtype: str) -> None:
    x = np.float32([0.0, 1.5, -2.0])
    assert_same(mr.tensor(x).astype(dtype), x.astype(dtype))


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


def test_identity_is_a_node_of_its_own() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    y = ops.identity(x)
    assert y is not x
    assert mr.grad((x * y).sum(), y).tolist() == [1, 2]
    assert mr.gradcheck(ops.identity, [np.ones((2, 3))], order=2)
