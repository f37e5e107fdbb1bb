"""Initial values of parameters.

All are drawn from the public random stream (`minirnn.manual_seed`) in float64 and rounded to the dtype asked for, so
that one seed gives the same weights on every device and, up to rounding, in every dtype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn import random
from minirnn.devices.base import Device
from minirnn.nn.parameter import Parameter


class Factory:
    """Makes the parameters of one module on one device, in one dtype (float32 by default)."""

    def __init__(self, device: str | Device | None = None, dtype: Any = None) -> None:
        self.device = device
        self.dtype = np.dtype(np.float32 if dtype is None else dtype)

    def __call__(self, values: Any) -> Parameter:
        return Parameter(values, device=self.device, dtype=self.dtype)

    def uniform(self, shape: Sequence[int], bound: float) -> Parameter:
        """Uniform between -bound and bound."""
        return self(random.generator().uniform(-bound, bound, tuple(shape)))

    def glorot_uniform(self, shape: Sequence[int]) -> Parameter:
        """Uniform with bound sqrt(6 / (fan_in + fan_out)), TensorFlow's default for kernels (inputs, outputs).

        A vector counts as fan_in and fan_out both. Glorot & Bengio 2010.
        """
        return self.uniform(shape, math.sqrt(6 / (shape[0] + shape[-1])))

    def normal(self, shape: Sequence[int]) -> Parameter:
        """Standard normal."""
        return self(random.generator().standard_normal(tuple(shape)))

    def full(self, shape: Sequence[int], value: float) -> Parameter:
        return self(np.full(tuple(shape), value))


def size(module: str, name: str, value: Any) -> int:
    """A number of units. Raises TypeError if it is no integer, ValueError if it is below 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{module}: {name} is {value!r}\n  expected an integer")
    if value < 1:
        raise ValueError(f"{module}: {name} is {value}\n  expected 1 or more")
    return int(value)
