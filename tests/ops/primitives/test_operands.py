"""What operators accept: Tensors, Python numbers, NumPy arrays on either side; results have NumPy's dtypes.

Tests `minirnn/engine/operands.py` through the public functions.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.engine.tensor import leaf
from tests.compare import assert_close, assert_same
from tests.each import each

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.eq, operator.lt]
DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"]
NAMES = [f.__name__ for f in OPERATORS]


def values(dtype: str, shape: tuple[int, ...] = (2, 3)) -> Any:
    x = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    return x if shape else x[()]


def outcome(f: Any, *args: Any) -> Any:
    """The result of f, or the type of what it raises."""
    try:
        return f(*args)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def same_outcome(got: Any, expected: Any) -> None:
    if isinstance(expected, type):
        assert got is expected
    else:
        assert_same(got, expected)


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def test_a_float_next_to_bools_gives_torchs_float32() -> None:
    assert_same((mr.tensor([True, False]) * 0.5).numpy(), np.float32([0.5, 0]))


@each("f", OPERATORS, ids=NAMES)
@each("left", DTYPES)
def test_two_tensors_give_the_dtype_and_values_that_numpy_gives(left: str, f: Any) -> None:
    for right in DTYPES:
        for shape in ((2, 3), ()):
            a, b = values(left), values(right, shape)
            if not shape and a.dtype.kind == b.dtype.kind == "f" and f not in COMPARISONS:  # as in torch it widens none
                b = b.astype(left)
            same_outcome(outcome(f, mr.tensor(a), mr.tensor(values(right, shape))), outcome(f, a, b))


SCALARS = [2, -1, 0, 1, 3, 2.0, 0.5, -1.0, -0.0, 1.0, 3.0, 0.1, True, False, 300, float("inf")]


@each("f", OPERATORS, ids=NAMES)
@each("scalar", SCALARS, ids=repr)
def test_a_python_number_takes_the_dtype_that_numpy_gives_it(scalar: Any, f: Any) -> None:
    for dtype in DTYPES:
        limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        if limits and type(scalar) is int and not limits.min <= scalar <= limits.max:
            continue  # see test_a_number_that_an_integer_dtype_cannot_hold_is_an_error
        if dtype == "bool" and (f is operator.pow or type(scalar) is float):
            continue  # NumPy: int8 for arrays squared, int64 for scalars squared; and float64, where torch has float32
        for shape in ((2, 3), ()):
            a = values(dtype, shape)
            with np.errstate(all="ignore"):
                same_outcome(outcome(f, mr.tensor(a), scalar), outcome(f, a, scalar))
                same_outcome(outcome(f, scalar, mr.tensor(a)), outcome(f, scalar, a))


@pytest.mark.parametrize("f", OPERATORS, ids=NAMES)
def test_a_number_that_an_integer_dtype_cannot_hold_is_an_error(f: Any) -> None:
    """NumPy refuses it in + - * **, but not in / and in comparisons; here it is one rule."""
    for dtype, scalar in (("int8", 300), ("uint8", -1), ("uint32", -1)):
        with pytest.raises(OverflowError):
            f(mr.tensor(values(dtype)), scalar)


@pytest.mark.parametrize("scalars", [(2, 2.0), (2.0, 2), (1, 1.0), (True, 1), (-1.0, -1)], ids=str)
def test_numbers_that_are_equal_but_of_two_types_are_kept_apart(scalars: Any) -> None:
    a = np.arange(3)
    for s in scalars:
        assert_same(mr.tensor(a) * s, a * s)


@pytest.mark.parametrize("f", OPERATORS, ids=NAMES)
def test_a_numpy_array_may_stand_on_either_side(f: Any, rng: np.random.Generator) -> None:
    a, b = np.abs(rng.standard_normal((2, 3))), np.abs(rng.standard_normal((3,)))
    for x, y in ((a, b), (b, a)):
        for got in (f(mr.tensor(x), y), f(x, mr.tensor(y))):
            assert isinstance(got, mr.Tensor)
            assert_same(got, f(x, y))


@each("dtype", ["float16", "float32", "float64", "int8", "int64"])
@each("kind", [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_])
def test_a_numpy_scalar_on_either_side_counts_like_a_python_number(device: str, kind: Any, dtype: str) -> None:
    a, s = np.array([1.0, 2.0]).astype(dtype), kind(1)
    t = mr.tensor(a, device=device)
    for f in OPERATORS:
        for got, expected in ((f(t, s), f(a, s.item())), (f(s, t), f(s.item(), a))):
            assert isinstance(got, mr.Tensor)
            assert_same(got, expected)


def test_a_numpy_scalar_never_widens_a_tensor() -> None:
    x = mr.tensor([1.0, 4.0], requires_grad=True)
    for y in (x / np.sqrt(64), np.float64(3) - x, x ** np.float64(2), ops.where(x > np.float64(2), x, np.float64(0))):
        assert y.dtype == np.float32
        assert mr.grad(y.sum(), x).dtype == np.float32
    assert ops.maximum(x, np.float64(2)).dtype == ops.maximum(np.int64(2), x).dtype == np.float32
    assert (mr.tensor(np.float16([1])) * np.float64(2)).dtype == np.float16
    assert (x * np.array([2.0, 3.0])).dtype == np.float64  # an array has a dtype of its own


def test_matrix_products_take_arrays_on_either_side(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    for got in (mr.tensor(a) @ b, a @ mr.tensor(b)):
        assert isinstance(got, mr.Tensor)
        assert_same(got, a @ b)


def test_gradients_reach_a_tensor_beside_an_array() -> None:
    a, t = np.array([2.0, 3.0]), mr.tensor([5.0, 7.0], requires_grad=True, dtype=np.float64)
    assert mr.grad((a * t).sum(), t).tolist() == [2, 3]
    assert mr.grad((t - a).sum(), t).tolist() == [1, 1]
    assert_close(mr.grad((a / t).sum(), t), [-2 / 25, -3 / 49])


def test_an_array_operand_is_copied(rng: np.random.Generator) -> None:
    a, t = np.array([2.0, 3.0]), mr.tensor([5.0, 7.0], requires_grad=True, dtype=np.float64)
    y = (a * t).sum()
    a[:] = 0
    assert mr.grad(y, t).tolist() == [2, 3]


def test_lists_are_operands_of_functions() -> None:
    assert_same(ops.add([1.0, 2.0], [3, 4]), np.array([4.0, 6.0]))
    assert_same(ops.multiply(2.0, np.float16([1.5])), np.float16([3]))
    assert_same(ops.multiply(np.float16([1.5]), 2.0), np.float16([3]))
    assert_same(ops.where(np.array([True, False]), 2.0, np.float16([1.5, 1.5])), np.float16([2, 1.5]))


@pytest.mark.parametrize("low", ["float16", "float32"])
def test_the_gradient_has_the_dtype_of_its_input_in_mixed_arithmetic(low: str) -> None:
    for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
        for shape in ((2, 3), ()):
            a = mr.tensor(values(low, shape), requires_grad=True)
            b = mr.tensor(values("float64"), requires_grad=True)
            y = f(a, b)
            assert y.dtype == np.float64
            da, db = mr.grad(y.sum(), [a, b])
            assert (da.dtype, db.dtype) == (np.dtype(low), np.float64)
            assert da.shape == shape


@pytest.mark.parametrize("create_graph", [False, True])
def test_mixed_dtypes_in_ops_of_several_tensors_give_each_input_its_own(create_graph: bool) -> None:
    a = mr.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    b = mr.tensor(np.ones((2, 3)), requires_grad=True)
    for y in (
        ops.concat([a, b]),
        ops.stack([a, b]),
        ops.maximum(a, b),
        ops.where(np.ones((2, 3), bool), a, b),
        a @ b.T,
        a.sum() * b.sum(),
    ):
        assert y.dtype == np.float64
        da, db = mr.grad((y * y).sum(), [a, b], create_graph=create_graph)
        assert (da.dtype, db.dtype) == (np.float32, np.float64)


class OtherDevice(type(mr.devices.get("cpu"))):  # type: ignore[misc]
    name = "other"


def test_two_devices_in_one_op_are_an_error_that_names_them() -> None:
    other = OtherDevice()
    a, b = mr.tensor([1.0]), leaf(other, np.ones(1, np.float32))
    message = "different devices: a is on cpu, b on other\n  expected one device"
    for f in (*OPERATORS, ops.maximum, ops.minimum, ops.matmul):
        with pytest.raises(ValueError, match=message):
            f(a, b)
    with pytest.raises(ValueError, match="concat: different devices: tensor 0 is on cpu, tensor 1 on other\n"):
        ops.concat([a, b])
    with pytest.raises(ValueError, match="where: different devices: condition is on other, a on cpu, b on cpu\n"):
        ops.where(leaf(other, np.array([True])), a, a)


def test_gradients_cross_devices_with_to() -> None:
    other = OtherDevice()
    a = mr.tensor([1.0, 2.0], requires_grad=True)
    y = a.to(other) * leaf(other, np.float32([3, 4]))
    assert y.device == "other"
    g = mr.grad(y.sum(), a)
    assert g.device == "cpu"
    assert g.tolist() == [3, 4]
    assert a.to("cpu") is a


def test_numpy_functions_do_not_swallow_tensors() -> None:
    with pytest.raises(TypeError):
        np.add(np.ones(2), mr.tensor([1.0, 2.0]))
    a = np.ones(2, np.float32)
    with pytest.raises(TypeError):
        a += mr.tensor([1.0, 2.0])
