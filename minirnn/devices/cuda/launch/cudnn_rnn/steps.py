"""CudnnRNN on a CUDA device, step by step: the lowest rung of the ladder, for any size on any GPU.

The kernels: `cudnn_rnn/steps.cu`. The inputs of all steps are multiplied at once; a step is one product and one launch
(two each with a projection); what is summed over steps (dx, dW, dR and the biases) is single products after the loop.
A loop that comes again can be recorded and started as one (`recordings.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.layer import GateGradients, Layer, input_part
from minirnn.devices.cuda.launch.primitives.elementwise import cells
from minirnn.devices.cuda.launch.primitives.products import product


def run(layer: Layer, kernel: str, t: int, units: int, *arguments: Any) -> None:
    """Launch `kernel` for one step, one thread a unit of a row."""
    launch = layer.device.kernel_of("cudnn_rnn/steps.cu", kernel, layer.weights[1].dtype)
    sizes = map(np.int32, (t, layer.B, units, layer.width))
    numbers = (np.int32(layer.mode == "rnn_relu"),) if layer.mode.startswith("rnn") else ()
    launch(*sizes, *numbers, layer.lengths, *arguments, **cells(layer.B, units))


def forward(
    layer: Layer, x: CudaArray, h: CudaArray, c: CudaArray | None, kept: CudaArray | None, y: CudaArray
) -> None:
    """Fill this direction's columns of y; h (B, P) and c (B, H) go from the first state to the last."""
    device, B, H, P = layer.device, layer.B, layer.H, layer.P
    _, R, Wp, bW, bR = layer.weights
    A = device.empty((layer.T, B, layer.G * H), x.dtype)
    input_part(layer, x, A)
    R_T = device.transpose(R, (1, 0))
    a2 = device.empty((B, layer.G * H), x.dtype) if layer.mode == "gru" else None
    m, projected = (device.empty((B, n), x.dtype) for n in (H, P)) if Wp is not None else (None, None)

    def steps() -> None:
        for t in layer.visits():
            values = None if kept is None else kept[t]
            here = layer.mine(y, t)
            if layer.mode == "gru":
                assert a2 is not None
                product(device, h, R_T, a2)
                run(layer, "gru_step", t, H, A[t], a2, bW, bR, values, h, here)
                continue
            product(device, h, R_T, A[t], beta=1.0)
            if layer.mode == "lstm":
                run(layer, "lstm_step", t, H, A[t], bW, bR, c, values, m, h, here)
            else:
                run(layer, "rnn_step", t, H, A[t], bW, bR, h, here)
            if projected is not None and m is not None:
                product(device, m, device.transpose(Wp, (1, 0)), projected)
                run(layer, "projected_step", t, P, projected, h, here)

    arrays = (layer.lengths, A, R, Wp, bW, bR, h, c, kept, y, a2, m, projected)
    device.recordings.run("cudnn_rnn forward", layer.numbers, arrays, steps)


def backward(
    layer: Layer,
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
) -> GateGradients:
    """The gradients of all pre-activations; dh (B, P) and dc (B, H) go from those of the last state to the first's."""
    device, T, B, H, P = layer.device, layer.T, layer.B, layer.H, layer.P
    _, R, Wp, _, _ = layer.weights
    gru = layer.mode == "gru"
    # gru: columns q r z n, of which the first three are dA2 and the last three dA; else both are the same.
    dA = device.empty((T, B, 4 * H if gru else layer.G * H), dh.dtype)
    dA2 = dA[:, :, : 3 * H] if gru else dA
    if gru:
        R = device.concatenate([R[2 * H :], R[: 2 * H]], 0)
    ds, ms = (device.empty((T, B, n), dh.dtype) for n in (P, H)) if Wp is not None else (None, None)
    dm = device.empty((B, H), dh.dtype) if Wp is not None else None

    def steps() -> None:
        for t in layer.returns():
            there = layer.mine(dy, t)
            if ds is not None and ms is not None and dm is not None:
                run(layer, "projected_step_grad", t, P, there, dh, ds[t])
                product(device, ds[t], Wp, dm)
            m = None if ms is None else ms[t]
            if layer.mode == "lstm":
                assert kept is not None
                run(layer, "lstm_step_grad", t, H, kept[t], there, dm, dh, dc, dA[t], m)
            elif gru:
                assert kept is not None
                run(layer, "gru_step_grad", t, H, kept[t], there, dh, dA[t])
            else:
                run(layer, "rnn_step_grad", t, H, layer.mine(y, t), there, dh, dA[t])
            product(device, dA2[t], R, dh, beta=1.0)

    arrays = (layer.lengths, R, Wp, kept, y, dy, dh, dc, dA, ds, ms, dm)
    device.recordings.run("cudnn_rnn backward", layer.numbers, arrays, steps)
    return GateGradients(dA, ds, ms)
