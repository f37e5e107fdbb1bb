"""CudnnRNN on a CUDA device, all steps of a layer in one launch, a barrier between two steps: the rung `barrier`.

The kernels are written for readability: `cudnn_rnn/barrier.cu`. Those of `persistent.py` are checked against them.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import BarrierPlan
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.one_launch import (
    compiled,
    gate_gradients,
    inputs_and_weights,
    launch,
    recurrent_weights,
)

FILE = "cudnn_rnn/barrier.cu"
SLOTS = 2
"""The slots of h, used in turn."""


def forward(
    directions: list[Direction],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    plan: BarrierPlan,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H), or None if the layer does
    not fit.
    """
    device, sizes = directions[0].device, directions[0].sizes
    kernel = compiled(directions, FILE, "barrier", x.dtype, plan)
    if kernel is None:
        return None
    h = device.empty((SLOTS, *h0.shape), x.dtype)
    copy(device, h[0], h0)
    arrays = *inputs_and_weights(directions, x), h, c, values, y
    launch(directions, kernel, plan, arrays, (meeting(directions),), filled_with=0)
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
    """The gradients of all pre-activations, one entry per direction; dh and dc (D, B, H) go from last state to first.

    None if the layer does not fit; then nothing is changed.
    """
    kernel = compiled(directions, FILE, "barrier_grad", dh.dtype, plan)
    if kernel is None:
        return None
    da = gate_gradients(directions, dh.dtype)
    arrays = recurrent_weights(directions), values, y, dy, dh, dc, da
    launch(directions, kernel, plan, arrays, (meeting(directions),), filled_with=0)
    return [GateGradients(da[d]) for d in range(directions[0].sizes.D)]


def meeting(directions: list[Direction]) -> CudaArray:
    """The counter and the flag of each direction's barrier: (D, 2)."""
    return directions[0].device.empty((directions[0].sizes.D, 2), np.uint32)
