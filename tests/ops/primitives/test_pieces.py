"""chunk, unbind and iteration: against torch, and linear in the number of pieces.

Tests `minirnn/ops/primitives/pieces.py` and, for the sums of cotangents, `minirnn/engine/outputs.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from minirnn.devices.counting import Counting
from minirnn.engine.outputs import Cotangents
from tests.compare import assert_agrees_with_torch, assert_same
from tests.examples import examples


def test_the_pieces_are_those_of_an_index(device: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((4, 2, 3)).astype(np.float32)
    for t in (mr.tensor(a, device=device), mr.tensor(a, device=device, requires_grad=True)):
        for pieces in (list(t), t.unbind()):
            assert [p.requires_grad for p in pieces] == [t.requires_grad] * 4
            for k, piece in enumerate(pieces):
                assert_same(piece, a[k])
    for dtype in ("int64", "bool", "float16"):
        for k, piece in enumerate(mr.tensor(a.astype(dtype), device=device)):
            assert_same(piece, a.astype(dtype)[k])


def test_what_was_not_walked_over_gets_zeros(device: str) -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4], [5, 6]]), requires_grad=True, device=device)
    for x_t in x:
        if x_t.numpy()[0] == 3:
            break
    assert_same(mr.grad((x_t * x_t).sum(), x), np.float32([[0, 0], [6, 8], [0, 0]]))
    steps = iter(x)
    first = next(steps)
    assert_same(mr.grad(first.sum(), x, retain_graph=True), np.float32([[1, 1], [0, 0], [0, 0]]))
    assert_same(mr.grad((next(steps) * first).sum(), x), np.float32([[3, 4], [1, 2], [0, 0]]))


def test_pieces_have_hooks_and_gradients_of_their_own() -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4], [5, 6]]), requires_grad=True)
    a, b, c = x
    a.retain_grad()
    b.register_hook(lambda g: g * 10.0)
    (a * a + b * c).sum().backward()
    assert_same(a.grad, np.float32([2, 4]))
    assert_same(x.grad, np.float32([[2, 4], [50, 60], [3, 4]]))
    a, b, c = x
    assert_same(mr.grad((a * b).sum(), b, retain_graph=True), np.float32([1, 2]))
    da, dx = mr.grad((a * b * b).sum(), [a, x], create_graph=True)
    assert_same(da, np.float32([9, 16]))
    assert_same(mr.grad(dx.sum(), x), np.float32([[6, 8], [6 + 2, 8 + 4], [0, 0]]))


def test_nothing_is_recorded_where_nothing_is_asked_for() -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4]]), requires_grad=True)
    with mr.no_grad():
        pieces = list(x)
    assert not any(p.requires_grad for p in pieces)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 0, 2)], ids=str)
def test_empty_axes(device: str, rng: np.random.Generator, shape: Any) -> None:
    for axis in range(len(shape)):
        x = rng.standard_normal(shape)
        unbound = mr.tensor(x, requires_grad=True, device=device).unbind(axis)
        assert len(unbound) == shape[axis]
        assert len(list(mr.tensor(x, device=device))) == shape[0]
        for n in (1, 2, 3):
            assert_agrees_with_torch(
                lambda t, n=n, k=axis: t.chunk(n, k), lambda t, n=n, k=axis: t.chunk(n, k), [x], rng, device
            )
            assert_agrees_with_torch(
                lambda t, n=n, k=axis: t.split(n, k), lambda t, n=n, k=axis: t.split(n, k), [x], rng, device
            )
        if shape[axis]:
            assert_agrees_with_torch(lambda t, k=axis: t.unbind(k), lambda t, k=axis: t.unbind(k), [x], rng, device)
    assert [p.shape for p in mr.tensor(np.ones((0, 3))).split(0)] == [(0, 3)]


@examples(60)
@given(n=st.integers(0, 9), size=st.integers(1, 11))
def test_pieces_have_the_sizes_that_torch_gives_them(n: int, size: int) -> None:
    a = np.arange(n)
    expected = [a[k : k + size] for k in range(0, n, size)] or [a]
    got = mr.tensor(a).split(size)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert_same(g, e)
    chunks = mr.tensor(a).chunk(size)
    largest = -(-n // size)
    assert [len(c) for c in chunks] == ([min(largest, n - k) for k in range(0, n, largest)] if n else [0] * size)


def test_the_work_of_a_walk_grows_with_its_length_and_not_with_its_square() -> None:
    """Each step adds the same number of operations of the device, forward and backward."""

    def counted(T: int) -> int:
        counting = Counting("cpu")
        x = mr.tensor(np.ones((T, 2), np.float32), requires_grad=True, device=counting)
        total = mr.tensor(np.zeros(2, np.float32), device=counting)
        for x_t in x:
            total = total + x_t
        total.sum().backward()
        assert x.grad is not None
        return counting.total().bytes

    few, many, more = (counted(T) for T in (10, 20, 40))
    assert more - many == 2 * (many - few)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_many_pieces_are_gathered_in_one_place(
    monkeypatch: pytest.MonkeyPatch, create_graph: bool
) -> None:
    """Not in a new dictionary for each: that alone would be quadratic."""
    moved = []
    join = Cotangents.join

    def watched(self: Cotangents, others: Cotangents) -> None:
        moved.append(len(others))
        join(self, others)

    monkeypatch.setattr(Cotangents, "join", watched)
    T = 50
    x = mr.tensor(np.ones((T, 2)), requires_grad=True)
    mr.grad(ops.stack([x_t * x_t for x_t in x]).sum(), x, create_graph=create_graph)
    assert sum(moved) == T - 1
