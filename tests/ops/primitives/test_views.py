"""view, permute, movedim, flatten, expand, repeat and relatives: against torch."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from tests.compare import assert_agrees_with_torch, assert_same
from tests.each import each
from tests.examples import examples

CASES: dict[str, tuple[Any, Any]] = {
    "view": (lambda t: t.view(4, 6), lambda t: t.view(4, 6)),
    "view -1": (lambda t: ops.view(t, (3, -1)), lambda t: t.view(3, -1)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda t: t.permute(2, 0, 1)),
    "permute tuple": (lambda t: t.permute((-1, 1, 0)), lambda t: t.permute((-1, 1, 0))),
    "swapaxes": (lambda t: t.swapaxes(0, -1), lambda t: t.swapaxes(0, -1)),
    "movedim": (lambda t: t.movedim(0, 2), lambda t: t.movedim(0, 2)),
    "movedim back": (lambda t: t.movedim(-1, 0), lambda t: t.movedim(-1, 0)),
    "movedim two": (lambda t: t.movedim((0, 1), (2, 0)), lambda t: t.movedim((0, 1), (2, 0))),
    "mT": (lambda t: t.mT, lambda t: t.mT),
    "t": (lambda t: t[0].t(), lambda t: t[0].t()),
    "t of a vector": (lambda t: t[0, 0].t(), lambda t: t[0, 0].t()),
    "unsqueeze": (lambda t: t.unsqueeze(1), lambda t: t.unsqueeze(1)),
    "unsqueeze -1": (lambda t: t.unsqueeze(dim=-1), lambda t: t.unsqueeze(dim=-1)),
    "squeeze": (lambda t: t[:, :1].squeeze(), lambda t: t[:, :1].squeeze()),
    "squeeze 1": (lambda t: t[:, :1].squeeze(1), lambda t: t[:, :1].squeeze(1)),
    "squeeze two": (lambda t: t[:1, :1].squeeze(dim=(0, 2)), lambda t: t[:1, :1].squeeze(dim=(0, 2))),
    "flatten": (lambda t: t.flatten(), lambda t: t.flatten()),
    "flatten from": (lambda t: t.flatten(1), lambda t: t.flatten(1)),
    "flatten to": (lambda t: t.flatten(start_dim=0, end_dim=-2), lambda t: t.flatten(start_dim=0, end_dim=-2)),
    "unflatten": (lambda t: t.unflatten(-1, (2, 2)), lambda t: t.unflatten(-1, (2, 2))),
    "unflatten -1": (lambda t: t.unflatten(2, (-1, 1, 2)), lambda t: t.unflatten(2, (-1, 1, 2))),
    "expand": (lambda t: t[:, :1].expand(2, 5, 4), lambda t: t[:, :1].expand(2, 5, 4)),
    "expand -1": (lambda t: t[:, :1].expand(5, -1, 3, -1), lambda t: t[:, :1].expand(5, -1, 3, -1)),
    "expand_as": (lambda t: t[0, :, :1].expand_as(t[0]), lambda t: t[0, :, :1].expand_as(t[0])),
    "repeat": (lambda t: t.repeat(1, 3, 2), lambda t: t.repeat(1, 3, 2)),
    "repeat more": (lambda t: t.repeat((2, 1, 1, 3)), lambda t: t.repeat((2, 1, 1, 3))),
    "repeat 0": (lambda t: t.repeat(1, 0, 2), lambda t: t.repeat(1, 0, 2)),
    "tile": (lambda t: t.tile((2, 3)), lambda t: t.tile((2, 3))),
    "flip varargs": (lambda t: t.flip(0, 2), lambda t: t.flip(0, 2)),
    "flip dims": (lambda t: t.flip(dims=(1,)), lambda t: t.flip(dims=(1,))),
    "narrow": (lambda t: t.narrow(2, 1, 2), lambda t: t.narrow(2, 1, 2)),
    "narrow from the end": (lambda t: t.narrow(-1, -3, 2), lambda t: t.narrow(-1, -3, 2)),
    "roll": (lambda t: t.roll(1, 2), lambda t: t.roll(1, 2)),
    "roll two": (lambda t: t.roll((-1, 5), (0, 1)), lambda t: t.roll((-1, 5), (0, 1))),
    "roll all": (lambda t: t.roll(7), lambda t: t.roll(7)),
    "view_as": (lambda t: t.view_as(t.reshape(4, 6)), lambda t: t.view_as(t.reshape(4, 6))),
    "tril": (lambda t: t.tril(), lambda t: t.tril()),
    "triu": (lambda t: t.triu(diagonal=1), lambda t: t.triu(diagonal=1)),
    "ravel": (lambda t: t.ravel(), lambda t: t.ravel()),
}


@pytest.mark.parametrize("name", [n for n in CASES if n != "repeat 0"])
def test_first_and_second_derivatives_are_those_of_differences(rng: np.random.Generator, name: str) -> None:
    assert mr.gradcheck(lambda t: CASES[name][0](t * t), [rng.standard_normal((2, 3, 4))], order=2)


EMPTY: dict[str, Any] = {
    "flatten": lambda t: t.flatten(0, 1),
    "flatten all": lambda t: t.flatten(),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t.squeeze(),
    "permute": lambda t: t.permute(2, 0, 1),
    "movedim": lambda t: t.movedim(2, 0),
    "mT": lambda t: t.mT,
    "expand": lambda t: t.unsqueeze(0).expand(0, -1, -1, -1),
    "expand more": lambda t: t.expand(2, *t.shape),
    "repeat": lambda t: t.repeat(2, 2, 3),
    "roll": lambda t: t.roll((1, 2), (0, 2)),
    "narrow": lambda t: t.narrow(1, t.shape[1], 0),
    "view": lambda t: t.view(t.shape[2], -1, 1) if t.shape[2] else t.view(0, 3),
}


@each("empty", [0, 1, 2])
@each("name", EMPTY)
def test_axes_of_size_0(device: str, rng: np.random.Generator, name: str, empty: int) -> None:
    shape = [2, 3, 4]
    shape[empty] = 0
    assert_agrees_with_torch(EMPTY[name], EMPTY[name], [rng.standard_normal(shape)], rng, device)


def test_small_shapes() -> None:
    a = mr.tensor(2.0)
    assert a.flatten().shape == a.view(1).shape == a.view((1,)).shape == (1,)
    assert a.view(()).shape == a.squeeze().shape == a.t().shape == ()
    assert a.expand(3).shape == a.repeat(3).shape == (3,)
    assert a.unsqueeze(0).shape == a.unsqueeze(-1).shape == (1,)
    assert mr.tensor([1, 2]).unflatten(0, [2, 1]).dtype == np.int64


@examples(100)
@given(data=st.data())
def test_values_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    a = np.arange(prod(shape)).reshape(shape)
    t, n = mr.tensor(a), len(shape)
    axis = st.integers(-n, n - 1)
    i, j = data.draw(axis), data.draw(axis)
    assert_same(t.swapaxes(i, j), a.swapaxes(i, j))
    assert_same(t.transpose(i, j), a.swapaxes(i, j))
    assert_same(t.movedim(i, j), np.moveaxis(a, i, j))
    assert_same(t.unsqueeze(i), np.expand_dims(a, i))
    assert_same(t.flip(i), np.flip(a, i))
    order = data.draw(st.permutations(range(n)))
    assert_same(t.permute(*order), a.transpose(order))
    several = order[: data.draw(st.integers(0, n))]
    assert_same(t.movedim(several, order[::-1][: len(several)]), np.moveaxis(a, several, order[::-1][: len(several)]))
    times = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n + 2))
    assert_same(t.repeat(*times), np.tile(a, times))
    assert_same(t.tile(times[:1]), np.tile(a, times[:1]))
    low, high = sorted((i % n, j % n))
    assert_same(t.flatten(low, high), a.reshape(*shape[:low], prod(shape[low : high + 1]), *shape[high + 1 :]))
    assert_same(t.flatten(low, high).unflatten(low, shape[low : high + 1]), a)
