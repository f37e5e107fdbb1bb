"""Activations as modules. Each stores its options and calls the function of `nn.functional`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.activations import bounds, divisor
from minirnn.nn.functional.arguments import one_dim
from minirnn.nn.options import WithOptions, calls, declared, option


@declared
class _Activation(WithOptions):
    def forward(self, input: Any) -> Tensor:
        """The activation, elementwise or along `dim`, in the shape of `input` (`GLU`: half as long along `dim`)."""
        return self._call(input)


@calls(functional.relu)
class ReLU(_Activation):
    """``max(x, 0)``. With `inplace` it is written into the input."""

    inplace: bool = option(False, check.flag)


@calls(functional.relu6)
class ReLU6(_Activation):
    """``min(max(x, 0), 6)``."""

    inplace: bool = option(False, check.flag)


@calls(functional.leaky_relu)
class LeakyReLU(_Activation):
    """``x`` where x > 0, else ``negative_slope * x``."""

    negative_slope: float = option(0.01, check.number)
    inplace: bool = option(False, check.flag)


@calls(functional.elu)
class ELU(_Activation):
    """``x`` where x > 0, else ``alpha * (exp(x) - 1)``."""

    alpha: float = option(1.0, check.number)
    inplace: bool = option(False, check.flag)


@calls(functional.hardtanh)
class Hardtanh(_Activation):
    """``min(max(x, min_val), max_val)``."""

    min_val: float = option(-1.0)
    max_val: float = option(1.0)
    inplace: bool = option(False, check.flag)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.min_val, self.max_val = bounds("Hardtanh", self.min_val, self.max_val)


@calls(functional.sigmoid)
class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""


@calls(functional.logsigmoid)
class LogSigmoid(_Activation):
    """``log(sigmoid(x))``, without overflow or underflow."""


@calls(functional.tanh)
class Tanh(_Activation):
    """The hyperbolic tangent."""


@calls(functional.silu)
class SiLU(_Activation):
    """``x * sigmoid(x)``, also called swish."""

    inplace: bool = option(False, check.flag)


@calls(functional.gelu)
class GELU(_Activation):
    """``x * Phi(x)``, exact or with the tanh approximation: `minirnn.nn.functional.gelu`."""

    approximate: str = option("none", check.choice, ("none", "tanh"))


@calls(functional.softplus)
class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``, and x where ``beta * x > threshold``."""

    beta: float = option(1.0, divisor)
    threshold: float = option(20.0, check.number)


@calls(functional.glu)
class GLU(_Activation):
    """``a * sigmoid(b)`` of the halves a and b of the input along `dim`, where its size must be even."""

    dim: int = option(-1, check.integer)


@declared
class _AlongDim(_Activation):
    dim: int | None = option(None, check.integer)
    _: KW_ONLY
    axis: int | None = option(None, kept=False)

    def __post_init__(self) -> None:
        self.dim = one_dim(type(self).__name__, self.dim, self.axis)
        super().__post_init__()


@calls(functional.softmax)
class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along `dim`, which must be given; `axis` is minirnn's name for it."""


@calls(functional.log_softmax)
class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along `dim`, which must be given; `axis` is minirnn's name for it."""


@calls(functional.softmin)
class Softmin(_AlongDim):
    """``softmax(-x)`` along `dim`, which must be given; `axis` is minirnn's name for it."""
