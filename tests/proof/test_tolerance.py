"""The tolerances of `minirnn verify`: their formulas, and how far they are from real errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minirnn.proof import tolerance
from minirnn.proof.tolerance import Count


@pytest.mark.parametrize(
    ("dtype", "n", "expected"),
    [
        ("float64", 1, 2.0**-53),
        ("float64", 64, 64 * 2.0**-53),
        ("float64", 100, 80 * 2.0**-53),
        ("float32", 10_000, 800 * 2.0**-24),
        ("float16", 100, 80 * 2.0**-24 + 3 * 2.0**-11),
    ],
)
def test_the_tolerance_follows_from_the_number_of_roundings(dtype: str, n: int, expected: float) -> None:
    assert tolerance.of(dtype, Count(n, "n", 3, "3")).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("n", [3, 64, 65, 1000])
def test_the_reason_gives_the_tolerance_when_it_is_computed(dtype: str, n: int) -> None:
    found = tolerance.of(dtype, Count(n, "T H", 200, "2 T"))
    formula, *values = found.reason.split(", ")
    names = {name: text.split("=")[-1].replace("^", "**") for name, text in (v.split(" = ", 1) for v in values)}
    for name, value in names.items():
        formula = re.sub(rf"\b{name}\b", f"({value})", formula)
    formula = re.sub(r"(?<=[\d)]) (?=[(s])", " * ", formula)
    assert eval(formula, {"sqrt": np.sqrt}) == pytest.approx(found.value, rel=1e-12)


def test_what_only_moves_numbers_must_be_exact() -> None:
    for dtype in tolerance.UNIT:
        assert tolerance.of(dtype, Count(0, "0", 0, "0")) == tolerance.EXACT
    assert tolerance.EXACT.value == 0


def test_both_computations_and_both_ways_add_up() -> None:
    there, back = Count(10, "T H", 2, "2"), Count(20, "T 4H", 8, "8")
    assert (there + back).computed == 30 and (there + back).stored == 10
    assert (there + back).twice().computed == 60
    assert "T H" in (there + back).formula and "4H" in (there + back).formula


@pytest.mark.parametrize("n", [2, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sums_in_order_stay_within_the_tolerance_and_come_near_it(n: int, dtype: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, n)), rng.standard_normal((200, n)) * n**-0.5
    a, b = a.astype(dtype), b.astype(dtype)
    total = np.zeros(200, "f4")
    for k in range(n):  # one after the other: the worst order
        total = total + a[:, k].astype("f4") * b[:, k].astype("f4")
    exact = (a.astype("f8") * b.astype("f8")).sum(1)
    error = np.abs(total.astype(dtype) - exact).max() / max(1, np.abs(exact).max())
    allowed = tolerance.of(dtype, Count(n, "n")).value
    assert allowed / 100 < error <= allowed


def test_a_sum_of_one_sign_in_order_stays_within_the_tolerance(rng: np.random.Generator) -> None:
    n = 4096
    a = rng.uniform(0, 1, (100, n)).astype("f4")
    total = np.zeros(100, "f4")
    for k in range(n):
        total = total + a[:, k]
    exact = a.astype("f8").sum(1)
    assert np.abs(total - exact).max() / exact.max() <= tolerance.of("float32", Count(n, "n")).value


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_differences_of_tanh_stay_within_their_tolerance(step: float, rng: np.random.Generator) -> None:
    a, x = rng.standard_normal((50, 7)), rng.standard_normal(7)
    y = lambda x: float(np.tanh(a @ x).sum())  # noqa: E731
    central = lambda h: (y(x + h * np.eye(7)[0]) - y(x - h * np.eye(7)[0])) / (2 * h)  # noqa: E731
    numeric = (4 * central(step / 2) - central(step)) / 3
    exact = float(((1 - np.tanh(a @ x) ** 2) * a[:, 0]).sum())
    error = abs(numeric - exact) / (1 + abs(exact))
    assert error <= tolerance.of_differences(Count(15, "n"), 50, step).value
