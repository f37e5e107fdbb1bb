"""What the fused kernels share: a sigmoid that can't overflow, and float16 computed in float32."""

from __future__ import annotations

import numpy as np


def sigmoid(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-z)), by ``tanh``: faster than ``exp`` in NumPy, exactly 0 and 1 at saturation."""
    return 0.5 * np.tanh(0.5 * z) + 0.5


def widen(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return float16 arrays as float32, others as they are. All are of one dtype."""
    return arrays if arrays[0].dtype != np.float16 else tuple(a.astype(np.float32) for a in arrays)


def narrow(dtype: np.dtype, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return `arrays` rounded to `dtype`; what is too large becomes infinite, as in TensorFlow, without a warning."""
    if arrays[0].dtype == dtype:
        return arrays
    with np.errstate(over="ignore"):
        return tuple(a.astype(dtype, copy=False) for a in arrays)
