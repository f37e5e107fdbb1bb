"""linear, embedding, dropout, one_hot: rows of padding, sizes of 0."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close, assert_same


@pytest.mark.parametrize("shape", [(0, 4), (3, 0, 4), (4,)], ids=str)
def test_linear_takes_no_rows_and_one(shape: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    x = mr.tensor(rng.normal(size=shape), requires_grad=True, device=device)
    w, b = rng.normal(size=(5, 4)), rng.normal(size=5)
    y = F.linear(x, w, b)
    assert_close(y, x.numpy() @ w.T + b)
    assert mr.grad(y, x, np.ones(y.shape)).shape == shape


def test_the_order_of_embedding_is_torchs_and_that_of_the_op_the_tables_first(rng: np.random.Generator) -> None:
    table, ids = mr.tensor(rng.normal(size=(4, 3))), mr.tensor([2, 0])
    assert_close(F.embedding(ids, table), mr.ops.embedding(table, ids))
    with pytest.raises(TypeError, match="input has dtype float64\n  expected integers\n  likely exchanged"):
        F.embedding(table, ids)


def test_one_hot_is_int64_on_the_device_of_its_indices(device: str) -> None:
    y = F.one_hot(mr.tensor([[2, 0]], device=device), 4)
    assert y.device == device
    assert_same(y, np.array([[[0, 0, 1, 0], [1, 0, 0, 0]]]))
    assert F.one_hot(np.zeros((0, 2), int), 3).shape == (0, 2, 3)
    assert F.one_hot(np.zeros((0, 2), int), 1).shape == (0, 2, 1)
    with pytest.raises(ValueError, match="num_classes of 1 or more"):
        F.one_hot(np.zeros((0, 2), int), 0)
    assert F.one_hot(3).tolist() == [0, 0, 0, 1]


def test_dropout_scales_what_it_keeps_and_may_drop_all(device: str) -> None:
    mr.manual_seed(2)
    x = mr.tensor(np.full(40, 3.0), requires_grad=True, device=device)
    y = F.dropout(x, 0.25)
    assert set(y.tolist()) == {0.0, 4.0}
    assert_close(mr.grad(y, x, np.ones(40)), y.numpy() / 3)
    nothing = F.dropout(x, 1.0)
    assert not nothing.numpy().any()
    assert not mr.grad(nothing, x, np.ones(40)).numpy().any()
    before = str(mr.random.generator().bit_generator.state)
    assert F.dropout(x, 0.0) is x
    assert str(mr.random.generator().bit_generator.state) == before
    F.dropout(x)  # a half, while training, by default
    mr.manual_seed(3)
    assert_close(F.dropout(x), 6.0 * (mr.manual_seed(3).random(40) >= 0.5))


@pytest.mark.parametrize(
    ("x", "w", "transposed"),
    [((2, 5), (5, 4), True), ((2, 3), (5, 4), False), ((5,), (4,), False), ((), (5, 4), False)],
)
def test_a_transposed_weight_is_named_and_nothing_else_is(x: Any, w: Any, transposed: bool) -> None:
    with pytest.raises(ValueError, match=r"expected \(..., I\) with I = 4") as caught:
        F.linear(np.ones(x), np.ones(w))
    assert ("transposed" in str(caught.value)) == transposed


def test_without_inputs_linear_has_its_bias_alone() -> None:
    assert_close(F.linear(np.ones((2, 0)), np.ones((3, 0)), np.array([1.0, 2.0, 3.0])), [[1, 2, 3]] * 2)
    assert_close(F.linear(np.ones((2, 3, 0)), np.ones(0)), np.zeros((2, 3)))


def test_rows_and_classes_at_the_limits_are_taken_and_those_behind_them_refused() -> None:
    table = mr.tensor(np.ones((4, 3)))
    for row in (-4, 3):
        assert F.embedding([0], table, padding_idx=row).shape == (1, 3)
    for row in (-5, 4):
        with pytest.raises(ValueError, match="padding_idx is"):
            F.embedding([0], table, padding_idx=row)
    assert F.one_hot([0, 1], 2).tolist() == [[1, 0], [0, 1]]
    for ids, classes in (([0, 2], 2), ([-1, 0], 2), ([0], 0), ([0], -2)):
        with pytest.raises(ValueError, match="one_hot: "):
            F.one_hot(ids, classes)
