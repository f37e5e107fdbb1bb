"""Tensor: construction, reading, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.tensor import as_tensor
from tests.compare import assert_same
from tests.each import each

NUMBERS = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


# ---- making


@each("dtype", [*NUMBERS, "bool"])
@each("shape", [(), (0,), (1,), (2, 3), (2, 0, 3)], ids=str)
def test_arrays_keep_values_dtype_and_shape(device: str, dtype: str, shape: Any) -> None:
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    t = mr.tensor(a, device=device)
    assert_same(t.numpy(), a)
    assert (t.shape, t.dtype, t.ndim, t.size) == (a.shape, a.dtype, a.ndim, a.size)
    assert t.device == device


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.5, "float32"),
        (2, "int64"),
        (True, "bool"),
        ([1.0, 2], "float32"),
        ([[1, 2], [3, 4]], "int64"),
        ([[1.0], [2.0]], "float32"),
        ((), "float32"),
        ([[], []], "float32"),
        ([True, False], "bool"),
        (np.float64(1.5), "float64"),
        (np.float16(1.5), "float16"),
        ([np.float64(1.5)], "float64"),
        ([np.ones(2), np.ones(2)], "float64"),
        (range(3), "int64"),
    ],
    ids=repr,
)
def test_python_floats_become_float32_and_typed_values_keep_their_dtype(data: Any, dtype: str) -> None:
    t = mr.tensor(data)
    assert t.dtype == dtype
    assert t.tolist() == np.array(data).tolist()


def test_a_dtype_may_be_asked_for() -> None:
    assert mr.tensor([1, 2], dtype=np.float16).dtype == np.float16
    assert mr.tensor(np.ones(2), dtype="float32").dtype == np.float32
    assert mr.tensor([1.9, -1.9], dtype=int).tolist() == [1, -1]
    assert mr.tensor([1, 0], dtype=bool).tolist() == [True, False]


def test_big_endian_and_strided_arrays_become_ordinary_ones() -> None:
    a = np.arange(6, dtype=">f8").reshape(2, 3)[:, ::-1].T
    t = mr.tensor(a)
    assert t.dtype == np.float64 and t.dtype.isnative
    assert t.tolist() == a.tolist()


@pytest.mark.parametrize(
    "data", [np.ones((2, 3)), np.float64(1.0), mr.tensor([1.0, 2.0])], ids=["array", "0-d", "Tensor"]
)
def test_values_are_copied(data: Any) -> None:
    t = mr.tensor(data)
    assert not np.shares_memory(t.array, np.asarray(data))


def test_a_tensor_made_from_a_tensor_is_a_separate_leaf() -> None:
    a = mr.tensor([1.0, 2.0], requires_grad=True)
    t = mr.tensor(a * 2)
    assert t.is_leaf and not t.requires_grad
    assert t.tolist() == [2, 4]
    assert mr.tensor([a[0], a[1]]).tolist() == [1, 2]


def test_as_tensor_hands_on_what_fits_and_converts_the_rest() -> None:
    t = mr.tensor([1.0, 2.0])
    assert as_tensor(t) is t
    assert as_tensor(t, dtype=np.float32) is t
    assert as_tensor(t, device=t.device) is t
    assert as_tensor(t, dtype=np.float64).dtype == np.float64
    assert as_tensor([1.0]).dtype == np.float32


# ---- reading


def test_numpy_is_a_read_only_view() -> None:
    t = mr.tensor([1.0, 2.0])
    a = t.numpy()
    assert np.shares_memory(a, t.array)
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 5
    assert np.asarray(t).flags.writeable is False
    assert t.array.flags.writeable  # only the view is


def test_asarray_and_array_obey_dtype_and_copy() -> None:
    t = mr.tensor([1.5, 2.5])
    assert np.shares_memory(np.asarray(t), t.array)
    assert np.shares_memory(np.asarray(t, dtype=np.float32), t.array)
    assert_same(np.asarray(t, dtype=np.float64), np.array([1.5, 2.5]))
    fresh = np.array(t)
    assert fresh.flags.writeable and not np.shares_memory(fresh, t.array)
    assert np.shares_memory(np.array(t, copy=False), t.array)
    with pytest.raises(ValueError, match="float32 cannot become float64 without a copy"):
        np.array(t, dtype=np.float64, copy=False)


def test_scalars_come_out_as_python_numbers() -> None:
    assert mr.tensor(2.5).item() == 2.5 and isinstance(mr.tensor(2.5).item(), float)
    assert mr.tensor([[3]]).item() == 3 and isinstance(mr.tensor(3).item(), int)
    assert mr.tensor(True).item() is True
    assert float(mr.tensor([2.5])) == 2.5
    assert int(mr.tensor(2.9)) == 2
    assert [10, 20, 30][mr.tensor(1)] == 20
    assert list(range(5))[mr.tensor(1) : mr.tensor(3)] == [1, 2]
    assert bool(mr.tensor([0.0])) is False


def test_len_is_the_first_axis() -> None:
    assert len(mr.tensor(np.ones((3, 2)))) == 3


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (mr.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (mr.tensor(3), "tensor(3)"),
        (mr.tensor(np.ones((2, 2))), "tensor([[1., 1.],\n        [1., 1.]], dtype=float64)"),
        (mr.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (mr.tensor([1.0], requires_grad=True) * 2, "tensor([2.], op=Multiply)"),
        (mr.tensor(np.ones((0, 3), np.float32)), "tensor([], shape=(0, 3))"),
    ],
    ids=["floats", "int", "matrix", "leaf", "op", "empty"],
)
def test_repr_says_values_dtype_and_op(t: mr.Tensor, text: str) -> None:
    assert repr(t) == text


def test_repr_of_a_large_tensor_is_short() -> None:
    text = repr(mr.tensor(np.ones((100, 100))))
    assert len(text) < 500
    assert text.endswith("shape=(100, 100), dtype=float64)")


# ---- sharing memory with others


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
def test_dlpack_gives_numpy_a_read_only_view(shape: Any) -> None:
    t = mr.tensor(np.ones(shape))
    a = np.from_dlpack(t)
    assert_same(a, np.ones(shape))
    assert not a.flags.writeable
    if shape == (2, 3):
        assert np.shares_memory(a, t.array)


def test_dlpack_reaches_torch_and_comes_back() -> None:
    torch = pytest.importorskip("torch")
    t = mr.tensor(np.arange(6.0).reshape(2, 3))
    assert t.__dlpack__() is not None and t.__dlpack_device__() == (1, 0)  # the first version of the protocol
    for view in (t, t.T, t.broadcast_to((4, 2, 3)), t[0, 1]):
        u = torch.from_dlpack(view)
        assert_same(u.numpy(), view.numpy())
        assert_same(mr.tensor(np.from_dlpack(u)).numpy(), view.numpy())


def test_dlpack_is_not_offered_for_arrays_of_another_device() -> None:
    t = mr.tensor([1.0])
    t.array = object()
    for f in (t.__dlpack__, t.__dlpack_device__):
        with pytest.raises(BufferError, match="DLPack works only on the cpu device"):
            f()


# ---- changing


def test_a_leaf_that_requires_gradients_is_written_into_where_nothing_is_recorded() -> None:
    p, same = mr.tensor([1.0, 2.0], requires_grad=True), []
    for write in (lambda t: t.__iadd__(1), lambda t: t.mul_(2), lambda t: t[0].zero_(), lambda t: t.view(-1).neg_()):
        with pytest.raises(RuntimeError, match=r"a .*leaf that requires gradients\n.*`with mr.no_grad\(\):`"):
            write(p)
    assert p.tolist() == [1, 2]
    same.append(p)
    y = p * p
    with mr.no_grad():
        p -= mr.tensor([0.5, 0.25])
        p[1] = 7.0
    assert same[0] is p and p.tolist() == [0.5, 7] and p.requires_grad and p.is_leaf
    with pytest.raises(RuntimeError, match="an input of Multiply .* was changed by assign"):
        y.backward([1.0, 1.0])


def test_assign_replaces_the_values_and_keeps_dtype_and_identity() -> None:
    t = mr.tensor([1.0, 2.0], requires_grad=True)
    a, before = np.array([3.0, 4.0]), t.numpy()
    assert t.assign(a) is t
    a[:] = 9
    assert before.tolist() == [1, 2]
    assert_same(t.numpy(), np.float32([3, 4]))
    assert t.requires_grad
    assert t.assign(mr.tensor([5, 6])).tolist() == [5, 6] and t.dtype == np.float32
    assert mr.tensor(1.0).assign(2).item() == 2


# ---- numbers and text


def test_a_tensor_of_one_element_is_formatted_like_its_number(device: str) -> None:
    loss = mr.tensor(1.23456, device=device)
    assert f"{loss:.3f}" == "1.235" and f"{loss:10.2e}" == "  1.23e+00" and f"{loss}" == str(loss.item())
    assert f"{mr.tensor([2.5], device=device):.2f}" == "2.50" and f"{mr.tensor(7):03d}" == "007"
    assert f"{mr.tensor([1.0, 2.0])}" == str(mr.tensor([1.0, 2.0])) and f"{mr.tensor([1.0])}" == "tensor([1.])"
    assert round(loss, 2) == 1.23 and round(loss) == 1 and type(round(loss)) is int
    assert round(mr.tensor([[2.5]])) == 2


def test_a_list_may_hold_tensors_of_one_element(device: str) -> None:
    a, b = mr.tensor(1.5, device=device), mr.tensor([2.5], device=device)
    assert_same(mr.tensor([a, b]), np.float32([1.5, 2.5]))
    assert_same(mr.tensor([[a, 1], [2, b]]), np.float32([[1.5, 1], [2, 2.5]]))
    assert mr.tensor([mr.tensor(1.0, dtype=np.float64)]).dtype == np.float64
    for listed in ([mr.tensor([1.0, 2.0])], [[1.0], (mr.tensor([1.0, 2.0]),)], [mr.tensor(np.ones((0, 2)))]):
        with pytest.raises(ValueError, match=r"holds a Tensor of shape .*\n.*\n  likely mr.stack\(tensors\)"):
            mr.tensor(listed)
