"""LayerNorm and RMSNorm: normalize the elements of each row, then apply a learned scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor
from minirnn.nn import functional
from minirnn.nn.functional.normalization import shape_of
from minirnn.nn.initial import Factory
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter


class LayerNorm(Module):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes: `minirnn.nn.functional.layer_norm`.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The sizes of the last axes, over which mean and (biased) variance are taken.
    eps : float
    elementwise_affine : bool
        Whether there are a weight and a bias.
    bias : bool
        Whether there is a bias. Without `elementwise_affine` there is none.
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    weight, bias : Parameter of shape normalized_shape, or None
        Ones and zeros at first.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape_of("LayerNorm", normalized_shape)
        self.eps = check.number("LayerNorm", "eps", eps)
        self.elementwise_affine = check.flag("LayerNorm", "elementwise_affine", elementwise_affine)
        bias = check.flag("LayerNorm", "bias", bias)
        make = Factory(device, dtype)
        biased = elementwise_affine and bias
        self.register_parameter("weight", make.full(self.normalized_shape, 1.0) if elementwise_affine else None)
        self.register_parameter("bias", make.full(self.normalized_shape, 0.0) if biased else None)

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        _reset(self.weight, 1.0)
        _reset(self.bias, 0.0)

    def forward(self, input: Any) -> Tensor:
        """``(..., *normalized_shape)`` -> the same shape."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = "" if self.bias is not None or not self.elementwise_affine else ", bias=False"
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}{bias}"


class RMSNorm(Module):
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last axes: `minirnn.nn.functional.rms_norm`.

    Parameters
    ----------
    normalized_shape : int or tuple of int
    eps : float, optional
        By default the spacing of the numbers of the input's dtype at 1.
    elementwise_affine : bool
        Whether there is a weight.
    device, dtype
        Device and dtype (default float32) of the weight.

    Attributes
    ----------
    weight : Parameter of shape normalized_shape, or None
        Ones at first.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape_of("RMSNorm", normalized_shape)
        self.eps = None if eps is None else check.number("RMSNorm", "eps", eps)
        self.elementwise_affine = check.flag("RMSNorm", "elementwise_affine", elementwise_affine)
        make = Factory(device, dtype)
        self.register_parameter("weight", make.full(self.normalized_shape, 1.0) if elementwise_affine else None)

    weight: Parameter | None

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        _reset(self.weight, 1.0)

    def forward(self, input: Any) -> Tensor:
        """``(..., *normalized_shape)`` -> the same shape."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _reset(parameter: Tensor | None, value: float) -> None:
    if parameter is not None:
        parameter.assign(np.full(parameter.shape, value))
