"""The primitives on every device: what base.py says of each, judged by NumPy, on arrays of any dtype and layout.

Tests `minirnn/devices/cpu/primitives.py`, `minirnn/devices/cuda/device.py` and
`minirnn/devices/cuda/launch/primitives/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minirnn import devices
from minirnn.devices.base import OPTIONAL, PRIMITIVES, Device
from tests.compare import assert_close, assert_same
from tests.each import each

FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FEW, MANY = [*FLOATS, np.int64, np.uint8, bool], [*FLOATS, *INTEGERS, bool]
few_or_many = pytest.mark.parametrize("dtypes", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
"""Of all dtypes only with `-m slow`: a CUDA device compiles its kernels anew for each."""


@pytest.fixture
def on(device: str) -> Device:
    return devices.get(device)


def numbers(rng: np.random.Generator, shape: Any, dtype: Any, low: float = -2, high: float = 2) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.uniform(low, high, shape).astype(dtype)


def views(on: Device, a: np.ndarray) -> dict[str, tuple[Any, np.ndarray]]:
    """The same numbers seen in several ways: (array on the device, the same in NumPy)."""
    there = on.asarray(a)
    seen = {"as it is": (there, a)}
    if a.ndim >= 2:
        turned = tuple(reversed(range(a.ndim)))
        seen["transposed"] = on.transpose(there, turned), a.T
        seen["every second, backwards"] = (
            on.getitem(there, (slice(None, None, -2), slice(1, None))),
            a[::-2, 1:],
        )
    seen["repeated"] = on.broadcast_to(there, (2, *a.shape)), np.broadcast_to(a, (2, *a.shape))
    return seen


FUNCTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "negative": (np.negative, -2, 2),
    "absolute": (np.abs, -2, 2),
    "sign": (np.sign, -2, 2),
    "exp": (np.exp, -2, 2),
    "log": (np.log, 0.1, 9),
    "sqrt": (np.sqrt, 0, 9),
    "tanh": (np.tanh, -3, 3),
    "sigmoid": (lambda a: 1 / (1 + np.exp(-a)), -9, 9),
    "relu": (lambda a: np.where(a > 0, a, 0), -2, 2),
}


@each("dtype", FLOATS)
@each("name", FUNCTIONS)
def test_functions_of_one_operand(on: Device, rng: np.random.Generator, name: str, dtype: Any) -> None:
    formula, low, high = FUNCTIONS[name]
    for shape in ((3, 4), (2, 3, 5), (7,), (0, 2), ()):
        for how, (a, host) in views(on, numbers(rng, shape, dtype, low, high)).items():
            got = on.to_numpy(getattr(on, name)(a))
            assert got.dtype == dtype
            assert_close(got, formula(host.astype(np.float64)), what=f"{name} of {shape} {how}")


BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
SHAPES = [((3, 4), (3, 4)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()), ((), ()), ((0, 3), (3,)), ((4, 1), (1, 5))]


@few_or_many
@each("name", BINARY)
def test_functions_of_two_operands_broadcast(on: Device, rng: np.random.Generator, name: str, dtypes: Any) -> None:
    for dtype in dtypes:
        function_of_two_operands(on, rng, name, dtype)


def function_of_two_operands(on: Device, rng: np.random.Generator, name: str, dtype: Any) -> None:
    if name == "subtract" and dtype is bool:
        with pytest.raises(TypeError):
            on.subtract(on.asarray(np.array([True])), on.asarray(np.array([True])))
        return
    for left, right in SHAPES:
        a, b = numbers(rng, left, dtype), numbers(rng, right, dtype)
        if name == "divide":
            b = np.where(b == 0, 1, b).astype(dtype)
        with np.errstate(over="ignore"):  # unsigned numbers wrap around
            got = on.to_numpy(getattr(on, name)(on.asarray(a), on.asarray(b)))
            expected = np.asarray(BINARY[name](a, b))
        if name == "divide" and np.dtype(dtype).kind in "iub":
            expected = expected.astype(got.dtype)  # float64, where NumPy takes float16 for one byte
        assert got.dtype == expected.dtype, name
        assert_close(got, expected, what=f"{name} {left} {right}")


@each("name", BINARY)
def test_operands_may_be_views_numbers_and_of_two_dtypes(on: Device, rng: np.random.Generator, name: str) -> None:
    a, b = numbers(rng, (4, 3), np.float32), numbers(rng, (3, 4), np.float32, 0.5, 2)
    operation, expected = getattr(on, name), BINARY[name]
    there, other = on.asarray(a), on.asarray(b)
    assert_same(on.to_numpy(operation(on.transpose(there, (1, 0)), other)), expected(a.T, b))
    assert_same(on.to_numpy(operation(there, on.transpose(other, (1, 0)))), expected(a, b.T))
    for number in (2, 0.5, -3.0, 7):
        assert_same(on.to_numpy(operation(there, number)), expected(a, number))
        assert_same(on.to_numpy(operation(number, other)), expected(number, b))
    wide = numbers(rng, (4, 3), np.float64, 0.5, 2)
    assert_same(on.to_numpy(operation(there, on.asarray(wide))), expected(a, wide))


def test_arrays_support_the_operators_that_the_tape_uses(on: Device, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (3, 4), np.float32, 0.5, 2), numbers(rng, (4,), np.float32, 0.5, 2)
    x, y = on.asarray(a), on.asarray(b)
    pairs = {
        "+": (x + y, a + b),
        "-": (x - y, a - b),
        "*": (x * y, a * b),
        "/": (x / y, a / b),
        "-x": (-x, -a),
        "2+": (2 + x, 2 + a),
        "1-": (1 - x, 1 - a),
        "*3": (x * 3.0, a * 3.0),
        "1/": (1 / x, 1 / a),
    }
    for what, (got, expected) in pairs.items():
        assert_same(on.to_numpy(got), np.asarray(expected), what)
    assert_close(on.to_numpy(x**2), a**2)
    assert_close(on.to_numpy(x**y), a**b)
    assert_close(on.to_numpy(2.0**x), (2.0**a).astype(np.float32))


def test_powers_of_integers_are_exact(on: Device) -> None:
    a = np.array([-3, -2, 0, 1, 2, 7], np.int64)
    for power in (0, 1, 2, 5, 13):
        assert_same(on.to_numpy(on.power(on.asarray(a), power)), a**power)


def test_nan_and_infinity_go_where_base_says(on: Device) -> None:
    a, b = np.array([np.nan, 1, np.nan, -np.inf, 0.0]), np.array([2, np.nan, np.nan, np.inf, -0.0])
    x, y = on.asarray(a), on.asarray(b)
    assert_same(on.to_numpy(on.maximum(x, y)), np.array([np.nan, np.nan, np.nan, np.inf, 0]))
    assert_same(on.to_numpy(on.minimum(x, y)), np.array([np.nan, np.nan, np.nan, -np.inf, 0]))
    assert_same(on.to_numpy(on.relu(x)), np.array([np.nan, 1, np.nan, 0, 0]))
    assert_same(on.to_numpy(on.clip(x, -2.0, 0.5)), np.array([np.nan, 0.5, np.nan, -2, 0]))
    assert_same(on.to_numpy(on.sign(x)), np.array([np.nan, 1, np.nan, -1, 0]))
    assert_same(on.to_numpy(on.max(x, None, False)), np.array(np.nan))
    assert_same(on.to_numpy(on.argmax(on.asarray(np.array([[1, np.nan, 5, np.nan]])), 1)), np.array([1]))
    assert_same(on.to_numpy(on.equal(x, x)), np.array([False, True, False, True, True]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sigmoid_is_exact_where_it_saturates_and_never_overflows(on: Device, dtype: Any) -> None:
    z = np.array([-np.inf, -60000, -30, -8, 0, 8, 60000, np.inf], dtype)
    with np.errstate(over="ignore"):
        expected = np.array(
            [
                0,
                0,
                np.exp(-30.0) / (1 + np.exp(-30.0)),
                np.exp(-8.0) / (1 + np.exp(-8.0)),
                0.5,
                1 / (1 + np.exp(-8.0)),
                1,
                1,
            ]
        )
    got = on.to_numpy(on.sigmoid(on.asarray(z)))
    np.testing.assert_allclose(got, expected.astype(dtype), rtol=4 * np.finfo(dtype).eps)


def test_where_broadcasts_and_takes_numbers(on: Device, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (2, 3), np.float32), numbers(rng, (3,), np.float32)
    c = a[:, :1] > 0
    assert_same(on.to_numpy(on.where(on.asarray(c), on.asarray(a), on.asarray(b))), np.where(c, a, b))
    assert_same(on.to_numpy(on.where(on.asarray(a > 0), on.asarray(a), 0.0)), np.where(a > 0, a, np.float32(0)))


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.uint8])
def test_clip_takes_numbers_or_none(on: Device, rng: np.random.Generator, dtype: Any) -> None:
    a = numbers(rng, (3, 5), dtype)
    for low, high in ((1, 5), (None, 1), (1, None)):
        assert_same(on.to_numpy(on.clip(on.asarray(a), low, high)), np.clip(a, low, high))


@few_or_many
@each("source", MANY)
def test_casts_are_numpys(on: Device, rng: np.random.Generator, source: Any, dtypes: Any) -> None:
    a = numbers(rng, (3, 4), source, 0.25, 9)
    a = np.abs(a) if a.dtype.kind != "b" else a  # negative numbers have no unsigned value
    for target in dtypes:
        assert_same(on.to_numpy(on.cast(on.transpose(on.asarray(a), (1, 0)), target)), a.T.astype(target))


@few_or_many
def test_full_and_asarray_make_arrays_of_their_own(on: Device, dtypes: Any) -> None:
    for dtype in dtypes:
        assert_same(on.to_numpy(on.full((2, 3), 1, dtype)), np.full((2, 3), 1, dtype))
        assert_same(on.to_numpy(on.full((), 0, dtype)), np.zeros((), dtype))
    assert_same(on.to_numpy(on.full((2,), -0.0, np.float32)), np.float32([-0.0, -0.0]))
    assert np.signbit(on.to_numpy(on.full((1,), -0.0, np.float32)))[0]
    a = np.arange(6.0).reshape(2, 3)
    there = on.asarray(a.T)
    a[...] = 7
    assert_same(on.to_numpy(there), np.arange(6.0).reshape(2, 3).T)


@each("dtype", FEW)
@each("axis", [None, (0,), (1, 2), (0, 2), (0, 1, 2), ()], ids=str)
@each("keepdims", [False, True])
def test_reductions_take_tuples_of_axes(
    on: Device, rng: np.random.Generator, dtype: Any, axis: Any, keepdims: bool
) -> None:
    for shape in ((2, 3, 5), (3, 70, 2), (2, 3, 130)):
        for how, (a, host) in views(on, numbers(rng, shape, dtype)).items():
            total = np.sum(host.astype(np.float64) if host.dtype.kind == "f" else host, axis=axis, keepdims=keepdims)
            got = on.to_numpy(on.sum(a, axis, keepdims))
            assert got.dtype == np.sum(host[:1]).dtype
            eps = np.finfo(got.dtype).eps if got.dtype.kind == "f" else 0
            # Each of at most 780 additions rounds a partial sum of at most their absolute sum.
            limit = float(eps) * np.abs(host.astype(np.float64)).sum()
            assert_close(got, total.astype(got.dtype), limit, "rounding of each addition", what=f"sum {shape} {how}")
            largest = on.to_numpy(on.max(a, axis, keepdims))
            assert_same(largest, np.asarray(np.max(host, axis=axis, keepdims=keepdims)), f"max {shape} {how}")


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_argmax_takes_the_first_of_equal_ones(on: Device, rng: np.random.Generator, dtype: Any) -> None:
    a = rng.integers(0, 4, (3, 5, 4)).astype(dtype)
    for axis in (0, 1, 2):
        assert_same(on.to_numpy(on.argmax(on.asarray(a), axis)), np.argmax(a, axis))


def test_an_empty_axis_sums_to_zero_and_has_no_maximum(on: Device) -> None:
    a = on.asarray(np.zeros((2, 0, 3), np.float32))
    assert_same(on.to_numpy(on.sum(a, (1,), False)), np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError):
        on.max(a, (1,), False)


@each("axis", [0, 1, 2])
@each("dtype", FLOATS)
def test_softmax_and_its_logarithm(on: Device, rng: np.random.Generator, dtype: Any, axis: int) -> None:
    for shape in ((2, 3, 4), (3, 99, 2), (5, 2, 300)):
        a = (5 * rng.standard_normal(shape)).astype(dtype)
        exact = np.exp(a.astype(np.float64))
        exact /= exact.sum(axis, keepdims=True)
        y, logs = on.to_numpy(on.softmax(on.asarray(a), axis)), on.to_numpy(on.log_softmax(on.asarray(a), axis))
        assert y.dtype == logs.dtype == dtype
        assert_close(y, exact)
        assert_close(logs, np.log(exact))
    assert np.isfinite(on.to_numpy(on.log_softmax(on.asarray(np.array([[1e4, -1e4]], dtype)), 1))).all()


@each(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((3, 4), (6, 4, 2)),
        ((1, 4), (4, 1)),
        ((3, 0), (0, 5)),
        ((0, 4), (4, 5)),
        ((33, 40), (40, 18)),
    ],
    ids=str,
)
@each("dtype", [*FLOATS, np.int32, np.int64])
def test_matmul_is_numpys(on: Device, rng: np.random.Generator, left: Any, right: Any, dtype: Any) -> None:
    a, b = numbers(rng, left, dtype), numbers(rng, right, dtype)
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    x, y = on.asarray(a), on.asarray(b)
    got = on.to_numpy(on.matmul(x, y))
    assert got.dtype == dtype
    limit = 1e-2 if dtype is np.float16 else None
    assert_close(got, expected.astype(dtype), limit, "float16: sums of 40 products up to 4")
    if min(len(left), len(right)) < 2:
        return
    swap = lambda n: (*range(n - 2), n - 1, n - 2)  # noqa: E731
    x = on.transpose(on.asarray(np.ascontiguousarray(a.swapaxes(-1, -2))), swap(a.ndim))
    y = on.transpose(on.asarray(np.ascontiguousarray(b.swapaxes(-1, -2))), swap(b.ndim))
    assert_close(on.to_numpy(on.matmul(x, y)), expected.astype(dtype), limit, "both operands transposed in memory")


def test_matmul_reads_columns_of_wider_matrices_and_strange_views(on: Device, rng: np.random.Generator) -> None:
    a, b = numbers(rng, (6, 9), np.float64), numbers(rng, (5, 8), np.float64)
    x, y = on.asarray(a), on.asarray(b)
    for rows, columns in (
        (slice(1, 5), slice(2, 7)),
        (slice(None, None, 2), slice(3, 8)),
        (slice(None), slice(8, 3, -1)),
    ):
        part = on.getitem(x, (rows, columns))
        assert_close(on.to_numpy(on.matmul(part, y)), a[rows, columns] @ b)
    repeated = on.broadcast_to(on.getitem(x, (slice(0, 1), slice(0, 5))), (4, 5))
    assert_close(on.to_numpy(on.matmul(repeated, y)), np.broadcast_to(a[:1, :5], (4, 5)) @ b)


def test_shapes_move_elements_in_c_order(on: Device) -> None:
    a = np.arange(6.0).reshape(2, 3)
    x = on.asarray(a)
    assert_same(on.to_numpy(on.reshape(x, (3, 2))), a.reshape(3, 2))
    assert_same(on.to_numpy(on.reshape(on.transpose(x, (1, 0)), (6,))), a.T.reshape(6))
    assert_same(on.to_numpy(on.broadcast_to(on.getitem(x, (0,)), (2, 3))), np.broadcast_to(a[0], (2, 3)))
    assert_same(
        on.to_numpy(on.concatenate([x, on.getitem(x, (slice(None), slice(0, 1)))], 1)), np.concatenate([a, a[:, :1]], 1)
    )
    assert_same(on.to_numpy(on.concatenate([x, x], 0)), np.concatenate([a, a], 0))
    small = np.ones((2, 3), np.float32)
    assert_same(on.to_numpy(on.concatenate([on.asarray(small), x], 0)), np.concatenate([small, a], 0))
    for wrong in ((4,), (2, 2)):
        with pytest.raises(ValueError):
            on.reshape(x, wrong)
    with pytest.raises(ValueError):
        on.broadcast_to(x, (2, 2))


INDICES = [
    (1,),
    (-1,),
    (slice(None), np.array([2, 0, 2, -1])),
    (np.array([1, 1, 0]), np.array([0, 0, 2])),
    (np.array([[1, 0], [-1, -2]]),),
    (np.array([[True, False, True, True], [False, False, True, False]]),),
    (np.array([True, False]),),
    (None, slice(None, None, -1), 1),
    (Ellipsis, slice(0, 2)),
    (Ellipsis, np.array([0, 2])),
    (1, 2),
    (1, 2, Ellipsis),
    (slice(1, 1),),
    (np.array([], np.int64),),
    (0, slice(None), None),
    (),
]


@each("index", INDICES, ids=str)
@each("dtype", [np.float64, np.float16, np.int32, bool])
def test_getitem_is_numpys(on: Device, rng: np.random.Generator, index: Any, dtype: Any) -> None:
    for a in (numbers(rng, (2, 4), dtype), numbers(rng, (2, 4, 3), dtype)):
        if any(isinstance(k, np.ndarray) and k.dtype == bool and k.ndim > 1 for k in index) and a.ndim > 2:
            continue
        assert_same(on.to_numpy(on.getitem(on.asarray(a), index)), np.asarray(a[index]))


@each("index", INDICES, ids=str)
def test_scatter_add_is_the_adjoint_of_getitem(on: Device, rng: np.random.Generator, index: Any) -> None:
    a = rng.standard_normal((2, 4))
    y = a[index]
    v = rng.standard_normal(np.shape(y)).astype(np.float32)
    z = on.to_numpy(on.scatter_add((2, 4), index, on.asarray(v)))
    assert z.dtype == np.float32 and z.shape == (2, 4)
    terms = v.astype(np.float64) * y
    rounding = np.size(v) * 2.0**-24 * np.abs(terms).sum()  # each of at most size(v) additions rounds once in float32
    assert np.sum(z.astype(np.float64) * a) == pytest.approx(np.sum(terms), rel=0, abs=rounding)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64])
def test_scatter_add_adds_up_what_is_named_twice(on: Device, rng: np.random.Generator, dtype: Any) -> None:
    index, values = (rng.integers(0, 5, 40),), rng.integers(-4, 5, (40, 3)).astype(dtype)
    expected = np.zeros((5, 3), dtype)
    np.add.at(expected, index, values)
    assert_same(on.to_numpy(on.scatter_add((5, 3), index, on.asarray(values))), expected)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, bool])
def test_put_is_an_assignment_to_a_copy(on: Device, rng: np.random.Generator, index: Any, dtype: Any) -> None:
    a = numbers(rng, (2, 4), dtype)
    chosen = np.arange(8).reshape(2, 4)[index]
    if len(np.unique(chosen)) < np.size(chosen):  # an element that is named twice gets either value
        return
    for v in (numbers(rng, np.shape(chosen), dtype), numbers(rng, (), dtype)):
        expected = a.copy()
        expected[index] = v
        x = on.asarray(a)
        assert_same(on.to_numpy(on.put(x, index, on.asarray(v))), expected)
        assert_same(on.to_numpy(x), a)


@pytest.mark.parametrize("index", [(5,), (np.array([0, 2]),), (np.array([-3]),), (slice(None), 4)], ids=str)
def test_an_index_out_of_bounds_is_an_index_error(on: Device, index: Any) -> None:
    with pytest.raises(IndexError):
        on.getitem(on.asarray(np.zeros((2, 4))), index)


@each(
    ("a", "shape"),
    [((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((2, 3), (2, 3)), ((1, 3), (3,)), ((), ())],
    ids=str,
)
def test_sum_to_shape_is_the_adjoint_of_broadcasting(on: Device, rng: np.random.Generator, a: Any, shape: Any) -> None:
    g, x = rng.standard_normal(a), rng.standard_normal(shape)
    summed = on.to_numpy(on.sum_to_shape(on.asarray(np.asarray(g)), shape))
    assert np.sum(summed * x) == pytest.approx(np.sum(g * np.broadcast_to(x, a)))
    assert summed.shape == shape


# ---- the optional ones

MORE_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "erf": np.vectorize(math.erf, otypes=["f8"]),
    "log1p": np.log1p,
    "expm1": np.expm1,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
}


@each("name", MORE_FUNCTIONS)
@each("dtype", FLOATS)
def test_optional_functions_are_numpys(on: Device, rng: np.random.Generator, name: str, dtype: Any) -> None:
    for shape in ((3, 37), (), (0, 2)):
        for how, (a, host) in views(on, numbers(rng, shape, dtype, -0.9, 1.4)).items():
            got = on.to_numpy(getattr(on, name)(a))
            assert got.dtype == dtype
            assert_close(got, MORE_FUNCTIONS[name](host.astype(np.float64)), what=f"{name} {shape} {how}")


def test_whole_numbers_of_special_ones(on: Device) -> None:
    a = np.array([-2.5, -0.5, 0.5, 1.5, 2.5, np.inf, np.nan])
    assert_same(on.to_numpy(on.round(on.asarray(a))), np.array([-2.0, -0.0, 0, 2, 2, np.inf, np.nan]))
    for name in ("floor", "ceil", "round"):
        assert_same(on.to_numpy(getattr(on, name)(on.asarray(np.array([3, -2])))), np.array([3, -2]))


@each("dtype", [*FLOATS, np.int64, bool])
@each("axis", [None, (0,), (1, 2)], ids=str)
def test_min_and_prod_take_tuples_of_axes(on: Device, rng: np.random.Generator, dtype: Any, axis: Any) -> None:
    for shape in ((2, 3, 5), (2, 3, 130)):
        for how, (a, host) in views(on, numbers(rng, shape, dtype)).items():
            assert_same(on.to_numpy(on.min(a, axis, True)), np.min(host, axis, keepdims=True), f"min {shape} {how}")
        factors = (
            rng.uniform(0.9, 1.1, shape).astype(dtype) if np.dtype(dtype).kind == "f" else numbers(rng, shape, bool)
        )
        got = on.to_numpy(on.prod(on.asarray(factors), axis, False))
        wide = factors.astype(np.float64 if np.dtype(dtype).kind == "f" else np.int64)
        assert_close(got, np.prod(wide, axis).astype(got.dtype), 2e-3 if dtype is np.float16 else 1e-4, "780 factors")
    assert_same(on.to_numpy(on.prod(on.asarray(np.ones((2, 0))), (1,), False)), np.ones(2))


def test_argmin_takes_the_first_of_equal_ones_and_nan_before_all(on: Device, rng: np.random.Generator) -> None:
    a = rng.integers(0, 4, (3, 5, 4)).astype(float)
    a[1, 2, 3] = np.nan
    for axis in (0, 1, 2):
        assert_same(on.to_numpy(on.argmin(on.asarray(a), axis)), np.argmin(a, axis))


@each("axis", [0, 1, 2])
@each("dtype", FLOATS)
def test_scans_walk_along_any_axis(on: Device, rng: np.random.Generator, dtype: Any, axis: int) -> None:
    for shape in ((3, 37, 5), (1, 1, 1), (2, 0, 3)):
        host, other = rng.uniform(-1.1, 1.1, shape).astype(dtype), rng.standard_normal(shape).astype(dtype)
        a, b = (on.transpose(on.asarray(np.ascontiguousarray(x.T)), (2, 1, 0)) for x in (host, other))
        wide = host.astype(np.float64), other.astype(np.float64)
        state, steps = np.zeros_like(np.moveaxis(wide[1], axis, 0)), np.moveaxis(wide[1], axis, 0)
        for t, factor in enumerate(np.moveaxis(wide[0], axis, 0)):
            state[t] = factor * (state[t - 1] if t else 0) + steps[t]
        for got, expected in (
            (on.cumsum(a, axis), np.cumsum(wide[0], axis)),
            (on.cumprod(a, axis), np.cumprod(wide[0], axis)),
            (on.recurrence(a, b, axis), np.moveaxis(state, 0, axis)),
        ):
            got = on.to_numpy(got)
            assert got.dtype == dtype
            assert_close(got, expected, 1e-2 if dtype is np.float16 else 2e-5, "37 steps, each rounded")


def test_scans_of_small_integers_are_wide(on: Device) -> None:
    a = np.array([[100, 100, 3], [1, 0, 2]], np.int8)
    assert_same(on.to_numpy(on.cumsum(on.asarray(a), 1)), np.cumsum(a.astype(np.int64), 1))
    assert_same(on.to_numpy(on.cumprod(on.asarray(a), 0)), np.cumprod(a.astype(np.int64), 0))
    assert_same(on.to_numpy(on.cumsum(on.asarray(a > 1), 1)), np.cumsum(a > 1, 1))


@each("descending", [False, True])
@each("dtype", [*FLOATS, np.int64, bool])
def test_argsort_is_stable_and_nan_is_largest(
    on: Device, rng: np.random.Generator, dtype: Any, descending: bool
) -> None:
    for n in (1, 2, 5, 16, 67):
        a = rng.integers(-2, 3, (2, n, 3)).astype(dtype)
        if np.dtype(dtype).kind == "f":
            a[rng.random(a.shape) < 0.2] = np.nan
        key = np.nan_to_num(a.astype(np.float64), nan=9.0)
        for axis in (0, 1, 2):
            got = on.to_numpy(on.argsort(on.asarray(a), axis, descending))
            assert_same(got, np.argsort(-key if descending else key, axis, kind="stable"), f"{n}, axis {axis}")


def test_every_primitive_is_there(on: Device) -> None:
    assert [name for name in (*PRIMITIVES, *OPTIONAL) if not callable(getattr(on, name, None))] == []
