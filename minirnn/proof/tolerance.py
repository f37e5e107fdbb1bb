"""How much two computations of the same value may differ, derived only from the dtype and the number of roundings.

Every operation of floating point returns the exact result times (1 + d) with ``|d| <= u``, the unit roundoff. Let N be
the number of such roundings on the longest path from an input to a result: a product of matrices adds its number of
summands (whatever the order of summation), an elementwise operation 1, a sigmoid, tanh, exp or log 8 (4 units in the
last place, the worst that NVIDIA and NumPy state), and T steps of L layers do all of it T * L times. Then

* at worst all of them point the same way: the relative error is N u (Higham, Accuracy and Stability, 3.1);
* taken as independent, they add up to more than 8 sqrt(N) u with a probability of 2 exp(-8*8/2) = 3e-14 per value
(Higham and
  Mary 2019).

The tolerance is the smaller one, relative to ``S = max(1, largest expected value)``: the inputs are drawn so that sums
and states are of size 1, and the step of a recurrence does not enlarge an error. With float16 data everything is
computed in float32, and the M values that are stored on the way are rounded to float16: the two terms are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

ACTIVATION = 8
"""The roundings of a sigmoid, tanh, exp or log."""
LAMBDA = 8
"""The factor before sqrt(N): larger errors have a probability of 3e-14."""
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
FIFTH = 5e5
"""A bound of the fifth derivative of the sums that are differentiated: 16 for tanh, times (length of a row of
weights)**5, times the number of paths."""


@dataclass(frozen=True)
class Count:
    """The roundings on the longest path: `computed` in the dtype of the arithmetic, `stored` in float16."""

    computed: int
    formula: str
    stored: int = 1
    stored_formula: str = "1"

    def __add__(self, other: Count) -> Count:
        return Count(
            self.computed + other.computed,
            f"{self.formula} + {other.formula}",
            self.stored + other.stored,
            f"{self.stored_formula} + {other.stored_formula}",
        )

    def twice(self) -> Count:
        """The count for a comparison of two computations that both round."""
        return Count(2 * self.computed, f"2 ({self.formula})", 2 * self.stored, f"2 ({self.stored_formula})")


@dataclass(frozen=True)
class Tolerance:
    """A bound of ``|found - expected| / S``, and where it comes from."""

    value: float
    reason: str


EXACT = Tolerance(0.0, "exact: nothing is rounded")


def of(dtype: str, count: Count) -> Tolerance:
    """The tolerance of results of `dtype` against exact ones."""
    if count.computed == 0:
        return EXACT
    if dtype != "float16":
        value, bound = _units(count.computed)
        return Tolerance(value * UNIT[dtype], f"{bound} u, N = {count.formula} = {count.computed}, u = {_unit(dtype)}")
    value, bound = _units(count.computed)
    stored, stored_bound = _units(count.stored, "M")
    return Tolerance(
        value * UNIT["float32"] + stored * UNIT["float16"],
        f"{bound} u + {stored_bound} v, N = {count.formula} = {count.computed}, u = {_unit('float32')}, "
        f"M = {count.stored_formula} = {count.stored}, v = {_unit('float16')}",
    )


def of_differences(count: Count, values: int, step: float) -> Tolerance:
    """The tolerance of central differences with the steps h and h/2, extrapolated, of a sum of `values` float64 values.

    The quotients enlarge the error of the sum by 3 / h; the remaining error of the extrapolation is h**4 / 480 times
    the fifth derivative. Relative to 1 + |gradient|.
    """
    N = count.computed + 1  # and one for the weight of each value
    rounding = 3 * LAMBDA * sqrt(N * values) * UNIT["float64"] / step
    return Tolerance(
        rounding + FIFTH / 480 * step**4,
        f"{3 * LAMBDA} sqrt(N V) u / h + {FIFTH:.0e} h^4 / 480, N = {count.formula} + 1 = {N}, "
        f"V = {values} values, u = {_unit('float64')}, h = {step:.0e}",
    )


def _units(n: int, name: str = "N") -> tuple[float, str]:
    return (float(n), name) if n <= LAMBDA**2 else (LAMBDA * sqrt(n), f"{LAMBDA} sqrt({name})")


def _unit(dtype: str) -> str:
    return f"2^-{round(-np.log2(UNIT[dtype]))}"
