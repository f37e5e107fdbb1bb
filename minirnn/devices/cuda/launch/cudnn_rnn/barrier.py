"""CudnnRNN on a CUDA device, all steps of a layer in one launch, a barrier between two steps: the rung `barrier`.

The kernels are written to be read: `cudnn_rnn/barrier.cu`. They judge those of `persistent.py`, and are launched alike.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import all_input_parts
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import BarrierPlan
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.persistent import fits, kernel_of, launch, recurrent_weights, stacked

FILE = "cudnn_rnn/barrier.cu"
SLOTS = 2
"""The places of h, used in turn."""


def forward(
    directions: list[Direction],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    plan: BarrierPlan,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H); None: it does not fit."""
    device, sizes = directions[0].device, directions[0].sizes
    kernel = kernel_of(device, FILE, f"{sizes.mode}_barrier", x.dtype, plan)
    if kernel is None or not fits(kernel, plan, sizes.D):
        return None
    A, R = all_input_parts(directions, x), recurrent_weights(directions)
    biases = stacked(device, [b for direction in directions for b in direction.weights[3:]])
    h = device.empty((SLOTS, *h0.shape), x.dtype)
    copy(device, h[0], h0)
    launch(directions, kernel, plan, (A, R, biases, h, c, values, y), (meeting(directions),), filled_with=0)
    return h[sizes.T % SLOTS]


def backward(
    directions: list[Direction],
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    plan: BarrierPlan,
) -> list[GateGradients] | None:
    """The gradients of all pre-activations, a direction each; dh and dc (D, B, H) go from last state to first.

    None, and nothing is changed: it does not fit.
    """
    device, sizes = directions[0].device, directions[0].sizes
    kernel = kernel_of(device, FILE, f"{sizes.mode}_barrier_grad", dh.dtype, plan)
    if kernel is None or not fits(kernel, plan, sizes.D):
        return None
    da = device.empty((sizes.D, sizes.T, sizes.B, sizes.columns * sizes.H), dh.dtype)
    arrays = recurrent_weights(directions), values, y, dy, dh, dc, da
    launch(directions, kernel, plan, arrays, (meeting(directions),), filled_with=0)
    return [GateGradients(da[d]) for d in range(sizes.D)]


def meeting(directions: list[Direction]) -> CudaArray:
    """The counter and the flag of each direction's barrier: (D, 2)."""
    return directions[0].device.empty((directions[0].sizes.D, 2), np.uint32)
