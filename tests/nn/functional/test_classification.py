"""cross_entropy and nll_loss: classes on axis 1, what is ignored, float16, messages."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close


def test_classes_are_on_axis_1_and_those_of_the_op_on_the_last(device: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 3, 3)), rng.integers(3, size=(3, 3))  # a shape in which they cannot be distinguished
    t = mr.tensor(x, device=device)
    rows = mr.tensor(np.moveaxis(x, -1, 1), device=device)
    for reduction in ("mean", "sum", "none"):
        assert_close(F.cross_entropy(rows, y, reduction=reduction), mr.ops.cross_entropy(t, y, reduction))
    assert F.cross_entropy(t, y).item() != pytest.approx(mr.ops.cross_entropy(t, y).item(), rel=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_what_is_ignored_has_no_gradient_and_may_be_infinite(smoothing: float, device: str) -> None:
    values = np.array([[1.0, 2.0, 0.5], [np.inf, 0.0, 1.0], [0.0, 1.0, 3.0]])
    nll = np.where(np.isinf(values), -np.inf, values)
    x = mr.tensor(nll, requires_grad=True, device=device)
    y = np.array([2, -1, 0])
    loss = F.nll_loss(x, y, ignore_index=-1, reduction="none")
    assert loss.tolist() == [-0.5, 0, 0]
    (g,) = mr.grad(loss, [x], np.ones(3))
    assert g.tolist() == [[0, 0, -1], [0, 0, 0], [-1, 0, 0]]
    two = mr.tensor(values[[0, 2]], device=device)
    three = mr.tensor(values.clip(max=9), device=device)
    kept = F.cross_entropy(two, y[[0, 2]], label_smoothing=smoothing)
    all_three = F.cross_entropy(three, y, ignore_index=-1, label_smoothing=smoothing)
    assert_close(all_three, kept)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_nothing_but_ignored_targets(reduction: str, smoothing: float) -> None:
    x = mr.tensor(np.zeros((2, 3)), requires_grad=True)
    loss = F.cross_entropy(x, [-100, -100], reduction=reduction, label_smoothing=smoothing)
    expected = {"mean": np.nan, "sum": 0.0, "none": np.zeros(2)}[reduction]
    assert_close(loss, expected)
    assert not mr.grad(loss, x, np.ones(loss.shape)).numpy().any()


def test_float16_is_summed_in_float32(device: str) -> None:
    rows = 70000  # whose number, as their sum, is beyond float16
    x = mr.tensor(np.zeros((rows, 2), np.float16), requires_grad=True, device=device)
    loss = F.cross_entropy(x, np.zeros(rows, int))
    assert loss.dtype == np.float16
    assert loss.item() == pytest.approx(np.log(2), rel=1e-3)
    assert mr.grad(loss, x).dtype == np.float16


def test_the_target_of_one_row_may_have_an_axis_of_size_1() -> None:
    x = np.array([0.0, 1.0, 2.0])
    for reduction in ("mean", "none"):
        loss = F.cross_entropy(x, [2], reduction=reduction)
        assert loss.shape == ()
        assert loss.item() == F.cross_entropy(x, 2, reduction=reduction).item()


def test_a_single_class_may_be_ignored_and_nothing_else_is_read() -> None:
    x = mr.tensor(np.array([[2.0], [3.0]]), requires_grad=True)
    loss = F.nll_loss(x, [0, -100], reduction="sum")
    assert loss.item() == -2
    assert mr.grad(loss, x).tolist() == [[-1], [0]]


def test_probabilities_have_no_ignored_index_and_no_rows_no_mean() -> None:
    p = np.full((2, 5), 0.2)
    for index in (0, 3):
        with pytest.raises(ValueError, match="probabilities are not indices"):
            F.cross_entropy(p, p, ignore_index=index)
    assert_close(F.cross_entropy(p, p, ignore_index=-1), np.log(5))
    assert np.isnan(F.cross_entropy(p[:0], p[:0]).item())
    assert F.cross_entropy(p[:0], p[:0], reduction="sum").item() == 0


def test_smoothing_may_be_all_or_nothing_and_no_more() -> None:
    x = np.array([[3.0, 1.0]])
    assert F.cross_entropy(x, [0], label_smoothing=1).item() == F.cross_entropy(x, [1], label_smoothing=1.0).item()
    assert_close(F.cross_entropy(x, [0], label_smoothing=1), F.cross_entropy(x, [[0.5, 0.5]]))
    for value in (-0.01, 1.01):
        with pytest.raises(ValueError, match="label_smoothing is"):
            F.cross_entropy(x, [0], label_smoothing=value)


@pytest.mark.parametrize(
    ("x", "y", "cause"),
    [
        ((2, 3), (2, 3), "likely one-hot"),
        ((2, 3, 4), (2, 3, 4), "likely one-hot"),
        ((2, 3, 4), (2, 3), "likely classes on the last axis"),
        ((2, 3), (3,), ""),
        ((2, 3, 4), (2, 5), ""),
        ((3,), (3,), "likely one-hot"),
        ((3,), (2,), ""),
    ],
)
def test_targets_of_another_shape_are_told_why(x: tuple[int, ...], y: tuple[int, ...], cause: str) -> None:
    with pytest.raises(ValueError, match="target has shape") as caught:
        F.nll_loss(np.zeros(x), np.zeros(y, int))
    assert caught.value.args[0].count("likely") == bool(cause)
    assert cause in str(caught.value)
