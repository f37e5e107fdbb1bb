"""Ops of any size on a device, and what base.py says of its primitives that no op asks for.

`tests/ops/test_table.py` compares the ops in every dtype and layout.

Tests `minirnn/devices/cpu/primitives.py`, `minirnn/devices/cuda/device.py` and
`minirnn/devices/cuda/launch/primitives/`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirnn import devices
from minirnn.devices.base import Device
from tests.compare import assert_close, assert_same
from tests.each import each
from tests.examples import examples
from tests.ops.row import Call, Op
from tests.ops.table import ROWS
from tests.ops.test_table import compare, drawn, gradients, run
from tests.ops.test_table import on as placed

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


BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
BINARY += ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@each("name", BINARY)
def test_operands_may_be_views_numbers_and_of_two_dtypes(on: Device, rng: np.random.Generator, name: str) -> None:
    a, b = numbers(rng, (4, 3), np.float32), numbers(rng, (3, 4), np.float32, 0.5, 2)
    operation, expected = getattr(on, name), getattr(np, name)
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


SMALL = st.integers(1, 5)
DRAWN = st.tuples(SMALL, SMALL, st.sampled_from([1, 2, 3, 4, 33, 70]))
"""Sizes of axes. More than a warp of a GPU has threads, and more than a row of its threads."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@examples(200)
@given(row=st.sampled_from(ROWS), number=st.integers(0, 99), drawn_sizes=DRAWN, data=st.data())
def test_an_op_of_any_size_is_that_of_cpu(device: str, row: Op, number: int, drawn_sizes: Any, data: Any) -> None:
    """Each size of a call of the table is replaced by another one, wherever it occurs."""
    if device == "cpu":
        return
    call = row.calls[number % len(row.calls)]
    new = dict(zip(sorted({n for one in call.ins() for n in one.shape} - {0, 1}), drawn_sizes, strict=False))
    args, kwargs = call.filled(lambda a: replace(a, shape=tuple(new.get(n, n) for n in a.shape)))
    resized, rng = Call(*args, **kwargs), np.random.default_rng(data.draw(st.integers(0, 2**16)))
    dtype = data.draw(st.sampled_from(["float64", "float32"] if "f" in row.dtypes else ["int64"]))
    arrays = drawn(resized, rng, dtype)
    try:
        want = run(row, resized, placed("cpu", arrays))
    except (ValueError, IndexError, TypeError):  # an index, or a shape among the arguments, does not fit
        return
    there, here = placed(device, arrays), placed("cpu", arrays)
    got = run(row, resized, there)
    compare(row, got, [y.numpy() for y in want], f"{row}({resized}) of {dtype} on {device}")
    for g, e in zip(gradients(got, there), gradients(run(row, resized, here), here), strict=True):
        if g is not None and dtype == "float64":
            assert_close(g, e, 1e-10, "float64", what=f"{row}({resized}): gradient on {device}")
