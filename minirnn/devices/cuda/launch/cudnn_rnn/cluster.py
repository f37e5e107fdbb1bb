"""CudnnRNN on a CUDA device in one launch, for small layers: each slice of the batch on a cluster of blocks.

The kernels and how they work: `cudnn_rnn/cluster.cu`, `cudnn_rnn/cluster_grad.cu`. Blocks of a cluster reach each
other's shared memory and meet at a barrier that the hardware has; clusters never wait for each other. The products over
all steps stay what they are in the lowest rung.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel
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


def forward(
    layers: list[Layer],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    layout: layouts.Cluster,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H); None: it does not fit."""
    layer, D = layers[0], len(layers)
    device = layer.device
    kernel = kernel_of(device, "cudnn_rnn/cluster.cu", f"{layer.mode}_cluster", x.dtype, layout)
    block = (32 * layout.warps, 1, 1)
    if kernel.max_resident_blocks(block) < layouts.CLUSTER:
        return None
    h = device.contiguous(h0, always=True)
    R = stacked(device, [each.weights[1] for each in layers])
    biases = stacked(device, [b for each in layers for b in each.weights[3:]])
    sizes = map(np.int32, (layer.T, layer.B, layer.H))
    A = all_input_parts(layers, x)
    kernel(*sizes, layer.lengths, A, R, biases, h, c, values, y, grid=(layout.blocks, D), block=block)
    return h


def backward(
    layers: list[Layer],
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    layout: layouts.Cluster,
) -> list[GateGradients] | None:
    """The gradients of all pre-activations, a direction each; dh and dc (D, B, H) go from last state to first.

    None, and nothing is changed: it does not fit.
    """
    layer, D = layers[0], len(layers)
    device = layer.device
    kernel = kernel_of(device, "cudnn_rnn/cluster_grad.cu", f"{layer.mode}_cluster_grad", dh.dtype, layout)
    block = (32 * layout.warps, 1, 1)
    if kernel.max_resident_blocks(block) < layouts.CLUSTER:
        return None
    R = stacked(device, [each.weights[1] for each in layers])
    dA = all_gate_gradients(layers, dh.dtype)
    sizes = map(np.int32, (layer.T, layer.B, layer.H))
    kernel(*sizes, layer.lengths, R, values, y, dy, dh, dc, dA, grid=(layout.blocks, D), block=block)
    return [GateGradients(dA[d]) for d in range(D)]


def kernel_of(device: Primitives, file: str, kernel: str, dtype: np.dtype, layout: layouts.Cluster) -> Kernel:
    """The kernel, compiled for this layout."""
    constants = {"CHUNKS": layout.kept, "ROWS": layout.rows, "THREADS": layouts.most_threads(layout.warps)}
    constants["UNITS"] = layout.units
    return device.kernel_of(file, kernel, dtype, None, tuple(f"-D{name}={n}" for name, n in constants.items()))
