"""reshape, transpose, broadcast_to, concat, stack, split, expand_dims, squeeze, flip: against torch; messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_same

ONE = {
    "reshape": (lambda t: t.reshape(4, 6), lambda t: t.reshape(4, 6)),
    "reshape -1": (lambda t: t.reshape((3, -1)), lambda t: t.reshape(3, -1)),
    "reshape flat": (lambda t: ops.reshape(t, -1), lambda t: t.reshape(-1)),
    "transpose": (lambda t: t.transpose(), lambda t: t.permute(2, 1, 0)),
    "T": (lambda t: t.T, lambda t: t.permute(2, 1, 0)),
    "transpose axes": (lambda t: t.transpose(1, 2, 0), lambda t: t.permute(1, 2, 0)),
    "transpose negative": (lambda t: t.transpose((-1, 0, 1)), lambda t: t.permute(2, 0, 1)),
    "broadcast_to": (lambda t: t.broadcast_to((5, 2, 3, 4)), lambda t: t.expand(5, 2, 3, 4)),
    "broadcast from 1": (
        lambda t: t.sum(axis=1, keepdims=True).broadcast_to((2, 3, 4)),
        lambda t: t.sum(1, keepdim=True).expand(2, 3, 4),
    ),
    "expand_dims": (lambda t: ops.expand_dims(t, 1), lambda t: t.unsqueeze(1)),
    "expand_dims -1": (lambda t: ops.expand_dims(t, -1), lambda t: t.unsqueeze(-1)),
    "squeeze": (lambda t: ops.squeeze(t.reshape(2, 1, 12), 1), lambda t: t.reshape(2, 12)),
    "squeeze -1": (lambda t: ops.squeeze(t.reshape(2, 12, 1), -1), lambda t: t.reshape(2, 12)),
    "squeeze all": (lambda t: ops.squeeze(t.reshape(1, 24, 1)), lambda t: t.reshape(24)),
    "squeeze some": (lambda t: ops.squeeze(t.reshape(1, 24, 1), (0, 1)), lambda t: t.reshape(24, 1)),
    "squeeze none": (lambda t: ops.squeeze(t, 0), lambda t: t.squeeze(0)),
    "flip two": (lambda t: ops.flip(t, (0, -1)), lambda t: t.flip((0, 2))),
    "flip 0": (lambda t: ops.flip(t, 0), lambda t: t.flip(0)),
    "flip -1": (lambda t: ops.flip(t, -1), lambda t: t.flip(2)),
    "split even": (lambda t: t.split(2, axis=2), lambda t: t.split(2, 2)),
    "split uneven": (lambda t: t.split(3, axis=2), lambda t: t.split(3, 2)),
    "split large": (lambda t: t.split(7), lambda t: t.split(7)),
    "transpose two": (lambda t: t.transpose(0, 2), lambda t: t.transpose(0, 2)),
    "transpose two negative": (lambda t: ops.transpose(t, -1, 0), lambda t: t.transpose(-1, 0)),
    "transpose by names": (lambda t: t.transpose(dim0=1, dim1=2), lambda t: t.transpose(dim0=1, dim1=2)),
    "split sizes": (lambda t: t.split([1, 0, 3], axis=-1), lambda t: list(t.split([1, 0, 3], -1))),
}


@pytest.mark.parametrize("name", ONE)
def test_first_and_second_derivatives_are_those_of_differences(rng: np.random.Generator, name: str) -> None:
    assert mr.gradcheck(lambda t: ONE[name][0](t * t), [rng.standard_normal((2, 3, 4))], order=2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_and_stack_are_torchs(device: str, rng: np.random.Generator, axis: int) -> None:
    torch = pytest.importorskip("torch")
    shapes = [(2, 3, 4), (2, 3, 4), (2, 3, 4)]
    parts = [rng.standard_normal(s) for s in shapes]
    assert_agrees_with_torch(lambda *ts: ops.stack(ts, axis), lambda *ts: torch.stack(ts, axis), parts, rng, device)
    for size, part in enumerate((0, 1, 2)):
        parts[part] = np.take(parts[part], np.arange(size), axis=axis)  # sizes 0, 1, 2 along the axis
    assert_agrees_with_torch(lambda *ts: ops.concat(ts, axis), lambda *ts: torch.cat(ts, axis), parts, rng, device)
    if device == "cpu":
        assert mr.gradcheck(lambda a, b: ops.concat([a * a, b, a], axis), parts[1:], order=2)


@pytest.mark.parametrize("axis", [0, -1])
def test_stack_has_the_derivatives_of_differences(rng: np.random.Generator, axis: int) -> None:
    pair = [rng.standard_normal((2, 3)) for _ in range(2)]
    assert mr.gradcheck(lambda a, b: ops.stack([a * b, b, a], axis), pair, order=2)


def test_scalars_are_stacked_to_a_vector(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    assert_agrees_with_torch(
        lambda a, b: ops.stack([a, b]), lambda a, b: torch.stack([a, b]), [np.array(1.0), np.array(2.0)], rng
    )


def test_arrays_and_lists_may_stand_among_the_parts() -> None:
    t = mr.tensor([1.0], requires_grad=True)
    y = ops.concat([[5.0], t, np.float32([7])])
    assert_same(y, np.float32([5, 1, 7]))
    assert mr.grad(y, t, np.float32([2, 3, 4])).tolist() == [3]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1)], ids=str)
def test_small_shapes_survive_the_way_there_and_back(rng: np.random.Generator, shape: Any) -> None:
    def f(t: Any) -> Any:
        return t.reshape(shape).transpose().reshape(-1).reshape(shape).broadcast_to((2, *shape))

    assert_agrees_with_torch(f, lambda t: t.expand(2, *shape), [rng.standard_normal(shape)], rng)


def test_an_unknown_size_of_an_empty_tensor_is_zero() -> None:
    assert mr.tensor(np.ones((0, 3))).reshape(-1, 3).shape == (0, 3)
    assert mr.tensor(np.ones((0, 3))).reshape(-1).shape == (0,)


def test_numpy_integers_are_sizes() -> None:
    t = mr.tensor(np.ones((2, 3)))
    assert t.reshape(np.int64(6)).shape == (6,)
    assert t.reshape(np.int64(3), np.int64(2)).shape == (3, 2)
    assert ops.reshape(t, np.int32(6)).shape == (6,)
    assert t.transpose(np.int64(1), np.int64(0)).shape == (3, 2)
    assert t.transpose(0, 1).shape == (3, 2)
