"""BatchNorm1d: normalizes each channel over the batch, then applies a learned scale and bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.nn import functional
from minirnn.nn.initial import Factory
from minirnn.nn.module import Module


class BatchNorm1d(Module):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each channel: `minirnn.nn.functional.batch_norm`.

    Parameters
    ----------
    num_features : int
        The number of channels C.
    eps : float
    momentum : float or None
        The weight of a new batch in the running mean and variance. With None they are the means over all batches.
    affine : bool
        Whether there are a weight and a bias.
    track_running_stats : bool
        Whether there are a running mean and variance. Without them, evaluation also uses those of the batch.
    device, dtype
        Device and dtype of the parameters.
    bias : bool
        Whether there is a bias. Without `affine` there is none.

    Attributes
    ----------
    weight, bias : Parameter (C,), or None
        Ones and zeros at first.
    running_mean, running_var, num_batches_tracked : Tensor or None
        Buffers: zeros (C,), ones (C,) and 0 at first.
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        C = self.num_features = check.integer("BatchNorm1d", "num_features", num_features, 1)
        self.eps = check.number("BatchNorm1d", "eps", eps)
        self.momentum = None if momentum is None else check.number("BatchNorm1d", "momentum", momentum)
        self.affine = check.flag("BatchNorm1d", "affine", affine)
        self.track_running_stats = check.flag("BatchNorm1d", "track_running_stats", track_running_stats)
        make = Factory(device, dtype)
        self.register_parameter("weight", make.full((C,), 1.0) if affine else None)
        self.register_parameter("bias", make.full((C,), 0.0) if affine and bias else None)
        tracks = self.track_running_stats
        for name, value in (("running_mean", np.zeros(C)), ("running_var", np.ones(C))):
            self.register_buffer(name, tensor(value, device=make.device, dtype=make.dtype) if tracks else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=make.device) if tracks else None)

    weight: Tensor | None
    bias: Tensor | None

    def reset_running_stats(self) -> None:
        """Reset the running mean and variance."""
        for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if buffer is not None:
                buffer.assign(np.full(buffer.shape, value))

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0, and reset the running mean and variance."""
        self.reset_running_stats()
        for parameter, value in ((self.weight, 1.0), (self.bias, 0.0)):
            if parameter is not None:
                parameter.assign(np.full(parameter.shape, value))

    def forward(self, input: Any) -> Tensor:
        """(B, C) or (B, C, L) -> the same shape. Raises ValueError for another number of axes."""
        x = input if isinstance(input, Tensor) else as_tensor(input)
        if x.ndim not in (2, 3):
            raise ValueError(f"BatchNorm1d: input has shape {x.shape}\n  expected (B, C) or (B, C, L)")
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.assign(self.num_batches_tracked + 1)
            share = 1 / int(self.num_batches_tracked) if self.momentum is None else share
        now = self.training or self.running_mean is None
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, now, share, self.eps
        )

    def extra_repr(self) -> str:
        tail = f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {tail}"
