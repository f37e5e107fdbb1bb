"""ctc_loss: against the sum over all paths, differences, the cases in which nothing fits."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close

T, B, C = 5, 4, 4


def logs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return mr.ops.log_softmax(rng.normal(size=shape)).numpy()


def test_what_comes_after_the_lengths_does_not_matter(device: str, rng: np.random.Generator) -> None:
    x, targets, steps, sizes = logs(rng, T, 2, C), np.array([[1, 2, 3], [3, 0, 0]]), [5, 2], [3, 1]
    poisoned, other = x.copy(), targets.copy()
    poisoned[2:, 1] = np.nan
    other[1, 1:] = -7
    results = []
    for values, labels in ((x, targets), (poisoned, other)):
        t = mr.tensor(values, requires_grad=True, device=device)
        loss = F.ctc_loss(t, labels, steps, sizes)
        results.append((loss.item(), mr.grad(loss, t).numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert not results[0][1][2:, 1].any()


def test_derivatives_after_log_softmax_agree_with_differences(rng: np.random.Generator) -> None:
    targets, steps, sizes = [[1, 1, 2], [3, 0, 0], [0, 0, 0]], [5, 4, 3], [3, 1, 0]

    def loss(x: mr.Tensor) -> mr.Tensor:
        return F.ctc_loss(F.log_softmax(x, 2), targets, steps, sizes, reduction="none")

    assert mr.gradcheck(loss, [rng.normal(size=(T, 3, C))], order=2, max_entries=0, directions=3)


def test_a_target_that_does_not_fit(device: str, rng: np.random.Generator) -> None:
    x = mr.tensor(logs(rng, T, 2, C), requires_grad=True, device=device)
    arguments: Any = (x, [[1, 1, 1], [2, 0, 0]], [4, 4], [3, 1])  # 1, 1, 1 needs two blanks between: five steps
    loss = F.ctc_loss(*arguments, reduction="none")
    assert loss.tolist()[0] == np.inf
    g = mr.grad(loss, x, np.ones(2)).numpy()
    assert np.isnan(g[:4, 0]).all()
    assert np.isfinite(g[:, 1]).all()
    assert not g[4].any()
    zeroed = F.ctc_loss(*arguments, reduction="none", zero_infinity=True)
    assert_close(zeroed, [0, loss.tolist()[1]])
    h = mr.grad(zeroed, x, np.ones(2)).numpy()
    assert_close(h[:, 1], g[:, 1])
    assert not h[:, 0].any()
    assert F.ctc_loss(*arguments).item() == np.inf


def test_probabilities_of_zero_and_long_inputs_stay_finite(device: str) -> None:
    steps = 400 if device == "cpu" else 40
    x = np.full((steps, 1, 3), -np.inf)
    x[..., :2] = np.log(0.5)
    t = mr.tensor(x, requires_grad=True, device=device)
    loss = F.ctc_loss(t, [1, 1], [steps], [2], reduction="sum")
    assert steps / 3 < loss.item() < steps * np.log(2)
    assert np.isfinite(mr.grad(loss, t).numpy()).all()
    assert F.ctc_loss(t, [2], [steps], [1]).item() == np.inf


def test_float16_is_computed_in_float32(rng: np.random.Generator) -> None:
    x = logs(rng, T, 2, C).astype(np.float16)
    loss = F.ctc_loss(x, [1, 2, 1], [5, 3], [2, 1])
    assert loss.dtype == np.float16
    assert loss.item() == pytest.approx(F.ctc_loss(x.astype(np.float32), [1, 2, 1], [5, 3], [2, 1]).item(), rel=1e-3)


def test_nothing_to_say_takes_blanks_and_no_time_says_nothing(device: str, rng: np.random.Generator) -> None:
    x = logs(rng, T, 3, C)
    t = mr.tensor(x, requires_grad=True, device=device)
    steps = [5, 2, 0]
    loss = F.ctc_loss(t, np.zeros((3, 0), int), steps, [0, 0, 0], reduction="none")
    assert_close(loss, [-x[:n, k, 0].sum() for k, n in enumerate(steps)])
    g = mr.grad(loss, t, np.ones(3)).numpy()
    assert g[:2, :2].all()
    assert not g[2:, 1].any() and not g[:, 2].any()

    loss = F.ctc_loss(t, [[1], [1], [1]], [0, 1, 0], [1, 1, 0], reduction="none")
    assert_close(loss, [np.inf, -x[0, 1, 1], 0])
    g = mr.grad(F.ctc_loss(t, [[1], [1], [1]], [0, 1, 0], [1, 1, 0], reduction="sum", zero_infinity=True), t).numpy()
    assert np.isfinite(g).all() and not g[:, [0, 2]].any() and g[0, 1].all()
    assert_close(F.ctc_loss(t, [[1], [1], [1]], [0, 0, 0], [1, 0, 1], reduction="none"), [np.inf, 0, np.inf])
    assert np.isnan(F.ctc_loss(np.zeros((T, 0, C)), np.zeros((0, 0), int), [], []).item())
    no_time = mr.tensor(np.zeros((0, 2, C)), device=device)
    assert_close(F.ctc_loss(no_time, [1], [0, 0], [1, 0], reduction="none"), [np.inf, 0])
    some = F.ctc_loss(np.log(np.full((2, 3, 2), 0.5)), [1, 1], [0, 0, 2], [1, 0, 1], reduction="none")
    assert_close(some, [np.inf, 0, -np.log(0.75)])  # of four paths, all but "blank, blank" spell 1
