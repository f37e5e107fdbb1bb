"""CudnnRNN on the tensor cores of a CUDA device: all steps of a layer in one launch, as in `one_launch.py`.

The kernels and how they work: `cudnn_rnn/tensor.cu`, `cudnn_rnn/tensor_grad.cu`. Their blocks wait for each other's
words, so all of them must be on the device at once; the driver is asked before the launch. Each launch gets memory for
the words of all steps, filled with what stands for "not there yet".
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import all_input_parts
from minirnn.devices.cuda.launch.cudnn_rnn.layer import GateGradients, Layer
from minirnn.devices.cuda.launch.cudnn_rnn.tensor_plan import TensorBackwardPlan, TensorPlan


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
    kernel = kernel_of(layers, plan)
    if not one_launch.fits(kernel, plan, sizes.D):
        return None
    A = all_input_parts(layers, x)
    biases = one_launch.stacked(device, [b for layer in layers for b in layer.weights[3:]])
    h_n = device.empty(h0.shape, x.dtype)
    arrays = (A, one_launch.recurrent_weights(layers), biases, device.contiguous(h0), h_n, c, values, y)
    words = device.empty((sizes.D, sizes.T, sizes.B, plan.length), np.uint32)
    one_launch.launch(layers, kernel, plan, arrays, (words,))
    return h_n


def backward(
    layers: list[Layer],
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    plan: TensorBackwardPlan,
) -> list[GateGradients] | None:
    """The gradients of all pre-activations, a direction each; dh and dc (D, B, H) go from last state to first.

    None, and nothing is changed: it does not fit.
    """
    device, sizes = layers[0].device, layers[0].sizes
    kernel = kernel_of(layers, plan)
    if not one_launch.fits(kernel, plan, sizes.D):
        return None
    da = device.empty((sizes.D, sizes.T, sizes.B, sizes.columns * sizes.H), dh.dtype)
    arrays = (one_launch.recurrent_weights(layers), values, y, dy, dh, dc, da)
    gradients = device.empty((sizes.D, sizes.T, sizes.B, plan.slices, plan.length), np.uint32)
    shares = device.empty((sizes.D, one_launch.SLOTS, plan.slices, sizes.B, sizes.H), dh.dtype)
    one_launch.launch(layers, kernel, plan, arrays, (gradients, shares))
    return [GateGradients(da[d]) for d in range(sizes.D)]


def kernel_of(layers: list[Layer], plan: TensorPlan) -> Kernel:
    """The kernel, compiled for this plan."""
    dtype = layers[0].weights[1].dtype
    return one_launch.kernel_of(
        layers[0].device, f"cudnn_rnn/{plan.kernel}.cu", f"{plan.mode}_{plan.kernel}", dtype, plan
    )
