"""The primitives of the cpu device: what base.py says of each, on bare arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices
from minirnn.devices.base import PRIMITIVES, sum_to_shape
from minirnn.devices.cpu import workspace
from tests.compare import assert_close, assert_same

cpu = devices.get("cpu")
FLOATS = [np.float16, np.float32, np.float64]


def test_every_primitive_is_there() -> None:
    assert [name for name in PRIMITIVES if not callable(getattr(cpu, name, None))] == []


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("negative", lambda a: -a),
        ("absolute", np.abs),
        ("sign", np.sign),
        ("exp", np.exp),
        ("tanh", np.tanh),
        ("sigmoid", lambda a: 1 / (1 + np.exp(-a))),
        ("relu", lambda a: np.where(a > 0, a, 0)),
        ("log", lambda a: np.log(a)),
        ("sqrt", lambda a: np.sqrt(a)),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_functions_of_one_operand_keep_dtype_and_shape(
    rng: np.random.Generator, name: str, formula: Any, dtype: Any
) -> None:
    for shape in ((2, 3), (0,), ()):
        a = rng.standard_normal(shape).astype(dtype)
        a = np.abs(a) + dtype(0.5) if name in ("log", "sqrt") else a
        got = getattr(cpu, name)(a[()])
        assert got.dtype == dtype
        assert_close(got, formula(a.astype(np.float64)), what=name)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("add", lambda a, b: a + b),
        ("subtract", lambda a, b: a - b),
        ("multiply", lambda a, b: a * b),
        ("divide", lambda a, b: a / b),
        ("power", lambda a, b: a**b),
        ("maximum", lambda a, b: np.where(a > b, a, b)),
        ("minimum", lambda a, b: np.where(a < b, a, b)),
        ("equal", lambda a, b: ~((a < b) | (a > b))),
        ("not_equal", lambda a, b: (a < b) | (a > b)),
        ("less", lambda a, b: b > a),
        ("less_equal", lambda a, b: ~(a > b)),
        ("greater", lambda a, b: b < a),
        ("greater_equal", lambda a, b: ~(a < b)),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_functions_of_two_operands_broadcast(rng: np.random.Generator, name: str, formula: Any) -> None:
    for left, right in (((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()), ((), ())):
        a, b = (rng.integers(1, 4, s).astype(np.float64)[()] for s in (left, right))
        assert_same(getattr(cpu, name)(a, b), np.asarray(formula(a, b)))


def test_where_clip_and_casts_are_numpys() -> None:
    a = np.array([[1.0, np.nan, -3.0]])
    assert_same(cpu.where(a > 0, a, np.zeros((2, 3))), np.array([[1, 0, 0], [1, 0, 0.0]]))
    assert_same(cpu.clip(a, -2.0, 0.5), np.array([[0.5, np.nan, -2]]))
    assert_same(cpu.clip(a, None, 0.5), np.array([[0.5, np.nan, -3]]))
    assert_same(cpu.clip(a, -2.0, None), np.array([[1, np.nan, -2]]))
    assert_same(cpu.cast(np.array([1.5, -2.5]), np.int32), np.array([1, -2], np.int32))
    assert_same(cpu.full((2, 1), 3, np.float16), np.float16([[3], [3]]))
    assert_same(cpu.full((), 3, np.float32), np.float32(3))


def test_asarray_copies_and_makes_scalars_of_zero_dimensional_arrays() -> None:
    a = np.ones((2, 3))
    assert not np.shares_memory(cpu.asarray(a), a)
    scalar = cpu.asarray(np.array(2.0, np.float32))
    assert type(scalar) is np.float32
    assert_same(cpu.to_numpy(scalar), np.float32(2))


@pytest.mark.parametrize("axis", [None, (0,), (1, 2), (0, 1, 2), ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_take_tuples_of_axes(rng: np.random.Generator, axis: Any, keepdims: bool) -> None:
    a = rng.standard_normal((2, 3, 4))
    every = (0, 1, 2) if axis is None else axis
    total, largest = a, a
    for k in sorted(every, reverse=True):
        total = np.add.reduce(total, k, keepdims=keepdims)
        largest = np.maximum.reduce(largest, k, keepdims=keepdims)
    assert_close(cpu.sum(a, axis, keepdims), total)
    assert_close(cpu.max(a, axis, keepdims), largest)


def test_five_columns_of_float32_do_not_warn() -> None:
    """OpenBLAS may raise the flag of an invalid value there for nothing; here it is raised for sure."""
    a, b = np.full((1, 5), np.inf, np.float32), np.zeros((3, 5), np.float32)
    assert_same(cpu.matmul(a, b.T), np.full((1, 3), np.nan, np.float32))


@pytest.mark.parametrize("kind", [mr.nn.RNN, mr.nn.GRU, mr.nn.LSTM, mr.nn.GRUBlockCell], ids=lambda k: k.__name__)
def test_layers_and_cells_of_five_columns_do_not_warn_either(kind: Any) -> None:
    layer = kind(5, 5)
    for p in layer.parameters():
        p.assign(np.zeros(p.shape, p.dtype))
    shape = (1, 5) if kind is mr.nn.GRUBlockCell else (1, 1, 5)
    x = mr.tensor(np.full(shape, np.inf, np.float32), requires_grad=True)
    y, *_ = layer(x)
    y.sum().backward()
    assert np.isnan(y.numpy()).all()


def test_argmax_takes_the_first_of_equal_ones() -> None:
    assert_same(cpu.argmax(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]), 1), np.array([1, 0]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_sums_to_one_and_log_softmax_is_its_logarithm(rng: np.random.Generator, dtype: Any, axis: int) -> None:
    a = (5 * rng.standard_normal((2, 3, 4))).astype(dtype)
    y = cpu.softmax(a, axis)
    assert y.dtype == dtype
    assert_close(np.sum(y, axis), np.ones([n for k, n in enumerate(a.shape) if k != axis], dtype))
    exact = np.exp(a.astype(np.float64))
    assert_close(y, exact / exact.sum(axis, keepdims=True))
    logs = np.log(exact / exact.sum(axis, keepdims=True))
    assert cpu.log_softmax(a, axis).dtype == dtype
    assert_close(cpu.log_softmax(a, axis), logs)


def test_shapes_move_elements_in_c_order() -> None:
    a = np.arange(6.0).reshape(2, 3)
    assert_same(cpu.reshape(a, (3, 2)), np.array([[0, 1], [2, 3], [4, 5.0]]))
    assert_same(cpu.reshape(cpu.transpose(a, (1, 0)), (6,)), np.array([0, 3, 1, 4, 2, 5.0]))
    assert_same(cpu.broadcast_to(a[0], (2, 3)), np.array([[0, 1, 2], [0, 1, 2.0]]))
    assert_same(cpu.concatenate([a, a[:, :1]], 1), np.array([[0, 1, 2, 0], [3, 4, 5, 3.0]]))
    assert_same(cpu.matmul(a, a.T), np.array([[5, 14], [14, 50.0]]))


@pytest.mark.parametrize(
    "index",
    [
        (1,),
        (slice(None), np.array([2, 0, 2, 2])),
        (np.array([1, 1, 0]), np.array([0, 0, 2])),
        (np.array([[True, False, True], [False, False, True]]),),
        (None, slice(None, None, -1), 1),
        (Ellipsis, slice(0, 2)),
        (1, 2),
        (),
    ],
    ids=str,
)
def test_scatter_add_is_the_adjoint_of_getitem(rng: np.random.Generator, index: Any) -> None:
    a = rng.standard_normal((2, 3))
    y = cpu.getitem(a, index)
    v = rng.standard_normal(np.shape(y)).astype(np.float32)
    z = cpu.scatter_add((2, 3), index, v)
    assert z.dtype == np.float32 and z.shape == (2, 3)
    assert np.sum(z.astype(np.float64) * a) == pytest.approx(np.sum(v.astype(np.float64) * y), rel=1e-5)


def test_scatter_add_adds_up_what_is_named_twice() -> None:
    assert_same(cpu.scatter_add((3,), (np.array([2, 0, 2]),), np.array([1.0, 2.0, 4.0])), np.array([2, 0, 5.0]))


@pytest.mark.parametrize(
    ("a", "shape"),
    [((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((2, 3), (2, 3)), ((1, 3), (3,)), ((), ())],
    ids=str,
)
def test_sum_to_shape_is_the_adjoint_of_broadcasting(rng: np.random.Generator, a: Any, shape: Any) -> None:
    g, x = rng.standard_normal(a), rng.standard_normal(shape)
    assert np.sum(sum_to_shape(cpu, np.asarray(g), shape) * x) == pytest.approx(np.sum(g * np.broadcast_to(x, a)))
    assert sum_to_shape(cpu, np.asarray(g), shape).shape == shape


def test_a_large_product_is_that_of_numpy_in_memory_that_comes_back(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((130, 40)), rng.standard_normal((300, 40)).T
    for dtype in (*FLOATS, np.int64):
        p, q = (10 * a).astype(dtype), (10 * b).astype(dtype)
        got = cpu.matmul(p, q)
        assert_same(got, p @ q)
        assert got.flags.c_contiguous and got.flags.writeable
    pool = workspace.Pool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", pool.empty)
        kept = cpu.matmul(a, b)
        before = kept.copy()
        where = cpu.matmul(a, -b).ctypes.data  # nobody holds this one
        assert cpu.matmul(-a, b).ctypes.data == where != kept.ctypes.data
        assert_same(kept, before)


def test_operands_of_two_dtypes_and_shapes_that_do_not_fit_are_left_to_numpy(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, 3)).astype(np.float32), rng.standard_normal((3, 200))
    assert cpu.matmul(a, b).dtype == np.float64
    with pytest.raises(ValueError, match="mismatch"):
        cpu.matmul(b, b)
