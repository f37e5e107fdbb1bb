"""One pass through a CudnnRNN layer on a given rung: a plan for one launch, or none for the lowest rung."""

from __future__ import annotations

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch, projection, steps, tensor
from minirnn.devices.cuda.launch.cudnn_rnn.layer import GateGradients, Layer
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Plan
from minirnn.devices.cuda.launch.cudnn_rnn.tensor_plan import TensorBackwardPlan, TensorPlan


def forward(
    layers: list[Layer],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    kept: CudaArray | None,
    y: CudaArray,
    plan: Plan | None,
) -> CudaArray | None:
    """Fill y and `kept`; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, P).

    None, and nothing is changed: the device refuses the plan.
    """
    if plan is not None:
        rung = tensor.forward if isinstance(plan, TensorPlan) else one_launch.forward
        if layers[0].weights[2] is not None:
            return projection.forward(rung, layers, x, h0, c, kept, y, plan)
        return rung(layers, x, h0, c, kept, y, plan)  # type: ignore[arg-type]
    h_n = layers[0].device.contiguous(h0, always=True)
    for d, layer in enumerate(layers):
        steps.forward(layer, x, h_n[d], None if c is None else c[d], None if kept is None else kept[d], y)
    return h_n


def backward(
    layers: list[Layer],
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    plan: Plan | None,
) -> list[GateGradients] | None:
    """The gradients of the pre-activations, a direction each; dh and dc (D, B, ...) go from last state to first.

    None, and nothing is changed: the device refuses the plan.
    """
    if plan is not None:
        rung = tensor.backward if isinstance(plan, TensorBackwardPlan) else one_launch.backward
        if layers[0].weights[2] is not None:
            assert kept is not None
            return projection.backward(rung, layers, kept, dy, dh, dc, plan)
        return rung(layers, kept, y, dy, dh, dc, plan)  # type: ignore[arg-type]
    return [
        steps.backward(layer, None if kept is None else kept[d], y, dy, dh[d], None if dc is None else dc[d])
        for d, layer in enumerate(layers)
    ]
