"""Comparison and awkward array layouts for the tests of the CPU kernels next to it."""

from collections.abc import Callable
from typing import Any

import numpy as np


def assert_within(name: str, got: Any, want: Any, tolerance: float) -> None:
    """The same shape, and values within tolerance * max(1, max|want|): rounding grows with the largest term."""
    if want is None:
        assert got is None, f"{name} should be None"
        return
    assert got.shape == want.shape, f"{name} has shape {got.shape}, expected {want.shape}"
    if want.size == 0:
        return
    a, b = got.astype(np.float64), want.astype(np.float64)
    limit = tolerance * max(1.0, float(np.abs(b).max()))
    wrong = np.argwhere(~(np.abs(a - b) <= limit))
    if len(wrong):
        at = tuple(int(k) for k in wrong[0])
        raise AssertionError(
            f"{name}{list(at)} = {a[at]!r}, expected {b[at]!r}  (limit {limit:.1e}, {len(wrong)} of {b.size})"
        )


def spaced(a: np.ndarray) -> np.ndarray:
    """The same values in every second place of a larger array, every axis reversed in memory; gaps are NaN."""
    room = np.full(tuple(2 * n for n in a.shape), np.nan, a.dtype)
    view = room[tuple(slice(None, None, -2) for _ in a.shape)]
    view[...] = a
    assert a.size < 2 or not (view.flags.c_contiguous or view.flags.f_contiguous)
    return view


def frozen(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": np.asfortranarray,
    "spaced": spaced,
    "read-only": frozen,
    "columns": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) if a.ndim > 1 else a,
}
"""Other memory layouts of the same values, which must not matter to a kernel."""
