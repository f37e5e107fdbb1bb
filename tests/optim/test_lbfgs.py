"""LBFGS and ASGD against torch. Tests `lbfgs.py`, `line_search.py` and `asgd.py`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.optim.line_search import Point, strong_wolfe
from tests.optim import cases

GOLDEN = Path(__file__).parents[1] / "golden" / "optim" / "closures.npz"


def losses(a: Any, b: Any, optimizer: Any, steps: int) -> list[float]:
    """The loss of each call of the closure."""
    found = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((b - a.reshape(2, 3) ** 2) ** 2).sum() * 3 + ((1 - a) ** 2).sum()
        loss.backward()
        found.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return found


@pytest.mark.parametrize("case", cases.LBFGS)
def test_lbfgs_calls_its_closure_where_torchs_has_called_it(case: str) -> None:
    optimizer, found = cases.valley(mr, case, mr.nn.Parameter)
    with np.load(GOLDEN) as stored:
        expected = stored[case]
    n = min(len(expected), 25)  # each step magnifies the rounding of those before
    assert len(found) >= n
    np.testing.assert_allclose(found[:n], expected[:n], rtol=1e-6, atol=1e-12)
    group = optimizer.param_groups[0]
    assert group["max_eval"] == cases.LBFGS[case][0].get("max_eval", group["max_iter"] * 5 // 4)


def test_lbfgs_goes_on_from_its_state(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=6), 2 * rng.normal(size=(2, 3))
    one, two = ([mr.nn.Parameter(v) for v in (a, b)] for _ in range(2))
    whole, first = (mr.optim.LBFGS(ps, line_search_fn="strong_wolfe", max_iter=4) for ps in (one, two))
    expected = losses(*one, whole, 4)
    found = losses(*two, first, 2)
    second = mr.optim.LBFGS(two)
    second.load_state_dict(first.state_dict())
    assert found + losses(*two, second, 2) == expected


def test_a_line_search_ends_at_the_strong_wolfe_conditions() -> None:
    def at(t: float) -> Point:
        loss, slope = (t - 3) ** 4 + np.sin(3 * t), 4 * (t - 3) ** 3 + 3 * np.cos(3 * t)
        return Point(t, float(loss), mr.tensor([slope]), float(slope))

    start = at(0.0)
    for t in (1e-3, 0.3, 1.0, 5.0, 40.0):
        found, calls = strong_wolfe(at, t, start, 1.0)
        assert found.loss <= start.loss + 1e-4 * found.t * start.slope and abs(found.slope) <= -0.9 * start.slope
        assert calls <= 26


def test_asgd_keeps_the_mean_that_torchs_keeps_and_goes_on_from_its_state() -> None:
    with np.load(GOLDEN) as stored:
        expected = stored["ASGD"], stored["ASGD mean"]
    for found, value in zip(cases.mean_of_asgd(mr, mr.nn.Parameter), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-12)
