"""Activations: elementwise functions, `glu` and softmaxes, with torch's names, defaults and derivatives at kinks.

Those that are a single op, such as `tanh`, are declared in `minirnn.ops.primitives` as activations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.cells.expr import Expr, apply
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import one_dim, returned, source, widened
from minirnn.ops import primitives
from minirnn.ops.primitives import clip, exp, where
from minirnn.ops.primitives.declare import Primitive
from minirnn.ops.softplus import log_one_plus_exp


class NormalCdf(Primitive, uses="erf", reads="x"):
    """y = Phi(x) = (1 + erf(x / sqrt(2))) / 2        dx = dy * exp(-x * x / 2) / sqrt(2 pi)"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.normal_cdf(x)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (dy * (exp(x * x * -0.5) * math.sqrt(0.5 / math.pi)),)


NORMAL_CDF = NormalCdf()


class LeakyRelu(Primitive, uses="where", reads="x"):
    """y = x where x > 0, else a * x        dx = dy where x > 0, else a * dy"""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, device: Any, x: Any) -> Any:
        below = device.multiply(x, self.slope)
        # For slopes between 0 and 1 the result is the larger value, and a maximum is faster.
        return device.maximum(x, below) if 0 < self.slope <= 1 else device.where(device.greater(x, 0), x, below)

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (where(x > 0, dy, dy * self.slope),)


class Elu(Primitive, uses="where", reads="x"):
    """y = x where x > 0, else a * (exp(x) - 1)     dx = dy where x > 0, else dy * a * exp(x)"""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def forward(self, device: Any, x: Any) -> Any:
        below = device.clip(x, None, 0.0)  # so that exp does not overflow where its result is not used
        return device.where(device.greater(x, 0), x, device.multiply(device.expm1(below), self.alpha))

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (where(x > 0, dy, dy * (exp(clip(x, None, 0.0)) * self.alpha)),)


def relu(input: Any, inplace: bool = False) -> Tensor:
    """``max(x, 0)``; the derivative at 0 is 0. With `inplace` the result is written into `input`."""
    return returned(input, primitives.relu(source("relu", input, inplace)), inplace)


def relu6(input: Any, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``: `hardtanh` between 0 and 6."""
    return returned(input, _clamped("relu6", source("relu6", input, inplace), 0.0, 6.0), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``min(max(x, min_val), max_val)``; the derivative at both bounds is 0, as in torch."""
    y = _clamped("hardtanh", source("hardtanh", input, inplace), *bounds("hardtanh", min_val, max_val))
    return returned(input, y, inplace)


def bounds(op: str, min_val: Any, max_val: Any) -> tuple[float, float]:
    """The bounds of `hardtanh`. Raises TypeError if one is not a number, ValueError if ``min_val > max_val``."""
    low = check.number(op, "min_val", min_val, finite=False)
    high = check.number(op, "max_val", max_val, finite=False)
    if low > high:
        raise ValueError(f"{op}: min_val {low} is above max_val {high}\n  expected min_val <= max_val")
    return low, high


def _clamped(op: str, input: Any, low: float, high: float) -> Tensor:
    x, dtype = widened(op, input)
    return where(x <= low, low, where(x >= high, high, x)).astype(dtype)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where x > 0, else ``negative_slope * x``; the derivative at 0 is `negative_slope`.

    Maas et al. 2013.
    """
    slope = check.number("leaky_relu", "negative_slope", negative_slope)
    x, dtype = widened("leaky_relu", source("leaky_relu", input, inplace))
    return returned(input, LeakyRelu(slope)(x).astype(dtype), inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where x > 0, else ``alpha * (exp(x) - 1)``; the derivative at 0 is `alpha`.

    Clevert et al. 2015.
    """
    alpha = check.number("elu", "alpha", alpha)
    x, dtype = widened("elu", source("elu", input, inplace))
    return returned(input, Elu(alpha)(x).astype(dtype), inplace)


def silu(input: Any, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish."""
    x, dtype = widened("silu", source("silu", input, inplace))
    return returned(input, (x * primitives.sigmoid(x)).astype(dtype), inplace)


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``, with Phi the distribution function of the standard normal distribution.

    Parameters
    ----------
    approximate : {"none", "tanh"}
        ``Phi(x) = (1 + erf(x / sqrt(2))) / 2``, or its approximation
        ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``. Hendrycks & Gimpel 2016.
    """
    check.choice("gelu", "approximate", approximate, ("none", "tanh"))
    x, dtype = widened("gelu", input)
    if approximate == "none":
        phi = NORMAL_CDF(x)
    else:
        phi = (primitives.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1) * 0.5
    return (x * phi).astype(dtype)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and `x` itself where ``beta * x > threshold``, as in torch."""
    if input.__class__ is Expr:
        return apply("softplus", input * beta) / beta
    beta, threshold = divisor("softplus", "beta", beta), check.number("softplus", "threshold", threshold)
    x, dtype = widened("softplus", input)
    scaled = x if beta == 1 else x * beta
    y = log_one_plus_exp(scaled)
    if beta == 1 and threshold >= 20 and x.dtype == np.float32:  # there y is x, and its derivative 1, to the last bit
        return y.astype(dtype)
    return where(scaled > threshold, x, y if beta == 1 else y / beta).astype(dtype)


def divisor(op: str, name: str, value: Any) -> float:
    """A number to divide by. Raises TypeError or ValueError if it cannot be used."""
    value = check.number(op, name, value)
    if value == 0:
        raise ValueError(f"{op}: {name} is 0\n  expected a number other than 0: the result is divided by {name}")
    return value


def logsigmoid(input: Any) -> Tensor:
    """``log(sigmoid(x)) = -log(1 + exp(-x))``, without overflow or underflow."""
    x, dtype = widened("logsigmoid", input)
    return (-log_one_plus_exp(-x)).astype(dtype)


def glu(input: Any, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)``, where a and b are the two halves of `input` along `dim`. Dauphin et al. 2016."""
    x, dtype = widened("glu", input)
    dim = check.axis("glu", dim, x.ndim)
    n = x.shape[dim]
    if n % 2:
        raise ValueError(f"glu: axis {dim} of shape {x.shape} has size {n}\n  expected an even size, two halves")
    a, b = primitives.split(x, [n // 2, n // 2], dim)
    return (a * primitives.sigmoid(b)).astype(dtype)


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along `dim`, without overflow: ``torch.nn.functional.softmax``.

    Parameters
    ----------
    input : array_like of a floating dtype
    dim : int
        The axis. `axis` is minirnn's name for it. If it is missing, torch guesses it and warns. Here that is an error.
    dtype : dtype, optional
        The dtype to convert `input` to beforehand.
    """
    return _along("softmax", primitives.softmax, input, dim, axis, dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``log(softmax(x))`` along `dim`, without overflow or underflow: ``torch.nn.functional.log_softmax``.

    The arguments and errors are those of `softmax`.
    """
    return _along("log_softmax", primitives.log_softmax, input, dim, axis, dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """``softmax(-x)`` along `dim`: ``torch.nn.functional.softmin``. The arguments and errors are those of `softmax`."""
    return _along("softmin", lambda x, k: primitives.softmax(-x, k), input, dim, axis, dtype)


def _along(op: str, function: Callable[[Tensor, int], Tensor], input: Any, dim: Any, axis: Any, dtype: Any) -> Tensor:
    k = one_dim(op, dim, axis)
    x, made_of = widened(op, input if dtype is None else primitives.astype(input, dtype))
    return function(x, k).astype(made_of)
