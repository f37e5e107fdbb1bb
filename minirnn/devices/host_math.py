"""Mathematical functions that NumPy lacks or names differently. They take and return arrays in host memory.

The `cpu` device computes these primitives with it, and so does every device that does not have its own version
(`devices/base.py`, `OPTIONAL`). float16 is computed in float32 if roundings would accumulate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.devices.cpu.elementwise import erf as erf


def _rounding(function: Any) -> Callable[[Any], Any]:
    """A function that returns integral values. Integers are returned unchanged."""

    def of_array(a: Any) -> Any:
        return function(a) if a.dtype.kind == "f" else a

    return of_array


sin, cos, tan, log1p, expm1 = np.sin, np.cos, np.tan, np.log1p, np.expm1
floor, ceil, round = map(_rounding, (np.floor, np.ceil, np.rint))  # rint: halves go to the even neighbor


def min(a: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
    return np.min(a, axis=axis, keepdims=keepdims)


def argmin(a: Any, axis: int) -> Any:
    return np.argmin(a, axis=axis)


def prod(a: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
    return np.prod(_wide(a), axis=axis, keepdims=keepdims).astype(_dtype_of_sums(a), copy=False)


def cumsum(a: Any, axis: int) -> Any:
    return np.cumsum(_wide(a), axis=axis).astype(_dtype_of_sums(a), copy=False)


def cumprod(a: Any, axis: int) -> Any:
    return np.cumprod(_wide(a), axis=axis).astype(_dtype_of_sums(a), copy=False)


def recurrence(a: Any, b: Any, axis: int) -> Any:
    """``y[t] = a[t] * y[t-1] + b[t]`` along `axis`, ``y[-1] = 0``; `a` and `b` have one shape and one float dtype."""
    y = np.empty(b.shape, b.dtype)
    factors, summands, steps = (np.moveaxis(x, axis, 0) for x in (_wide(a), _wide(b), y))
    state: Any = 0
    for t in range(len(steps)):
        state = factors[t] * state + summands[t]
        steps[t] = state
    return y


def put(a: Any, index: tuple[Any, ...], values: Any) -> Any:
    y = np.array(a)
    y[index] = values
    return y


def argsort(a: Any, axis: int, descending: bool) -> Any:
    """The indices that sort the elements along `axis`; equal ones keep their order, NaN is largest."""
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    # Reversed, sorted and reversed again, so that equal elements keep their order.
    found = np.flip(np.argsort(np.flip(a, axis), axis=axis, kind="stable"), axis)
    return a.shape[axis] - 1 - found


def _wide(a: Any) -> Any:
    return a.astype(np.float32) if a.dtype == np.float16 else a


def _dtype_of_sums(a: Any) -> Any:
    """NumPy's dtype of sums and products: small integers become large ones."""
    return {"b": np.int64, "i": np.int64, "u": np.uint64}.get(a.dtype.kind, a.dtype)
