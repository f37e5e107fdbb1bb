"""CudnnRNN on a CUDA device, all steps of a layer in one launch: the rung `persistent` of the ladder.

The kernels and how they work: `cudnn_rnn/persistent.cu` and `cudnn_rnn/persistent_grad.cu`. The products over all steps
are those of the lowest rung.
"""

from __future__ import annotations

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.one_launch import (
    compiled,
    gate_gradients,
    inputs_and_weights,
    launch,
    recurrent_weights,
)
from minirnn.devices.cuda.launch.cudnn_rnn.plan import BackwardPlan, ForwardPlan

EMPTY = 0xFF
"""Each byte of memory for messages before a launch (`grid.cuh`)."""
SLOTS = 2
"""The slots of a share of a backward pass, used in turn (`persistent_grad.cu`)."""


def forward(
    directions: list[Direction],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    plan: ForwardPlan,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H), or None if the layer does
    not fit.
    """
    device, sizes = directions[0].device, directions[0].sizes
    kernel = compiled(directions, "cudnn_rnn/persistent.cu", "persistent", x.dtype, plan)
    if kernel is None:
        return None
    h_n = device.empty(h0.shape, x.dtype)
    states = device.empty((sizes.D, max(sizes.T - 1, 1), sizes.B, sizes.H), x.dtype)  # between steps
    arrays = *inputs_and_weights(directions, x), device.contiguous(h0), h_n, c, values, y
    launch(directions, kernel, plan, arrays, (states,), EMPTY)
    return h_n


def backward(
    directions: list[Direction],
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    plan: BackwardPlan,
) -> list[GateGradients] | None:
    """The gradients of all pre-activations, one entry per direction; dh and dc (D, B, H) go from last state to first.

    None if the layer does not fit; then nothing is changed.
    """
    sizes = directions[0].sizes
    kernel = compiled(directions, "cudnn_rnn/persistent_grad.cu", "persistent_grad", dh.dtype, plan)
    if kernel is None:
        return None
    da = gate_gradients(directions, dh.dtype)
    shares = directions[0].device.empty((sizes.D, SLOTS, plan.slices, sizes.B, sizes.H), dh.dtype)
    launch(directions, kernel, plan, (recurrent_weights(directions), values, y, dy, dh, dc), (da, shares), EMPTY)
    return [GateGradients(da[d]) for d in range(sizes.D)]
