"""Attributes of ops as TensorFlow uses them: rounded to the dtype of the data."""

from __future__ import annotations

import numpy as np


def rounded(attribute: float, dtype: np.dtype) -> float:
    """Return an attribute such as `forget_bias` as a number of `dtype`, which is how TensorFlow uses it."""
    with np.errstate(over="ignore"):
        return float(dtype.type(attribute))
