"""LayerNorm: normalizes the elements of each row, then applies a learned scale and shift."""

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
        for parameter, value in ((self.weight, 1.0), (self.bias, 0.0)):
            if parameter is not None:
                parameter.assign(np.full(parameter.shape, value))

    def forward(self, input: Any) -> Tensor:
        """``(..., *normalized_shape)`` -> the same shape."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = "" if self.bias is not None or not self.elementwise_affine else ", bias=False"
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}{bias}"
