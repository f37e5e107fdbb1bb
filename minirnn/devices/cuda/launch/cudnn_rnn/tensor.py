"""CudnnRNN on the tensor cores of a CUDA device: all steps of a layer in one launch, as in `one_launch.py`.

The kernel and how it works: `cudnn_rnn/tensor.cu`. Its blocks wait for each other's words, so all of them must be on the
device at once; the driver is asked before the launch. Each launch gets memory for the words of all steps, filled with
what stands for "not there yet".
"""

from __future__ import annotations

from functools import partial

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import all_input_parts
from minirnn.devices.cuda.launch.cudnn_rnn.layer import Layer
from minirnn.devices.cuda.launch.cudnn_rnn.tensor_plan import TensorPlan


def forward(
    layers: list[Layer],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    y: CudaArray,
    plan: TensorPlan,
) -> CudaArray | None:
    """Fill y; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, H); None: it does not fit."""
    device, sizes = layers[0].device, layers[0].sizes
    kernel = one_launch.kernel_of(device, "cudnn_rnn/tensor.cu", f"{sizes.mode}_tensor", x.dtype, plan)
    if not one_launch.fits(kernel, plan, sizes.D):
        return None
    A, R = all_input_parts(layers, x), one_launch.recurrent_weights(layers)
    biases = one_launch.stacked(device, [b for layer in layers for b in layer.weights[3:]])
    h_n = device.empty(h0.shape, x.dtype)
    words = device.empty((sizes.D, sizes.T, sizes.B, plan.length), np.uint32)
    arrays = (A, R, biases, device.contiguous(h0), h_n, c, values, y, words)
    polls = one_launch.PATIENCE_SIMULATED if device.driver.limits.simulated else one_launch.PATIENCE
    missed = device.missed.word_of(f"{kernel.name} of {plan.blocks} blocks, {sizes.D} directions")
    run = partial(kernel, *map(np.int32, (sizes.T, sizes.B, sizes.H)), layers[0].lengths, *arrays)

    def clear_and_run() -> None:
        device.driver.memset(words.ptr, 0xFF, words.nbytes)
        run(np.uint32(polls), missed, grid=(plan.blocks, sizes.D), block=plan.threads, shared=plan.shared)

    layers[0].run(kernel.name, (plan, polls), arrays, clear_and_run)
    device.missed.launched()
    return h_n
