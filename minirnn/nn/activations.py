"""Activations as modules. Each stores its options and calls the function of `nn.functional`."""

from __future__ import annotations

from typing import Any

from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.activations import bounds
from minirnn.nn.functional.arguments import one_dim
from minirnn.nn.options import WithOptions, calls


class _Activation(WithOptions):
    def forward(self, input: Any) -> Tensor:
        """The activation, elementwise or along `dim`, in the shape of `input` (`GLU`: half as long along `dim`)."""
        return self._call(input)


@calls(functional.relu)
class ReLU(_Activation):
    """``max(x, 0)``. With `inplace` it is written into the input."""


@calls(functional.relu6)
class ReLU6(_Activation):
    """``min(max(x, 0), 6)``."""


@calls(functional.leaky_relu)
class LeakyReLU(_Activation):
    """``x`` where x > 0, else ``negative_slope * x``."""


@calls(functional.elu)
class ELU(_Activation):
    """``x`` where x > 0, else ``alpha * (exp(x) - 1)``."""


@calls(functional.hardtanh)
class Hardtanh(_Activation):
    """``min(max(x, min_val), max_val)``."""

    min_val: float
    max_val: float

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


@calls(functional.gelu)
class GELU(_Activation):
    """``x * Phi(x)``, exact or with the tanh approximation: `minirnn.nn.functional.gelu`."""


@calls(functional.softplus)
class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``, and x where ``beta * x > threshold``."""


@calls(functional.glu)
class GLU(_Activation):
    """``a * sigmoid(b)`` of the halves a and b of the input along `dim`, where its size must be even."""


class _AlongDim(_Activation):
    dim: int | None
    axis: int | None

    def __post_init__(self) -> None:
        self.dim = one_dim(type(self).__name__, self.dim, self.axis)
        super().__post_init__()


@calls(functional.softmax, without=("dtype",))
class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along `dim`, which must be given; `axis` is minirnn's name for it."""


@calls(functional.log_softmax, without=("dtype",))
class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along `dim`, which must be given; `axis` is minirnn's name for it."""


@calls(functional.softmin, without=("dtype",))
class Softmin(_AlongDim):
    """``softmax(-x)`` along `dim`, which must be given; `axis` is minirnn's name for it."""
