"""Linear: y = x W^T + b."""

from __future__ import annotations

import math
from typing import Any

from minirnn.arguments import check
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.initial import Factory, redraw_uniform, size
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter


class Linear(Module):
    """``y = x @ weight.T + bias``, along the last axis.

    Parameters
    ----------
    in_features, out_features : int
        I and O.
    bias : bool
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    weight : Parameter, (O, I)
    bias : Parameter, (O,), or None
        Both uniform with bound 1/sqrt(I), as in torch.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        I = self.in_features = size("Linear", "in_features", in_features)
        O = self.out_features = size("Linear", "out_features", out_features)
        make = Factory(device, dtype)
        bias = check.flag("Linear", "bias", bias)
        self.weight = make.uniform((O, I), 1 / math.sqrt(I))
        self.register_parameter("bias", make.uniform((O,), 1 / math.sqrt(I)) if bias else None)

    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Draw new initial values, as the constructor does."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.in_features))

    def forward(self, input: Any) -> Tensor:
        """(..., I) -> (..., O), in the dtype of the parameters.

        Raises ValueError if the size of the last axis is not I, TypeError if x has another dtype.
        """
        x = input if isinstance(input, Tensor) else as_tensor(input, device=self.weight.device)
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            cause = "\n  likely transposed" if x.ndim == 2 and x.shape[0] == self.in_features else ""
            raise ValueError(f"Linear: x has shape {x.shape}\n  expected (..., I) with I = {self.in_features}{cause}")
        if x.dtype != self.weight.dtype:
            raise TypeError(
                f"Linear: x has dtype {x.dtype}, the parameters have {self.weight.dtype}\n"
                "  expected one dtype: x.astype(...), or Linear(..., dtype=...)"
            )
        # One matrix product; for (T, B, I), matmul would compute one for each t.
        y = x.reshape(-1, self.in_features) @ self.weight.T
        if self.bias is not None:
            y = y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + ("" if self.bias is not None else ", bias=False")
