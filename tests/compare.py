"""Comparisons whose errors name the first wrong element."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr

# Relative to max(1, |expected|): inputs are of order 1, and intermediate results do not cancel to less.
TOLERANCES = {
    np.dtype(np.float64): (1e-12, "float64: 5000 times the spacing of numbers, for sums of up to 100 products"),
    np.dtype(np.float32): (4e-6, "float32: 32 times the spacing of numbers, for sums of up to 100 products"),
    np.dtype(np.float16): (4e-3, "float16: 4 times the spacing of numbers, for a few roundings"),
}


def assert_close(
    got: Any, expected: Any, tolerance: float | None = None, why: str = "", *, what: str = "result"
) -> None:
    """Fail unless shapes agree and ``|got - expected| <= tolerance * max(1, |expected|)``; NaN equals NaN.

    Without a tolerance the one that `TOLERANCES` has for the dtype of `got`; 0 for integers and bool. The message names
    the first wrong index, both values and where the tolerance comes from. The seed is printed by the fixture `rng`.
    """
    with mr.no_grad():  # the values of Tensors that require gradients
        got, expected = np.asarray(got), np.asarray(expected)
    if tolerance is None:
        tolerance, why = TOLERANCES.get(got.dtype, (0.0, f"{got.dtype}: exact"))
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    wide = np.promote_types(got.dtype, expected.dtype)
    g, e = got.astype(wide), expected.astype(wide)
    if wide.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            off = ~((g == e) | (np.isnan(g) & np.isnan(e)) | (np.abs(g - e) <= tolerance * np.maximum(1, np.abs(e))))
    else:
        off = g != e
    if off.any():
        first = tuple(int(k) for k in np.argwhere(off)[0])
        pytest.fail(
            f"{what}{list(first)} = {got[first]!r}, expected {expected[first]!r}\n"
            f"  {int(off.sum())} of {off.size} are off; tolerance {tolerance:.1e} ({why or 'given by the test'})",
            pytrace=True,
        )


def assert_same(got: Any, expected: Any, what: str = "result") -> None:
    """Fail unless values, shape and dtype are the same."""
    assert got.dtype == np.asarray(expected).dtype, f"{what}: dtype {got.dtype}, expected {np.asarray(expected).dtype}"
    assert_close(got, expected, 0.0, "exact", what=what)


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]
