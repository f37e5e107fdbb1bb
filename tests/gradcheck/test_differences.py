"""Central differences and the comparison with them, against values computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.gradcheck.differences import Along, Comparison


def along(fn: Any, x: Any, *vs: Any) -> Along:
    return Along(fn, [mr.tensor(np.array(x, np.float64))], 0, [np.array(v, np.float64) for v in vs])


def comparison(rtol: float = 0.1, atol: float = 0.5, **changes: Any) -> Comparison:
    settings: dict[str, Any] = {"steps": (1e-3,), "max_entries": 10, "directions": 4, "rng": np.random.default_rng(0)}
    return Comparison(rtol, atol, **settings | changes)


@pytest.mark.parametrize(("x", "h"), [(2.0, 0.2), (-2.0, 0.2), (0.5, 0.1)])
def test_the_error_of_the_extrapolated_difference_of_the_fifth_power_is_h_to_the_fourth_over_four(
    x: float, h: float
) -> None:
    """D(h) = 5 x^4 + 10 x^2 h^2 + h^4, so (4 D(h/2) - D(h)) / 3 = 5 x^4 - h^4 / 4, with h = 0.1 max(1, |x|)."""
    found = along(lambda x: x**5, [x], [1]).derivative(np.array([1.0]), 0.1)
    assert found == pytest.approx(5 * x**4 - h**4 / 4, rel=1e-12)


def test_the_step_does_not_depend_on_the_length_of_the_direction() -> None:
    """Along d = (3, 4), at x = (1, 2): h |d / scale| = h |(3, 2)| is the step."""
    a = along(lambda x: x**5, [1, 2], [1, 1])
    d = np.array([3.0, 4.0])
    h = 0.1 / np.sqrt(3**2 + 2**2)
    exact = 5 * (3 * 1 + 4 * 16)
    assert a.derivative(d, 0.1) == pytest.approx(exact - h**4 / 4 * (3**5 + 4**5), rel=1e-12)


def test_all_outputs_count_with_their_cotangents() -> None:
    a = along(lambda x: (x * 3, x[:1] * x[1:]), [2, 5], [7, 11], [13])
    assert a.derivative(np.array([1.0, 0.0]), 1e-2) == pytest.approx(7 * 3 + 13 * 5, rel=1e-12)
    assert a.derivative(np.array([0.0, 1.0]), 1e-2) == pytest.approx(11 * 3 + 13 * 2, rel=1e-12)


# ---- L = 2 x0^2 + 5 x1^2 at (1, 3): the gradient is (4, 30)

SQUARES = along(lambda x: x * x, [1, 3], [2, 5])


@pytest.mark.parametrize(
    ("g", "wrong", "index", "numeric", "difference", "tolerance"),
    [
        ([4, 36], 1, 1, 30, 6, 0.5 + 3.6),
        ([4, 24.5], 1, 1, 30, 5.5, 0.5 + 3.0),
        ([4.25, 30], 0, 0, 4, 0.25, 0.5 + 0.425),
        ([4, 33], 0, 1, 30, 3, 0.5 + 3.3),
        ([7, 34], 2, 0, 4, 3, 0.5 + 0.7),  # the smaller difference is worse for its tolerance
        ([-4, 30], 1, 0, 4, 8, 0.5 + 0.4),
    ],
)
def test_an_entry_is_wrong_beyond_its_tolerance_and_the_worst_is_reported(
    g: list[float], wrong: int, index: int, numeric: float, difference: float, tolerance: float
) -> None:
    report = comparison()("x", np.array(g, np.float64), SQUARES)
    assert (report.name, report.shape, report.checked, report.wrong, report.directions) == ("x", (2,), 2, wrong, False)
    assert report.index == (index,)
    assert report.analytic == g[index]
    assert report.numeric == pytest.approx(numeric, rel=1e-10)
    assert report.difference == pytest.approx(difference, rel=1e-8)
    assert report.tolerance == pytest.approx(tolerance, rel=1e-8)


def test_the_next_step_is_tried_where_one_disagrees_and_the_nearest_is_reported() -> None:
    """|x| at 0.01: a step of 0.1 crosses the kink, one of 1e-3 doesn't; against a wrong gradient both are tried."""
    a = along(abs, [0.01], [1])
    tight: dict[str, Any] = {"rtol": 0.0, "atol": 1e-6}
    assert comparison(**tight, steps=(0.1,))("x", np.array([1.0]), a).wrong == 1
    found = comparison(**tight, steps=(0.1, 1e-3))("x", np.array([1.0]), a)
    assert found.wrong == 0 and found.numeric == pytest.approx(1)
    found = comparison(**tight, steps=(0.1, 1e-3))("x", np.array([2.0]), a)
    assert found.wrong == 1 and found.difference == pytest.approx(1)
    # D(0.1) = 0.1 and D(0.05) = 0.2, so the large step gives (0.8 - 0.1) / 3: further from 2, nearer to 0
    found = comparison(**tight, steps=(0.1, 1e-3))("x", np.array([0.0]), a)
    assert found.numeric == pytest.approx(0.7 / 3) == found.difference


def test_no_tolerance_at_all_is_enough_for_what_is_exact() -> None:
    assert comparison(0.0, 0.0, steps=(0.5,))("x", np.array([2.0]), along(lambda x: x * 2, [0.0], [1])).wrong == 0


def test_a_step_out_of_the_domain_is_not_the_nearest() -> None:
    found = comparison(0.0, 1e-6, steps=(0.5, 1e-3))("x", np.array([0.0]), along(lambda x: x.log(), [0.25], [1]))
    assert found.wrong == 1 and found.numeric == pytest.approx(4, rel=1e-6)


def test_random_directions_have_length_one_in_the_scale_of_the_input() -> None:
    scale = np.array([1.0, 2.0, 50.0])
    directions = list(comparison(directions=3)._random(scale))
    assert len(directions) == 3
    np.testing.assert_allclose([np.linalg.norm(d / scale) for d in directions], 1, rtol=1e-14)
    assert len({d.tobytes() for d in directions}) == 3
    draws = np.random.default_rng(0).standard_normal(3)
    np.testing.assert_allclose(directions[0], scale * draws / np.linalg.norm(draws), rtol=1e-14)


@pytest.mark.parametrize(("entries", "sampled"), [(6, False), (5, True)])
def test_more_than_max_entries_are_checked_along_directions(entries: int, sampled: bool) -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)
    a = along(lambda x: x * x, x, np.ones((2, 3)))
    found = comparison(max_entries=entries)("x", 2 * x, a)
    assert found.directions is sampled and found.checked == (4 if sampled else 6) and found.wrong == 0
    assert (found.index is None) is sampled


@pytest.mark.parametrize("place", range(7))
def test_the_wrong_entry_is_located_by_halving(place: int) -> None:
    x = np.arange(1.0, 8.0)
    g = 2 * x
    g[place] += 3
    found = comparison(0.0, 1e-6, max_entries=3, directions=2)("x", g, along(lambda x: x * x, x, np.ones(7)))
    assert found.index == (place,) and found.wrong == 2 == found.checked and found.directions
    assert (found.analytic, found.difference) == (g[place], pytest.approx(3, rel=1e-8))


def test_an_input_without_entries() -> None:
    a = along(lambda x: x, np.zeros((0, 3)), np.zeros((0, 3)))
    found = comparison()("x", np.zeros((0, 3)), a)
    assert found == type(found)("x", (0, 3), 0, 0, False, None, 0.0, 0.0, 0.0, 0.5)
