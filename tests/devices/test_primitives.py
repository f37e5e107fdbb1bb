"""What base.py says of the primitives of a device that no op asks for. `tests/ops/test_table.py` compares the ops.

Tests `minirnn/devices/cpu/primitives.py`, `minirnn/devices/cuda/device.py` and
`minirnn/devices/cuda/launch/primitives/`.
"""

from __future__ import annotations

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


def test_every_primitive_is_there(on: Device) -> None:
    assert [name for name in (*PRIMITIVES, *OPTIONAL) if not callable(getattr(on, name, None))] == []
