"""The common part of single-launch kernels: compiling them for a plan, and launching all blocks at once.

All their blocks must be on the device at the same time, because they wait for each other. The driver is asked before
the launch (`fits`), and the launch is cooperative: the driver starts all blocks or none, even if another process or
another library's kernel uses a part of the GPU.
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
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Plan
from minirnn.devices.cuda.launcher import Launcher

PATIENCE = 1 << 23
"""Polls of a message that does not arrive, on a GPU: several seconds."""
PATIENCE_SIMULATED = 5000
"""The same in the simulator, where a waiting thread polls once per round of all blocks."""


def fits(kernel: Kernel, plan: Plan | BarrierPlan, D: int) -> bool:
    """Whether all blocks that wait for each other can be on the device at the same time."""
    return kernel.max_resident_blocks(plan.threads, plan.shared) >= plan.blocks * D


def inputs_and_weights(directions: list[Direction], x: CudaArray) -> tuple[CudaArray, CudaArray, CudaArray]:
    """The inputs of a forward pass for all directions: x W' of all steps, R, and the biases bW, bR."""
    biases = directions[0].device.concatenate([b for direction in directions for b in direction.weights[3:5]], 0)
    return all_input_parts(directions, x), recurrent_weights(directions), biases


def gate_gradients(directions: list[Direction], dtype: np.dtype) -> CudaArray:
    """An array for the gradients of all pre-activations: (D, T, B, columns*H)."""
    sizes = directions[0].sizes
    return directions[0].device.empty((sizes.D, sizes.T, sizes.B, sizes.columns * sizes.H), dtype)


def launch(
    directions: list[Direction],
    kernel: Kernel,
    plan: Plan | BarrierPlan,
    arrays: tuple[CudaArray | None, ...],
    messages: tuple[CudaArray, ...],
    filled_with: int,
    more: tuple[Any, ...] = (),
) -> None:
    """Run the kernel on these arrays, on memory for messages, and on the final arguments.

    Each byte of the memory for messages is first set to `filled_with`.

    `minirnn/devices/cuda/missed.py` detects later whether a block gave up waiting for a message.
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
            device.driver.memset(array.ptr, filled_with, array.nbytes)
        run(*messages, np.uint32(polls), missed, *more)

    numbers_of_more = [bytes(one) for one in more]
    direction.run(kernel.name, (plan, polls, *numbers_of_more), (*arrays, *messages), fill_and_run)
    device.missed.launched()


def recurrent_weights(directions: list[Direction]) -> CudaArray:
    """R of all directions: (D, G*H, H)."""
    return stacked(directions[0].device, [direction.weights[1] for direction in directions])


def stacked(device: Launcher, arrays: list[CudaArray]) -> CudaArray:
    """Arrays of one shape, concatenated in C order."""
    if len(arrays) == 1:
        return device.contiguous(arrays[0])
    result = device.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for k, a in enumerate(arrays):
        copy(device, result[k], a)
    return result
