"""chunk, unbind and iteration: against torch, and linear in the number of pieces.

Tests `minirnn/ops/primitives/pieces.py` and, for the sums of cotangents, `minirnn/engine/outputs.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.counting import Counting
from minirnn.engine.outputs import Cotangents
from tests.compare import assert_same


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


def test_an_empty_axis_is_cut_into_empty_pieces() -> None:
    x = mr.zeros(0, 3)
    assert [p.shape for p in x.chunk(2)] == [(0, 3)] * 2 and [p.shape for p in x.split(2)] == [(0, 3)]
    assert list(x) == [] and x.unbind() == () and [len(p) for p in mr.arange(7).chunk(5)] == [2, 2, 2, 1]


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
