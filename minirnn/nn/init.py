"""Initial values of parameters, in place: torch.nn.init.

Each function replaces the values of a leaf with `Tensor.assign`, so that the tape detects the change, and returns it.
Values are drawn in float64 and rounded to its dtype. They come from the public random stream (`minirnn.manual_seed`) or
from a `generator`, a ``numpy.random.Generator``. One seed gives the same values on every device, but not the values of
torch.

*Fans*, for a weight (outputs, inputs, ...): fan_in is the number of inputs of each output, fan_out the number of
outputs that each input reaches.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine import random
from minirnn.engine.tensor import Tensor
from minirnn.lookup.later import imported_later

__getattr__, __dir__ = imported_later(__name__, {})  # for torch's other names, an error with the name here

__all__ = ["calculate_gain", "constant_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_"]
__all__ += ["orthogonal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]

Leaf = TypeVar("Leaf", bound=Tensor)

ROOT = math.sqrt(2)
GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": ROOT, "selu": 3 / 4}
GAINS |= {f"conv{transposed}{d}d": 1.0 for transposed in ("", "_transpose") for d in (1, 2, 3)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for the standard deviation of weights before a nonlinearity that keeps the variance of the signal.

    1 for "linear", "conv1d" ... and "sigmoid", 5/3 for "tanh", sqrt(2) for "relu", 3/4 for "selu", and sqrt(2 / (1 +
    param**2)) for "leaky_relu", whose slope `param` is 0.01 by default. Raises ValueError if there is no such
    nonlinearity, and TypeError if `param` is not a number.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else check.number("calculate_gain", "param", param)
        return math.sqrt(2 / (1 + slope**2))
    if not isinstance(nonlinearity, str) or nonlinearity not in GAINS:
        names = ", ".join(["leaky_relu", *(name for name in GAINS if not name.startswith("conv"))])
        raise ValueError(f"calculate_gain: nonlinearity is {shown(nonlinearity)}\n  expected one of {names}")
    return GAINS[nonlinearity]


def uniform_(tensor: Leaf, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Leaf:
    """Fill with values from the uniform distribution between `a` and `b`. Raises ValueError if `b` is below `a`."""
    low, high = check.number("uniform_", "a", a), check.number("uniform_", "b", b)
    if high < low:
        raise ValueError(f"uniform_: a is {a}, b is {b}\n  expected a <= b")
    draw = _stream("uniform_", tensor, generator)
    return _set(tensor, draw.uniform(low, high, tensor.shape))


def normal_(tensor: Leaf, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Leaf:
    """Fill with normal values of this mean and standard deviation. Raises ValueError if `std` is negative."""
    mean, std = check.number("normal_", "mean", mean), check.number("normal_", "std", std, 0)
    draw = _stream("normal_", tensor, generator)
    return _set(tensor, mean + std * draw.standard_normal(tensor.shape))


def constant_(tensor: Leaf, val: float) -> Leaf:
    """Fill with the number `val`. It may be NaN, to find values that are never read."""
    if not (isinstance(val, (float, np.floating)) and np.isnan(val)):
        val = check.number("constant_", "val", val, finite=False)
    _leaf("constant_", tensor, floating=False)
    return _set(tensor, np.full(tensor.shape, val))


def ones_(tensor: Leaf) -> Leaf:
    """Fill with 1."""
    _leaf("ones_", tensor, floating=False)
    return _set(tensor, np.ones(tensor.shape))


def zeros_(tensor: Leaf) -> Leaf:
    """Fill with 0."""
    _leaf("zeros_", tensor, floating=False)
    return _set(tensor, np.zeros(tensor.shape))


def eye_(tensor: Leaf) -> Leaf:
    """Set the diagonal to 1 and the rest to 0, so a layer returns its inputs. Raises ValueError without two axes."""
    _matrix("eye_", tensor, exactly=True, floating=False)
    return _set(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def xavier_uniform_(tensor: Leaf, gain: float = 1.0, generator: Any = None) -> Leaf:
    """Uniform with bound ``gain * sqrt(6 / (fan_in + fan_out))``. Glorot & Bengio 2010.

    Raises ValueError if there are fewer than two axes, so fans are not defined.
    """
    op = "xavier_uniform_"
    bound = check.number(op, "gain", gain) * math.sqrt(6 / max(1, sum(_fans(op, tensor))))
    return _set(tensor, _stream(op, tensor, generator).uniform(-bound, bound, tensor.shape))


def xavier_normal_(tensor: Leaf, gain: float = 1.0, generator: Any = None) -> Leaf:
    """Normal with deviation ``gain * sqrt(2 / (fan_in + fan_out))``. Errors and source: see `xavier_uniform_`."""
    op = "xavier_normal_"
    std = check.number(op, "gain", gain) * math.sqrt(2 / max(1, sum(_fans(op, tensor))))
    return _set(tensor, std * _stream(op, tensor, generator).standard_normal(tensor.shape))


def kaiming_uniform_(
    tensor: Leaf, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Leaf:
    """Uniform with bound ``calculate_gain(nonlinearity, a) * sqrt(3 / fan)``. He et al. 2015.

    Raises ValueError if there are fewer than two axes, or no such mode or nonlinearity.

    Parameters
    ----------
    tensor : Tensor, (outputs, inputs, ...)
    a : float
        The slope of "leaky_relu" below 0.
    mode : {"fan_in", "fan_out"}
        Whether to keep the variance of the signal or that of the gradients.
    nonlinearity : str
        The nonlinearity after the layer, as for `calculate_gain`.
    """
    std = _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    bound = math.sqrt(3) * std
    return _set(tensor, _stream("kaiming_uniform_", tensor, generator).uniform(-bound, bound, tensor.shape))


def kaiming_normal_(
    tensor: Leaf, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Leaf:
    """Normal with deviation ``calculate_gain(nonlinearity, a) / sqrt(fan)``; for the rest see `kaiming_uniform_`."""
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return _set(tensor, std * _stream("kaiming_normal_", tensor, generator).standard_normal(tensor.shape))


def orthogonal_(tensor: Leaf, gain: float = 1, generator: Any = None) -> Leaf:
    """Fill with a random matrix whose rows (or columns, if they are fewer) are orthogonal and have norm `gain`.

    Axes after the first count as one. With a gain of 1, products with a square matrix of this kind keep the norm over
    any number of steps. Saxe et al. 2014. Raises ValueError if there are fewer than two axes.
    """
    op = "orthogonal_"
    gain = check.number(op, "gain", gain)
    _matrix(op, tensor)
    draw = _stream(op, tensor, generator)
    if not math.prod(tensor.shape):
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = np.linalg.qr(draw.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))  # this makes all orthogonal matrices equally likely
    return _set(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


# ---- shared helpers


def _leaf(op: str, tensor: Any, floating: bool = True) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{op}: tensor is a {type(tensor).__name__}\n  expected a Tensor, such as a Parameter")
    if tensor.op is not None:
        raise ValueError(f"{op}: this Tensor was made by {tensor.op.name}\n  expected a leaf, such as a Parameter")
    if floating and tensor.dtype.kind != "f":
        raise TypeError(f"{op}: tensor has dtype {tensor.dtype}\n  expected float16, float32 or float64")


def _matrix(op: str, tensor: Any, exactly: bool = False, floating: bool = True) -> None:
    _leaf(op, tensor, floating)
    if tensor.ndim < 2 or (exactly and tensor.ndim != 2):
        raise ValueError(
            f"{op}: tensor has shape {tensor.shape}\n  expected {'two' if exactly else 'two or more'} axes, (outputs,"
            " inputs)\n  likely a bias: zeros_ or uniform_ are for these"
        )


def _fans(op: str, tensor: Any) -> tuple[int, int]:
    _matrix(op, tensor)
    each = math.prod(tensor.shape[2:])
    return tensor.shape[1] * each, tensor.shape[0] * each


def _kaiming_std(op: str, tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    fans = dict(zip(("fan_in", "fan_out"), _fans(op, tensor), strict=True))
    if not isinstance(mode, str) or mode not in fans:
        raise ValueError(f"{op}: mode is {shown(mode)}\n  expected 'fan_in' or 'fan_out'")
    return calculate_gain(nonlinearity, a) / math.sqrt(max(1, fans[mode]))


def _stream(op: str, tensor: Any, generator: Any) -> np.random.Generator:
    """The generator to draw from. Raises an error unless `tensor` is a leaf that can hold the values."""
    _leaf(op, tensor)
    return random.generator(op, generator)


def _set(tensor: Leaf, values: np.ndarray) -> Leaf:
    tensor.assign(values)
    return tensor
