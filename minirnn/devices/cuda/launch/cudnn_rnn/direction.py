"""One direction of a CudnnRNN layer on a CUDA device: the inputs and results of all rungs of the ladder.

The formulas are those of `minirnn/ops/cudnn_rnn`; shapes are explained in `minirnn/devices/cpu/cudnn_rnn/layer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Sizes
from minirnn.devices.cuda.launch.threads import cells
from minirnn.devices.cuda.launcher import Launcher

Weights = Sequence[tuple[Any, ...]]
"""W, R, Wp, bW and bR of each direction; W is None with skip_input, Wp without a projection."""


@dataclass
class Direction:
    """One direction of a layer on a device: sizes, weights, the order of steps, and the active rows."""

    device: Launcher
    sizes: Sizes
    d: int
    """Direction 1 runs backwards in time."""
    lengths: CudaArray | None
    """The length of each row; None if all have T steps."""
    ends: np.ndarray
    """The lengths in host memory."""
    weights: tuple[Any, ...]

    @property
    def y_stride(self) -> int:
        """The distance of the rows of y: D*P."""
        return self.sizes.D * self.sizes.P

    def run(
        self,
        name: str,
        numbers: tuple[Any, ...],
        arrays: tuple[CudaArray | None, ...],
        work: Callable[[], None],
    ) -> None:
        """Run `work()`, which depends only on these numbers and arrays, from a recording if there is one."""
        self.device.recordings.run(name, (self.sizes, *numbers), (self.lengths, *arrays), work)

    def forward_steps(self) -> Iterable[int]:
        """The steps in the order in which the forward pass takes them."""
        return range(self.sizes.T) if self.d == 0 else range(self.sizes.T - 1, -1, -1)

    def backward_steps(self) -> Iterable[int]:
        """The steps in the order in which the backward pass takes them."""
        return range(self.sizes.T - 1, -1, -1) if self.d == 0 else range(self.sizes.T)

    def first_rows(self) -> np.ndarray:
        """The index in (T*B, ...) of the first step of each row of the batch in this direction: (B,)."""
        return (self.ends - 1 if self.d == 1 else 0) * self.sizes.B + np.arange(self.sizes.B)

    def own_columns(self, y: CudaArray, t: int) -> CudaArray:
        """This direction's columns of step t of y or dy: (B, P)."""
        B, P = self.sizes.B, self.sizes.P
        return y.seen_as((B, P), (self.y_stride, 1), t * B * self.y_stride + self.d * P)


def settled(device: Launcher, weights: Weights) -> list[tuple[Any, ...]]:
    """The weights. Those that loops read are copied into one buffer, whose address is the same at the next call.

    An optimizer makes new weights at each step, at new addresses, but a recording reads the recorded ones.
    """
    buffer = device.empty((sum(w.size for parts in weights for w in parts[1:] if w is not None),), weights[0][3].dtype)
    copies, offset = [], 0
    for W, *rest in weights:
        own = [W]
        for w in rest:
            if w is not None:
                place = buffer.seen_as(w.shape, c_strides(w.shape), offset)
                offset += w.size
                copy(device, place, w)
            own.append(None if w is None else place)
        copies.append(tuple(own))
    return copies


@dataclass
class GateGradients:
    """The results of a backward pass that the products after it read, for one direction."""

    da: CudaArray
    """The gradients of the pre-activations: (T, B, G*H). For gru (T, B, 4*H), columns q r z n: the first three are da2,
    the gradient of the recurrent part, and the last three da."""
    ds: CudaArray | None = None
    """With a projection: the gradients of its results, (T, B, P)."""
    ms: CudaArray | None = None
    """With a projection: its inputs, (T, B, H)."""


def without_padding(x: CudaArray, direction: Direction) -> CudaArray:
    """x in C order, with zeros where a row is not active."""
    device, x = direction.device, direction.device.contiguous(x)
    if direction.lengths is None or not x.size:
        return x
    T, B, n = x.shape
    clean = device.empty(x.shape, x.dtype)
    run = device.kernel_of("cudnn_rnn/steps.cu", "without_padding", x.dtype)
    run(*map(np.int32, (T * B, B, n)), direction.lengths, x, clean, **cells(T * B, n))
    return clean


def in_columns(direction: Direction, R: CudaArray) -> CudaArray:
    """R with its rows in the order of the columns of da: those of only h first."""
    gates, H = direction.sizes.gates, direction.sizes.H
    both = gates.of_both * H
    return direction.device.concatenate([R[both:], R[:both]], 0) if gates.of_h and both else R
