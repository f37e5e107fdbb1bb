"""CudnnRNN on a CUDA device in one launch: recurrent weights on the chip, the state as messages between blocks.

The kernels and how they work: `cudnn_rnn/persistent.cu`, `cudnn_rnn/persistent_grad.cu`. The products over all steps
stay what they are in the rung below. All blocks must be on the device at once; the driver is asked before the launch
(`fits`). Whatever else keeps the GPU busy only delays that: work of one driver runs in order, so two such kernels never
wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel, LaunchError
from minirnn.devices.cuda.launch.cudnn_rnn import layout as layouts
from minirnn.devices.cuda.launch.cudnn_rnn.layer import (
    GateGradients,
    Layer,
    all_gate_gradients,
    all_input_parts,
    stacked,
)

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives

PATIENCE = 1 << 23
"""Looks at a message that does not come, on a GPU: some seconds."""
PATIENCE_SIMULATED = 5000
"""A thread that waits looks once a round of all blocks."""


def kernel_of(device: Primitives, file: str, kernel: str, dtype: np.dtype, layout: Any) -> Kernel:
    """The kernel, compiled for this layout."""
    constants = {"CHUNKS": layout.kept, "ROWS": layout.rows, "THREADS": layouts.most_threads(layout.warps)}
    return device.kernel_of(file, kernel, dtype, None, tuple(f"-D{name}={n}" for name, n in constants.items()))


def fits(kernel: Kernel, layout: Any, D: int) -> bool:
    """Whether all blocks of the grid can be on the device at the same time."""
    return kernel.max_resident_blocks((32 * layout.warps, 1, 1), layout.shared) >= layout.blocks * D


def forward(
    layers: list[Layer],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    layout: layouts.Forward,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H); None: it does not fit."""
    layer, D = layers[0], len(layers)
    device, T, B, H = layer.device, layer.T, layer.B, layer.H
    kernel = kernel_of(device, "cudnn_rnn/persistent.cu", f"{layer.mode}_persistent", x.dtype, layout)
    if not fits(kernel, layout, D):
        return None
    A = all_input_parts(layers, x)
    R = stacked(device, [each.weights[1] for each in layers])
    biases = stacked(device, [b for each in layers for b in each.weights[3:]])
    h_n = device.empty(h0.shape, x.dtype)
    watched = Watched(device)
    messages = no_messages(device, (D, 2, B, H), x.dtype)
    kernel(
        *map(np.int32, (T, B, H, layout.chunks)), layer.lengths, A, R, biases, device.contiguous(h0), h_n, c, values, y,
        messages, *watched.arguments, grid=(layout.blocks, D), block=(32 * layout.warps, 1, 1), shared=layout.shared,
    )  # fmt: skip
    watched.check(kernel.name, layout.blocks, D)
    return h_n


def backward(
    layers: list[Layer],
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    layout: layouts.Backward,
) -> list[GateGradients] | None:
    """The gradients of all pre-activations, a direction each; dh and dc (D, B, H) go from last state to first.

    None, and nothing is changed: it does not fit.
    """
    layer, D = layers[0], len(layers)
    device, T, B, H, G = layer.device, layer.T, layer.B, layer.H, layer.G
    kernel = kernel_of(device, "cudnn_rnn/persistent_grad.cu", f"{layer.mode}_persistent_grad", dh.dtype, layout)
    if not fits(kernel, layout, D):
        return None
    R = stacked(device, [each.weights[1] for each in layers])
    dA = all_gate_gradients(layers, dh.dtype)
    watched = Watched(device)
    gradients = no_messages(device, (D, 2, B, G * H), dh.dtype)
    shares = no_messages(device, (D, 2, layout.slices, B, H), dh.dtype)
    kernel(
        *map(np.int32, (T, B, H, layout.chunks, layout.slices, layout.slice)), layer.lengths, R, values, y, dy, dh, dc,
        dA, gradients, shares, *watched.arguments,
        grid=(layout.blocks, D), block=(32 * layout.warps, 1, 1), shared=layout.shared,
    )  # fmt: skip
    watched.check(kernel.name, layout.blocks, D)
    return [GateGradients(dA[d]) for d in range(D)]


class Watched:
    """A launch whose blocks wait for each other: how long at most, and whether one of them gave up."""

    def __init__(self, device: Primitives) -> None:
        self.device = device
        self.error = device.empty((1,), np.dtype(np.uint32))
        device.driver.memset(self.error.ptr, 0, self.error.nbytes)
        simulated = device.driver.limits.simulated
        self.polls = PATIENCE_SIMULATED if simulated else PATIENCE

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The last arguments of such a kernel: polls, error."""
        return np.uint32(self.polls), self.error

    def check(self, kernel: str, blocks: int, D: int) -> None:
        """Wait for the launch. Raises `LaunchError` if a block gave up waiting."""
        missed = int(self.device.to_numpy(self.error)[0])
        if missed:
            raise LaunchError(
                f"{kernel}: a block gave up waiting for the messages of step {missed} (of {blocks} blocks,"
                f" {D} directions)\n  the results are worth nothing; not all blocks ran at the same time, or one of"
                " them failed\n  the lowest rung needs no messages: MINIRNN_CUDNN_RNN=steps"
            )


def no_messages(device: Primitives, shape: tuple[int, ...], dtype: np.dtype) -> CudaArray:
    """Memory for messages of numbers of this type: a word for each four bytes of one, all zero."""
    messages = device.empty((*shape, dtype.itemsize // 4), np.dtype(np.uint64))
    device.driver.memset(messages.ptr, 0, messages.nbytes)
    return messages
