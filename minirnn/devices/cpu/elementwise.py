"""Elementwise primitives that NumPy computes slowly or does not have.

The plain formula is the first line of each; the rest computes the same values faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

MANY = 8192
"""Elements from which several passes over the array are faster than one slow one."""
BLOCK = 65536
"""Elements per block, in computations that take many passes."""
BITS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}


def where(condition: Any, a: Any, b: Any) -> Any:
    """``np.where``, which for large arrays selects by bits: NumPy branches at each element, and mispredictions are
    slow.
    """
    if getattr(condition, "size", 0) >= MANY and condition.dtype.kind == "b":
        dtype = np.result_type(a, b)
        bits = BITS.get(dtype)
        if bits is not None:
            a, b = (np.asarray(x, dtype).view(bits) for x in (a, b))
            ones = np.negative(condition.view(np.int8), dtype=bits)  # all bits, or none
            return (((a ^ b) & ones) ^ b).view(dtype)
    return np.where(condition, a, b)


def relu(a: Any) -> Any:
    """``max(a, 0)``, which for large arrays clips: NumPy's maximum with a number is not vectorized."""
    zero = a.dtype.type(0)
    return np.maximum(a, zero) if a.size < MANY or a.dtype.kind != "f" else np.clip(a, zero, a.dtype.type(np.inf))


def sigmoid(a: Any) -> Any:
    """``1 / (1 + e)`` where a >= 0, else ``e / (1 + e)``, with e = exp(-|a|): no overflow, and small results are exact.

    The numerator is the larger one of e and (a >= 0).
    """
    e = np.exp(-np.absolute(a))
    if a.ndim == 0:
        return (1 if a >= 0 else e) / (1 + e) if a == a else a
    numerator = (a >= 0).astype(e.dtype)
    np.maximum(numerator, e, out=numerator)
    e += 1
    numerator /= e
    return numerator


def erf(a: Any) -> Any:
    """``erf(x) = tanh(z(x))``, with z of `atanh_erf`."""
    if np.ndim(a) == 0:
        return getattr(a, "dtype", np.dtype(float)).type(math.erf(a))
    return in_blocks(lambda x: np.tanh(atanh_erf(x)), a)


def normal_cdf(a: Any) -> Any:
    """``(1 + erf(x / sqrt(2))) / 2 = sigmoid(2 z(x / sqrt(2)))``: small results are not differences."""
    if a.ndim == 0:
        return a.dtype.type(math.erfc(-a * math.sqrt(0.5)) / 2)
    return in_blocks(_normal_cdf, a)


def _normal_cdf(x: Any) -> Any:
    e = atanh_erf(x * x.dtype.type(math.sqrt(0.5)))
    e *= -2
    np.exp(e, out=e)  # z is held below 44 in float32, so this does not overflow
    e += 1
    return np.divide(1, e, out=e)


def in_blocks(function: Callable[[Any], Any], a: Any) -> Any:
    """Apply `function` to an array, in float32 for float16. Intermediate values of a block stay in the cache."""
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    if a.size <= BLOCK:
        y = function(wide)
    else:
        flat = np.ravel(wide)
        y = np.concatenate([function(flat[k : k + BLOCK]) for k in range(0, a.size, BLOCK)]).reshape(a.shape)
    return y.astype(a.dtype, copy=False)


def atanh_erf(x: Any) -> Any:
    """``z = atanh(erf(x)) = x R(x**2)``: R is smooth and positive, so one quotient of polynomials suffices for all x.

    The error of R is 4e-9 for float32 and 2e-16 for float64; the unit roundoffs are 6e-8 and 1e-16. At `limit` erf
    is 1.
    """
    limit, first, over, under = R_OF_ERF[x.dtype]
    x = np.clip(x, -limit, limit)
    u = x * x
    R = polynomial(over, u)
    R *= u
    R /= polynomial(under, u)
    R += first
    R *= x
    return R


def polynomial(coefficients: tuple[Any, ...], u: Any) -> Any:
    """``c0 + c1 u + c2 u**2 + ...`` by Horner's rule."""
    y = u * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        y += c
        y *= u
    y += coefficients[0]
    return y


# R(u) = c + u * over(u) / under(u) is fitted to atanh(erf(x)) / x, u = x * x, by a weighted minimax fit with 50 digits.
_SINGLE = (
    1.1283791708,
    (0.10277251005, 0.01591528789, 0.00181152510326),
    (1.0, 0.15689204454, 0.02368882221, 0.00032489349169),
)
_DOUBLE = (
    1.128379167095512398,
    (
        *(0.1027726033019617097, 0.03482723935654339296, 0.008668020812759965152, 0.001238999288735760184),
        *(0.000131177372127941544, 8.457561512283328178e-6, 3.346922486527141533e-7, 2.539862815443090571e-9),
    ),
    (
        *(1.0, 0.3409121971382258516, 0.09077770310833277909, 0.01357026357318232025, 0.001577291452516822017),
        *(0.0001111850869023768737, 5.420701431231128986e-6, 8.838939591735094516e-8, 1.438558662262154093e-10),
    ),
)
R_OF_ERF = {
    np.dtype(kind): (kind(limit), kind(first), tuple(map(kind, over)), tuple(map(kind, under)))
    for kind, limit, (first, over, under) in ((np.float32, 10, _SINGLE), (np.float64, 14, _DOUBLE))
}
