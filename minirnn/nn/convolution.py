"""Conv1d: a convolution over one axis, with its weight and bias."""

from __future__ import annotations

import math
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn import functional
from minirnn.nn.functional.convolution import around, one_of
from minirnn.nn.initial import Factory, redraw_uniform
from minirnn.nn.module import Module

MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}
"""Name of the padding of a sequence -> the mode of `pad`."""


class Conv1d(Module):
    """`minirnn.nn.functional.conv1d` with its own weight and bias.

    Parameters
    ----------
    in_channels, out_channels : int
        C and O.
    kernel_size, stride, dilation : int
    padding : int, "valid" or "same"
    groups : int
        A divisor of C and O.
    bias : bool
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        The padding of the sequence, as in `pad`.
    device, dtype
        Device and dtype of the parameters.

    Attributes
    ----------
    weight : Parameter (O, C / groups, K)
    bias : Parameter (O,), or None
        Both uniform with bound ``1 / sqrt(C / groups * K)``, as in torch.
    """

    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        C = self.in_channels = check.integer("Conv1d", "in_channels", in_channels, 1)
        O = self.out_channels = check.integer("Conv1d", "out_channels", out_channels, 1)
        K = one_of("Conv1d", "kernel_size", kernel_size, 1)
        G = self.groups = check.integer("Conv1d", "groups", groups, 1)
        if C % G or O % G:
            raise ValueError(f"Conv1d: groups is {shown(groups)}\n  expected a divisor of {C} and {O}, the channels")
        self.kernel_size, self.stride = (K,), (one_of("Conv1d", "stride", stride, 1),)
        self.dilation = (one_of("Conv1d", "dilation", dilation, 1),)
        around("Conv1d", padding, K, self.stride[0], self.dilation[0])
        self.padding = padding if isinstance(padding, str) else (one_of("Conv1d", "padding", padding, 0),)
        check.choice("Conv1d", "padding_mode", padding_mode, tuple(MODES))
        self.padding_mode = padding_mode
        make, bound = Factory(device, dtype), 1 / math.sqrt(C // G * K)
        self.weight = make.uniform((O, C // G, K), bound)
        bias = check.flag("Conv1d", "bias", bias)
        self.register_parameter("bias", make.uniform((O,), bound) if bias else None)

    def reset_parameters(self) -> None:
        """Draw new initial values, as the constructor does."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.weight.shape[1] * self.weight.shape[2]))

    def forward(self, input: Any) -> Tensor:
        """(B, C, L) or (C, L) -> (B, O, ..) or (O, ..)."""
        x = input if isinstance(input, Tensor) else as_tensor(input, device=self.weight.device)
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides = around("Conv1d", padding, self.kernel_size[0], self.stride[0], self.dilation[0])
            x, padding = functional.pad(x, sides, MODES[self.padding_mode]), 0
        return functional.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        plain = {"padding": (0,), "dilation": (1,), "groups": 1}
        text += "".join(f", {k}={getattr(self, k)}" for k, v in plain.items() if getattr(self, k) != v)
        text += "" if self.bias is not None else ", bias=False"
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")
