"""Helpers of the fused kernels: a sigmoid that can't overflow, and products without false warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

FALSE_ALARM = 5
"""Columns of float32 that OpenBLAS, with AVX-512, multiplies by a vector together with whatever a register holds: its
result is right, but NumPy may warn of an invalid value, once in many thousand products (`sgemv_t` of SkylakeX)."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def without_false_alarms(kernel: Kernel) -> Kernel:
    """A decorator of kernels in which such a product may occur. NaN stays NaN, as on other devices.

    The kernel runs in its own context, with its own NumPy settings. `np.errstate` would have to put
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
