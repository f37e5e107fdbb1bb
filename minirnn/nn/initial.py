"""Initial values of parameters.

All values are drawn from the public random stream (`minirnn.manual_seed`) in float64 and rounded to the requested
dtype. One seed therefore gives the same weights on every device and, up to rounding, in every dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments import check
from minirnn.arguments.host_array import default, float_dtype
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine import random
from minirnn.nn.parameter import Parameter


class Factory:
    """Makes the parameters of one module on one device, in one dtype (by default `mr.set_default_dtype`'s)."""

    def __init__(self, device: str | Device | None = None, dtype: Any = None) -> None:
        self.device = devices.get(device)  # first, so that an error does not change the random stream
        self.dtype = float_dtype("parameters", default.dtype if dtype is None else dtype)

    def __call__(self, values: Any) -> Parameter:
        return Parameter(values, device=self.device, dtype=self.dtype)

    def uniform(self, shape: Sequence[int], bound: float) -> Parameter:
        """A Parameter with values from the uniform distribution between -bound and bound."""
        return self._filled(shape, lambda: random.generator().uniform(-bound, bound, tuple(shape)))

    def glorot_uniform(self, shape: Sequence[int]) -> Parameter:
        """`uniform` with bound sqrt(6 / (fan_in + fan_out)), TensorFlow's default for kernels (inputs, outputs).

        For a vector, fan_in and fan_out are both its length. Glorot & Bengio 2010.
        """
        return self.uniform(shape, glorot_bound(shape))

    def normal(self, shape: Sequence[int]) -> Parameter:
        """A Parameter with values from the standard normal distribution."""
        return self._filled(shape, lambda: random.generator().standard_normal(tuple(shape)))

    def full(self, shape: Sequence[int], value: float) -> Parameter:
        return self._filled(shape, lambda: np.full(tuple(shape), value))

    def _filled(self, shape: Sequence[int], values: Callable[[], np.ndarray]) -> Parameter:
        try:
            return self(values())
        except (MemoryError, ValueError):  # ValueError: the number of bytes overflows
            raise ValueError(
                f"a parameter of shape {tuple(shape)} takes {8 * math.prod(shape):.1e} bytes to draw\n"
                "  expected one that fits into memory"
            ) from None


def glorot_bound(shape: Sequence[int]) -> float:
    """sqrt(6 / (fan_in + fan_out)) of a kernel (inputs, outputs)."""
    return math.sqrt(6 / (shape[0] + shape[-1]))


def redraw_uniform(parameters: Iterable[Parameter], bound: float) -> None:
    """Draw new values for parameters, uniform between -bound and bound, in order, as `Factory.uniform` does."""
    for parameter in parameters:
        parameter.assign(random.generator().uniform(-bound, bound, parameter.shape))


def redraw_glorot(*parameters: Parameter | None) -> None:
    """Draw new values for kernels in order, as `Factory.glorot_uniform` does. None is skipped."""
    for parameter in parameters:
        if parameter is not None:
            redraw_uniform([parameter], glorot_bound(parameter.shape))


def size(module: str, name: str, value: Any) -> int:
    """A number of units. Raises TypeError if it is not an integer, ValueError if it is below 1."""
    if not check.is_integer(value):
        raise TypeError(f"{module}: {name} is {shown(value)}\n  expected an integer")
    if not 1 <= value < 2**62:
        raise ValueError(f"{module}: {name} is {shown(value)}\n  expected 1 or more, few enough to fit into memory")
    return int(value)


def open_forget_gate(module: str, forget_bias: Any, bias: bool) -> Callable[..., None]:
    """A function of bias_ih, bias_hh (4H,) that makes the sum of their forget gate's part equal to `forget_bias`.

    Gates are i, f, g, o. bias_ih gets the whole amount, and bias_hh gets 0. With None the function changes nothing.
    Raises TypeError or ValueError if `forget_bias` is not a finite number, or there is no bias.
    """
    if forget_bias is None:
        return lambda bias_ih, bias_hh: None
    value = check.number(module, "forget_bias", forget_bias)
    if not bias:
        raise ValueError(
            f"{module}: forget_bias is {value} with bias=False\n  expected bias=True: the forget gate's bias holds it"
        )

    def set_both(bias_ih: Parameter, bias_hh: Parameter) -> None:
        for parameter, number in ((bias_ih, value), (bias_hh, 0.0)):
            values = np.array(parameter.numpy())
            H = len(values) // 4
            values[H : 2 * H] = number
            parameter.assign(values)

    return set_both
