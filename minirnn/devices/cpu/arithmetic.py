"""What the fused kernels share: a sigmoid that can't overflow, float16 computed in float32, products without alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

FALSE_ALARM = 5
"""Columns of float32 that OpenBLAS, with AVX-512, multiplies by a vector together with whatever a register holds: its
result is right, but NumPy may warn of an invalid value, once in many thousand products (`sgemv_t` of SkylakeX)."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def without_false_alarms(kernel: Kernel) -> Kernel:
    """A decorator of kernels in which such a product may occur. What is NaN stays NaN, as on other devices.

    The kernel runs in a context of its own, where NumPy's settings are its own, too. `np.errstate` would have to put
    them back, and a Ctrl-C may come before it does.
    """

    @wraps(kernel)
    def run(*arguments: Any, **options: Any) -> Any:
        return copy_context().run(_without_alarms, kernel, arguments, options)

    return cast(Kernel, run)


def _without_alarms(kernel: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    np.seterr(invalid="ignore")
    return kernel(*arguments, **options)


def sigmoid(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-z)), by ``tanh``: faster than ``exp`` in NumPy, exactly 0 and 1 at saturation."""
    return 0.5 * np.tanh(0.5 * z) + 0.5


def widen(*arrays: Any) -> tuple[Any, ...]:
    """Return float16 arrays as float32, others as they are. The arrays are of one dtype; some may be None."""
    if arrays[0] is not None and arrays[0].dtype != np.float16:
        return arrays
    return tuple(a if a is None or a.dtype != np.float16 else a.astype(np.float32) for a in arrays)


def narrow(dtype: DTypeLike, *arrays: Any) -> tuple[Any, ...]:
    """Return `arrays` rounded to `dtype`; what is too large becomes infinite, as in TensorFlow, without a warning."""
    if arrays[0] is not None and arrays[0].dtype == dtype:
        return arrays
    with np.errstate(over="ignore"):
        return tuple(a if a is None else a.astype(dtype, copy=False) for a in arrays)
