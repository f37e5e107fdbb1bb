"""Central differences and the comparison with them, against values computed by hand."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.gradcheck.differences import Along, Comparison
from tests.each import each


def along(fn: Any, x: Any, *vs: Any) -> Along:
    return Along(fn, [mr.tensor(np.array(x, np.float64))], 0, [np.array(v, np.float64) for v in vs])


def comparison(rtol: float = 0.1, atol: float = 0.5, **changes: Any) -> Comparison:
    settings: dict[str, Any] = {"steps": (1e-3,), "max_entries": 10, "directions": 4, "rng": np.random.default_rng(0)}
    return Comparison(rtol, atol, **settings | changes)


def fifth(x: Any) -> Any:
    return x**5


def two(x: Any) -> Any:
    return x * 3, x[:1] * x[1:]


# With h = 0.1 max(1, |x|): D(h) = 5 x^4 + 10 x^2 h^2 + h^4, so (4 D(h/2) - D(h)) / 3 = 5 x^4 - h^4 / 4. Along (3, 4) at
# (1, 2) the step is h |d / scale| = h |(3, 2)|, so it does not depend on the length of d.
H = 0.1 / np.sqrt(3**2 + 2**2)
DERIVATIVES: list[tuple[Any, list[Any], list[float], float, float]] = [
    (fifth, [[2.0], [1]], [1], 0.1, 80 - 0.2**4 / 4),
    (fifth, [[-2.0], [1]], [1], 0.1, 80 - 0.2**4 / 4),
    (fifth, [[0.5], [1]], [1], 0.1, 5 / 16 - 0.1**4 / 4),
    (fifth, [[1, 2], [1, 1]], [3, 4], 0.1, 5 * (3 + 64) - H**4 / 4 * (3**5 + 4**5)),
    (two, [[2, 5], [7, 11], [13]], [1, 0], 1e-2, 7 * 3 + 13 * 5),
    (two, [[2, 5], [7, 11], [13]], [0, 1], 1e-2, 11 * 3 + 13 * 2),
]


@each(("fn", "at", "d", "h", "expected"), DERIVATIVES)
def test_the_extrapolated_difference_is_the_one_computed_by_hand(
    fn: Any, at: Any, d: Any, h: float, expected: float
) -> None:
    assert along(fn, *at).derivative(np.array(d, float), h) == pytest.approx(expected, rel=1e-12)


# L = 2 x0^2 + 5 x1^2 at (1, 3): the gradient is (4, 30). The smaller difference may be worse for its tolerance.
@pytest.mark.parametrize(
    ("g", "wrong", "index", "numeric", "difference", "tolerance"),
    [([4, 36], 1, 1, 30, 6, 4.1), ([4, 24.5], 1, 1, 30, 5.5, 3.5), ([4.25, 30], 0, 0, 4, 0.25, 0.925),
     ([4, 33], 0, 1, 30, 3, 3.8), ([7, 34], 2, 0, 4, 3, 1.2), ([-4, 30], 1, 0, 4, 8, 0.9)],
)  # fmt: skip
def test_an_entry_is_wrong_beyond_its_tolerance_and_the_worst_is_reported(
    g: list[float], wrong: int, index: int, numeric: float, difference: float, tolerance: float
) -> None:
    found = comparison()("x", np.array(g, float), along(lambda x: x * x, [1, 3], [2, 5]))
    assert (found.name, found.shape, found.checked, found.wrong, found.directions) == ("x", (2,), 2, wrong, False)
    assert (found.index, found.analytic) == ((index,), g[index])
    numbers = [found.numeric, found.difference, found.tolerance]
    assert numbers == pytest.approx([numeric, difference, tolerance], rel=1e-8)


# |x| at 0.01: a step of 0.1 crosses the kink, one of 1e-3 doesn't. D(0.1) = 0.1 and D(0.05) = 0.2, so the large step
# gives (0.8 - 0.1) / 3: further from 2, nearer to 0. A step out of the domain of log is not the nearest.
@each(
    ("fn", "x", "g", "steps", "wrong", "numeric", "atol"),
    [(abs, 0.01, 1.0, (0.1,), 1, None, 1e-6), (abs, 0.01, 1.0, (0.1, 1e-3), 0, 1.0, 1e-6),
     (abs, 0.01, 2.0, (0.1, 1e-3), 1, 1.0, 1e-6), (abs, 0.01, 0.0, (0.1, 1e-3), 1, 0.7 / 3, 1e-6),
     (lambda x: x * 2, 0.0, 2.0, (0.5,), 0, 2.0, 0.0), (lambda x: x.log(), 0.25, 0.0, (0.5, 1e-3), 1, 4.0, 1e-6)],
)  # fmt: skip
def test_the_next_step_is_tried_where_one_disagrees_and_the_nearest_is_reported(
    fn: Any, x: float, g: float, steps: Any, wrong: int, numeric: float | None, atol: float
) -> None:
    found = comparison(0.0, atol, steps=steps)("x", np.array([g]), along(fn, [x], [1]))
    assert found.wrong == wrong
    assert numeric is None or found.numeric == pytest.approx(numeric, rel=1e-6)


def test_random_directions_have_length_one_in_the_scale_of_the_input() -> None:
    scale, rng = np.array([1.0, 2.0, 50.0]), np.random.default_rng(0)
    draws = [rng.standard_normal(3) for _ in range(3)]
    expected = [scale * d / np.linalg.norm(d) for d in draws]
    np.testing.assert_allclose(list(comparison(directions=3)._random(scale)), expected, rtol=1e-14)


@pytest.mark.parametrize("place", [None, *range(7)])
@pytest.mark.parametrize("entries", [7, 6])
def test_many_entries_are_checked_along_directions_and_the_wrong_one_is_located(
    place: int | None, entries: int
) -> None:
    x = np.arange(1.0, 8.0)
    g = 2 * x + 3 * (np.arange(7) == place)
    found = comparison(0.0, 1e-6, max_entries=entries, directions=2)("x", g, along(lambda x: x * x, x, np.ones(7)))
    sampled, wrong = entries < 7, place is not None
    assert (found.directions, found.checked) == (sampled, 2 if sampled else 7)
    assert found.wrong == wrong * (2 if sampled else 1)
    assert (found.index == (place,)) if wrong else (found.index is None) is sampled
    assert not wrong or (found.analytic, found.difference) == (g[place], pytest.approx(3, rel=1e-8))


def test_an_input_without_entries() -> None:
    found = comparison()("x", np.zeros((0, 3)), along(lambda x: x, np.zeros((0, 3)), np.zeros((0, 3))))
    assert found == type(found)("x", (0, 3), 0, 0, False, None, 0.0, 0.0, 0.0, 0.5)
