"""Indexing, put_add and embedding: NumPy's results, gradients that add up if an element is read twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_close, assert_same
from tests.each import each

INDICES: dict[str, Any] = {
    "int": 1,
    "negative int": -1,
    "all ints": (1, -2, 3),
    "slice": slice(1, None),
    "steps": (slice(None), slice(None, None, 2)),
    "reversed": (slice(None, None, -1), slice(2, 0, -1)),
    "ellipsis": (..., 2),
    "nothing": (),
    "only ellipsis": ...,
    "new axes": (None, slice(None), None, 1),
    "empty slice": slice(5, 9),
    "integer array": np.array([1, 0, 1, 1]),
    "repeats": (slice(None), np.array([2, 2, 0, 2])),
    "negative integers": (0, np.array([-1, -1, 1])),
    "two arrays": (np.array([0, 1, 0]), np.array([2, 2, 2])),
    "arrays broadcast": (np.array([[0], [1]]), slice(None), np.array([3, 3, 0])),
    "matrix of indices": np.array([[1, 1], [0, 1]]),
    "list": ([1, 1, 0],),
    "empty list": ([],),
    "bool matrix": np.array([[True, False, True], [False, False, True]]),
    "bool of an axis": (slice(None), np.array([True, False, True])),
    "bool none": np.zeros((2, 3, 4), bool),
    "small integers": np.array([1, 0, 1], np.uint8),
    "array and None": (np.array([1, 1]), None, 2),
}


@each("name", INDICES)
def test_values_and_gradients_are_those_of_numpy_indexing(device: str, rng: np.random.Generator, name: str) -> None:
    index = INDICES[name]
    x = rng.standard_normal((2, 3, 4))
    t = mr.tensor(x, requires_grad=True, device=device)
    y = t[index]
    expected = x[index[0] if name in ("list", "empty list") and index != ([],) else index]
    if name == "empty list":
        expected = x[np.array([], int)]
    assert_same(y, expected)
    v = rng.standard_normal(y.shape)
    dx = np.zeros_like(x)
    np.add.at(dx, np.array([], int) if name == "empty list" else index, v)
    assert_close(mr.grad(y, t, v), dx)
    if device == "cpu":
        assert mr.gradcheck(lambda a: a[index] * a[index], [x], order=2)


@each("name", ["int", "integer array", "two arrays", "bool matrix", "steps", "repeats"])
def test_values_and_gradients_are_torchs(device: str, rng: np.random.Generator, name: str) -> None:
    torch = pytest.importorskip("torch")
    index = INDICES[name]
    theirs = tuple(
        torch.tensor(k) if isinstance(k, np.ndarray) else k for k in (index if isinstance(index, tuple) else (index,))
    )
    x = rng.standard_normal((2, 3, 4))
    assert_agrees_with_torch(lambda t: t[index], lambda t: t[theirs], [x], rng, device)


def test_tensors_are_indices_too() -> None:
    t = mr.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert t[mr.tensor([1, 0])].tolist() == [[3, 4], [1, 2]]
    assert t[mr.tensor(1), mr.tensor([0, 0])].tolist() == [3, 3]
    assert t[t > 1.5].tolist() == [2, 3, 4]
    assert t[np.int64(1), np.uint8(0)].item() == 3


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


# ---- put_add


@each("name", INDICES)
def test_put_add_is_the_adjoint_of_indexing(rng: np.random.Generator, name: str) -> None:
    x = rng.standard_normal((2, 3, 4))
    y = mr.tensor(x)[INDICES[name]]
    v = rng.standard_normal(y.shape)
    z = ops.put_add(x.shape, INDICES[name], v)
    assert_close((z * x).sum(), np.sum(v * y.numpy()))
    if v.size:
        assert mr.gradcheck(lambda a: ops.put_add(x.shape, INDICES[name], a * a), [v], order=2)


def test_scattered_values_are_broadcast_and_their_gradient_is_summed() -> None:
    v = mr.tensor([[1.0], [2.0]], requires_grad=True)
    y = ops.put_add((2, 3), (slice(None),), v)
    assert y.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert mr.grad(y, v, np.float32([[1, 2, 3], [4, 5, 6]])).tolist() == [[6], [15]]


def test_scattered_values_are_broadcast_on_every_device(device: str) -> None:
    for index in ([1, 1, 0], ([0, 1, 1], [2, 0, 0]), np.array([[True, False, True], [False, True, False]])):
        chosen = np.zeros((2, 3))[index].shape
        for shape in ((), chosen[-1:], chosen, (1, *chosen[1:])):
            v = (np.arange(1, 1 + np.prod(shape)) / 2).reshape(shape).astype(np.float32)
            expected = np.zeros((2, 3), np.float32)
            np.add.at(expected, index, v)
            assert_close(ops.put_add((2, 3), index, mr.tensor(v, device=device)), expected, what=f"{index}, {shape}")


# ---- embedding


@pytest.mark.parametrize("shape", [(3,), (2, 3), (), (0,)], ids=str)
def test_embedding_is_torchs_and_rows_read_twice_get_both_gradients(
    device: str, rng: np.random.Generator, shape: Any
) -> None:
    torch = pytest.importorskip("torch")
    weight, ids = rng.standard_normal((5, 4)), rng.integers(1, 3, shape)
    assert_agrees_with_torch(
        lambda w: ops.embedding(w, ids),
        lambda w: torch.nn.functional.embedding(torch.tensor(ids), w),
        [weight],
        rng,
        device,
    )
    if ids.size and device == "cpu":
        assert mr.gradcheck(lambda w: ops.embedding(w * w, ids), [weight], order=2)


def test_embedding_takes_tensors_lists_and_small_integers_as_ids() -> None:
    weight = mr.tensor([[1.0], [2.0], [3.0]])
    for ids in ([2, 0], mr.tensor([2, 0]), np.array([2, 0], np.uint8)):
        assert ops.embedding(weight, ids).tolist() == [[3], [1]]
