"""The result of a task function, and two checks of arguments that all of them share."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments.messages import shown


class Task(NamedTuple):
    """One random batch of a task; unpacks as ``x, target, baseline = adding_problem(rng, T, B)``.

    Attributes
    ----------
    x : ndarray, float32
        Inputs, time-major (T, B, I).
    target : ndarray
        The values to predict. Shape, dtype and loss depend on the task and are given in its docstring.
    baseline : float
        The expected loss of the best prediction that uses no memory. A network that stays at the baseline has learned
        only the statistics of the task. The further its loss falls below, the more it remembers.
    """

    x: np.ndarray
    target: np.ndarray
    baseline: float


def check_rng(function: str, rng: object) -> np.random.Generator:
    """Return `rng`, or raise TypeError if it is not a NumPy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{function}: rng is {shown(rng)}, of type {type(rng).__name__}\n"
            "  expected a numpy.random.Generator\n"
            "  numpy.random.default_rng(seed) makes one from a seed"
        )
    return rng


def check_count(function: str, name: str, value: Any, minimum: int, why: str = "") -> int:
    """Return `value` as an int. Raises TypeError if it is not an integer, and ValueError if it is below `minimum`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{function}: {name} is {shown(value)}\n  expected a whole number of at least {minimum}"
        ) from None
    if count >= 2**62:
        raise ValueError(f"{function}: {name} is {shown(count)}\n  expected at least {minimum}, and less than 2**62")
    if count < minimum:
        reason = f"\n  {why}" if why else ""
        raise ValueError(f"{function}: {name} is {count}\n  expected at least {minimum}{reason}")
    return count
