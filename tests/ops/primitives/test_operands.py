"""Operands of operators: Tensors, Python numbers, NumPy arrays on either side; results have torch's dtypes.

Tests `minirnn/engine/operands.py` through the public functions.
"""

import operator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.engine.tensor import leaf
from tests.compare import assert_same
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


RANKS = {"b": 0, "i": 1, "u": 1, "f": 2}


def as_torch_computes(f: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Arrays and numbers in the dtypes in which torch computes with them, so that NumPy does the same."""
    if f in COMPARISONS:
        return a, b
    kinds = [RANKS[np.asarray(x).dtype.kind] for x in (a, b)]
    if max(kinds) < 2 and f is operator.truediv:
        return [np.asarray(x)[()].astype(np.float32) for x in (a, b)]
    typed = [x for x, kind in zip((a, b), kinds, strict=True) if hasattr(x, "dtype") and kind == max(kinds)]
    if not typed:  # a number of a higher kind
        dtype = np.dtype(np.float32) if max(kinds) == 2 else np.dtype(np.int64)
    else:
        dtype = np.result_type(*([x.dtype for x in typed if x.ndim] or [x.dtype for x in typed]))
    with np.errstate(over="ignore"):
        return [
            np.asarray(x)[()].astype(dtype) if hasattr(x, "dtype") or min(kinds) < max(kinds) else x for x in (a, b)
        ]


@each("f", [*OPERATORS, operator.floordiv, operator.mod, mr.maximum, mr.where], ids=str)
def test_mixed_dtypes_are_torchs(f: Any) -> None:
    torch = pytest.importorskip("torch")
    known = [d for d in DTYPES if d[:5] != "uint1" and d[:5] != "uint3"]
    cases = [((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((), ())]
    for left in known:
        for right in (*known, 2, 0.5):
            for shapes in cases:
                a = values(left, shapes[0])
                b = values(right, shapes[1]) if isinstance(right, str) else right
                if f in (operator.floordiv, operator.mod, operator.sub, operator.pow) and "bool" in (left, right):
                    continue  # torch refuses most of them
                if f is mr.maximum and not isinstance(right, str):
                    continue
                of_torch = {mr.maximum: torch.maximum, mr.where: lambda x, y: torch.where(torch.tensor(True), x, y)}
                of_ours = {mr.where: lambda x, y: mr.where(mr.tensor(True), x, y)}
                theirs = of_torch.get(f, f)(torch.tensor(a), torch.tensor(b) if isinstance(right, str) else b)
                with np.errstate(over="ignore"):
                    ours = of_ours.get(f, f)(mr.tensor(a), mr.tensor(b) if isinstance(right, str) else b)
                found = str(theirs.dtype)[6:], tuple(theirs.shape)
                assert (ours.dtype.name, ours.shape) == found, (left, right, shapes)


@each("f", OPERATORS, ids=NAMES)
@each("left", DTYPES)
def test_two_tensors_give_the_values_that_numpy_gives_in_torchs_dtype(left: str, f: Any) -> None:
    for right in DTYPES:
        for shape in ((2, 3), ()):
            a, b = values(left), values(right, shape)
            expected = outcome(f, *as_torch_computes(f, a, b))
            same_outcome(outcome(f, mr.tensor(a), mr.tensor(b)), expected)


SCALARS = [2, -1, 0, 1, 3, 2.0, 0.5, -1.0, -0.0, 1.0, 3.0, 0.1, True, False, 300, float("inf")]


@each("f", OPERATORS, ids=NAMES)
@each("scalar", SCALARS, ids=repr)
def test_a_python_number_takes_the_dtype_of_the_tensor_or_of_torch(scalar: Any, f: Any) -> None:
    for dtype in DTYPES:
        limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        if limits and type(scalar) is int and not limits.min <= scalar <= limits.max:
            continue  # see test_a_number_that_an_integer_dtype_cannot_hold_is_an_error
        if dtype == "bool" and f is operator.pow:
            continue  # NumPy: int8 for arrays squared, int64 for scalars squared
        for shape in ((2, 3), ()):
            a = values(dtype, shape)
            with np.errstate(all="ignore"):
                same_outcome(outcome(f, mr.tensor(a), scalar), outcome(f, *as_torch_computes(f, a, scalar)))
                same_outcome(outcome(f, scalar, mr.tensor(a)), outcome(f, *as_torch_computes(f, scalar, a)))


@pytest.mark.parametrize("f", OPERATORS, ids=NAMES)
def test_a_number_that_an_integer_dtype_cannot_hold_is_an_error(f: Any) -> None:
    """NumPy refuses it in + - * **, but not in / and in comparisons; here it is one rule."""
    for dtype, scalar in (("int8", 300), ("uint8", -1), ("uint32", -1)):
        with pytest.raises(OverflowError):
            f(mr.tensor(values(dtype)), scalar)


@pytest.mark.slow_elsewhere
@each("dtype", ["float16", "float32", "float64", "int8", "int64"])
@each("kind", [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_])
def test_a_numpy_scalar_on_either_side_counts_like_a_python_number(device: str, kind: Any, dtype: str) -> None:
    a, s = np.array([1.0, 2.0]).astype(dtype), kind(1)
    t = mr.tensor(a, device=device)
    for f in OPERATORS:
        there, back = as_torch_computes(f, a, s.item()), as_torch_computes(f, s.item(), a)
        for got, expected in ((f(t, s), f(*there)), (f(s, t), f(*back))):
            assert isinstance(got, mr.Tensor)
            assert_same(got, expected)


def test_a_numpy_scalar_never_widens_a_tensor() -> None:
    x = mr.tensor([1.0, 4.0], requires_grad=True)
    for y in (x / np.sqrt(64), np.float64(3) - x, x ** np.float64(2), ops.where(x > np.float64(2), x, np.float64(0))):
        assert y.dtype == np.float32
        assert mr.grad(y.sum(), x).dtype == np.float32
    assert ops.maximum(x, np.float64(2)).dtype == ops.maximum(np.int64(2), x).dtype == np.float32
    assert (mr.tensor(np.float16([1])) * np.float64(2)).dtype == np.float16
    assert (x * np.array([2.0, 3.0])).dtype == np.float64  # an array has its own dtype


def test_an_array_operand_is_copied(rng: np.random.Generator) -> None:
    a, t = np.array([2.0, 3.0]), mr.tensor([5.0, 7.0], requires_grad=True, dtype=np.float64)
    y = (a * t).sum()
    a[:] = 0
    assert mr.grad(y, t).tolist() == [2, 3]


def test_lists_are_operands_of_functions() -> None:
    assert_same(ops.add([1.0, 2.0], [3, 4]), np.float32([4.0, 6.0]))
    assert_same(ops.multiply(2.0, np.float16([1.5])), np.float16([3]))
    assert_same(ops.multiply(np.float16([1.5]), 2.0), np.float16([3]))
    assert_same(ops.where(np.array([True, False]), 2.0, np.float16([1.5, 1.5])), np.float16([2, 1.5]))


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


def test_gradients_cross_devices_with_to() -> None:
    other = OtherDevice()
    a = mr.tensor([1.0, 2.0], requires_grad=True)
    y = a.to(other) * leaf(other, np.float32([3, 4]))
    assert y.device == "other"
    g = mr.grad(y.sum(), a)
    assert g.device == "cpu"
    assert g.tolist() == [3, 4]
    assert a.to("cpu") is a
