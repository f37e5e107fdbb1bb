"""CudnnRNN on a CUDA device, all steps of a layer in one launch: the rung `persistent` of the ladder.

The kernels and how they work: `cudnn_rnn/persistent.cu` and `cudnn_rnn/persistent_grad.cu`. All their blocks must be on
the device at once, because they wait for each other's messages. The driver is asked before the launch (`fits`), and
the launch is a cooperative one: the driver starts all blocks or none, also where another process or another library's
kernel holds a part of the GPU. The products over all steps are those of the lowest rung.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import all_input_parts
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import BarrierPlan
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.plan import BackwardPlan, ForwardPlan, Plan
from minirnn.devices.cuda.launcher import Launcher

EMPTY = 0xFF
"""Each byte of memory for messages before a launch (`grid.cuh`)."""
SLOTS = 2
"""The places of a share of a backward pass, used in turn (`persistent_grad.cu`)."""
PATIENCE = 1 << 23
"""Looks at a message that does not come, on a GPU: some seconds."""
PATIENCE_SIMULATED = 5000
"""The same in the simulator, where a thread that waits looks once a round of all blocks."""


def forward(
    directions: list[Direction],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    plan: ForwardPlan,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H); None: it does not fit."""
    device, sizes = directions[0].device, directions[0].sizes
    kernel = kernel_of(device, "cudnn_rnn/persistent.cu", f"{sizes.mode}_persistent", x.dtype, plan)
    if kernel is None or not fits(kernel, plan, sizes.D):
        return None
    A, R = all_input_parts(directions, x), recurrent_weights(directions)
    biases = stacked(device, [b for direction in directions for b in direction.weights[3:]])
    h_n = device.empty(h0.shape, x.dtype)
    states = device.empty((sizes.D, max(sizes.T - 1, 1), sizes.B, sizes.H), x.dtype)  # between steps
    launch(directions, kernel, plan, (A, R, biases, device.contiguous(h0), h_n, c, values, y), (states,))
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
    """The gradients of all pre-activations, a direction each; dh and dc (D, B, H) go from last state to first.

    None, and nothing is changed: it does not fit.
    """
    device, sizes = directions[0].device, directions[0].sizes
    kernel = kernel_of(device, "cudnn_rnn/persistent_grad.cu", f"{sizes.mode}_persistent_grad", dh.dtype, plan)
    if kernel is None or not fits(kernel, plan, sizes.D):
        return None
    da = device.empty((sizes.D, sizes.T, sizes.B, sizes.columns * sizes.H), dh.dtype)
    shares = device.empty((sizes.D, SLOTS, plan.slices, sizes.B, sizes.H), dh.dtype)
    launch(directions, kernel, plan, (recurrent_weights(directions), values, y, dy, dh, dc), (da, shares))
    return [GateGradients(da[d]) for d in range(sizes.D)]


def kernel_of(device: Launcher, file: str, kernel: str, dtype: np.dtype, plan: Plan | BarrierPlan) -> Kernel | None:
    """The kernel, compiled for this plan; None if the compiler refuses it."""
    constants = tuple(f"-D{name}={n}" for name, n in plan.constants.items())
    rung = "barrier" if isinstance(plan, BarrierPlan) else "persistent"
    return device.uncompiled.unless_refused(
        (file, dtype, constants), rung, lambda: device.kernel_of(file, kernel, dtype, None, constants)
    )


def fits(kernel: Kernel, plan: Plan | BarrierPlan, D: int) -> bool:
    """Whether all blocks that wait for each other can be on the device at the same time."""
    return kernel.max_resident_blocks(plan.threads, plan.shared) >= plan.blocks * D


def launch(
    directions: list[Direction],
    kernel: Kernel,
    plan: Plan | BarrierPlan,
    arrays: tuple[CudaArray | None, ...],
    messages: tuple[CudaArray, ...],
    more: tuple[Any, ...] = (),
    filled_with: int | None = None,
) -> None:
    """Run the kernel on these arrays, on memory for messages, and on what comes behind all.

    Each byte of the memory for messages is set before, to `EMPTY` if nothing else is said.

    Whether a block gave up waiting for a message shows later: `minirnn/devices/cuda/missed.py`.
    """
    direction, device, sizes, lengths = directions[0], directions[0].device, directions[0].sizes, directions[0].lengths
    numbers = map(np.int32, (sizes.T, sizes.B, sizes.H, *plan.numbers))
    run = partial(
        kernel, *numbers, lengths, *arrays, grid=(plan.blocks, sizes.D), block=plan.threads, shared=plan.shared,
        cooperative=True,
    )  # fmt: skip
    polls = PATIENCE_SIMULATED if device.driver.limits.simulated else PATIENCE
    missed = device.missed.word_of(f"{kernel.name} of {plan.blocks} blocks, {sizes.D} directions")

    def fill_and_run() -> None:
        for array in messages:
            device.driver.memset(array.ptr, EMPTY if filled_with is None else filled_with, array.nbytes)
        run(*messages, np.uint32(polls), missed, *more)

    numbers_of_more = [bytes(one) for one in more]
    direction.run(kernel.name, (plan, polls, *numbers_of_more), (*arrays, *messages), fill_and_run)
    device.missed.launched()


def recurrent_weights(directions: list[Direction]) -> CudaArray:
    """R of all directions: (D, G*H, H)."""
    return stacked(directions[0].device, [direction.weights[1] for direction in directions])


def stacked(device: Launcher, arrays: list[CudaArray]) -> CudaArray:
    """Arrays of one shape behind each other, in C order."""
    if len(arrays) == 1:
        return device.contiguous(arrays[0])
    result = device.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for k, a in enumerate(arrays):
        copy(device, result[k], a)
    return result
