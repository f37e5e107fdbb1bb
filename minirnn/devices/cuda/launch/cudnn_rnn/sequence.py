"""A recurrent layer of CudnnRNN on a CUDA device: what all rungs have in common, and which rung is taken.

Formulas, shapes and their explanation: `minirnn/devices/cpu/cudnn_rnn/layer.py`, whose functions have the same names
and arguments. The rungs: `choice.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn import cluster, persistent, steps
from minirnn.devices.cuda.launch.cudnn_rnn.choice import RUNGS, Choice, choose
from minirnn.devices.cuda.launch.cudnn_rnn.layer import (
    VALUES,
    GateGradients,
    Layer,
    Weights,
    blocks_of,
    in_c_order,
    on_device,
    single,
    sums_over_steps,
    without_padding,
)
from minirnn.devices.cuda.launch.cudnn_rnn.layout import GATES, Sizes
from minirnn.devices.cuda.launch.primitives.elementwise import copy

if TYPE_CHECKING:
    from minirnn.devices.cuda.primitives import Primitives


def rnn_sequence_reserve_layout(
    rnn_mode: str, T: int, B: int, I: int, H: int, P: int, D: int, projected: bool, skip: bool
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the blocks of the reserve array: the `VALUES` of each step, (D, T, 5, B, H); rnn none."""
    names = VALUES[rnn_mode]
    return [("gates", (D, T, len(names), B, H))] if names else []


def rnn_sequence(
    device: Primitives,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray | None,
    *,
    rnn_mode: str,
    lengths: Any,
    training: bool,
) -> tuple[CudaArray, CudaArray, CudaArray | None]:
    """Run one recurrent layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None."""
    if x.dtype == np.float16:
        wide = None if reserve is None else device.empty(reserve.shape, np.float32)
        x, h0, c0, weights = single(device, [x, h0, c0, list(weights)])
        results = rnn_sequence(device, x, h0, c0, weights, wide, rnn_mode=rnn_mode, lengths=lengths, training=training)
        if reserve is not None and wide is not None:
            copy(device, reserve, wide)
        y, h_n, c_n = (None if a is None else device.cast(a, np.float16) for a in results)
        assert y is not None and h_n is not None
        return y, h_n, c_n

    (T, B, _), (D, _, P) = x.shape, h0.shape
    lengths, ends = on_device(device, lengths, T, B)
    x = without_padding(device, x, lengths)
    y = device.empty((T, B, D * P), x.dtype)
    c_n = None if c0 is None else device.contiguous(c0, always=True)
    H = weights[0][1].shape[0] // GATES[rnn_mode]
    kept = blocks_of(reserve if training else None, rnn_mode, T, B, H, D)
    layers = [
        Layer(device, rnn_mode, T, B, H, P, d, D * P, lengths, ends, in_c_order(device, weights[d])) for d in range(D)
    ]
    choice = choice_for(layers)
    while choice.rung != "steps":
        forward = cluster.forward if choice.rung == "cluster" else persistent.forward
        found = forward(layers, x, h0, c_n, kept, y, choice.layout)
        if found is not None:
            device.rungs[f"{choice.rung} forward"] += 1
            return y, found, c_n
        choice = choice_for(layers, wanted=RUNGS[RUNGS.index(choice.rung) - 1])  # the device itself refused
    device.rungs["steps forward"] += 1
    h_n = device.contiguous(h0, always=True)
    for d, layer in enumerate(layers):
        steps.forward(layer, x, h_n[d], None if c_n is None else c_n[d], None if kept is None else kept[d], y)
    return y, h_n, c_n


def choice_for(layers: list[Layer], backward: bool = False, wanted: str | None = None) -> Choice:
    """The rung for these directions of a layer: `wanted`, else `device.cudnn_rnn_rung`, else as their sizes have it."""
    layer = layers[0]
    device = layer.device
    itemsize = layer.weights[1].dtype.itemsize
    sizes = Sizes(layer.mode, layer.T, layer.B, layer.H, layer.P, len(layers), itemsize)
    return choose(sizes, device.driver.limits, backward, wanted or device.cudnn_rnn_rung)


def rnn_sequence_grad(
    device: Primitives,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray,
    y: CudaArray,
    dy: CudaArray,
    dh_n: CudaArray,
    dc_n: CudaArray | None,
    dweights: Weights,
    *,
    rnn_mode: str,
    lengths: Any,
    need_dx: bool = True,
) -> tuple[CudaArray | None, CudaArray, CudaArray | None]:
    """Gradients of `rnn_sequence`: dx (T, B, in) or None, dh0 (D, B, P), dc0 (D, B, H) or None; sets `dweights`."""
    if x.dtype == np.float16:
        inputs = [x, h0, c0, list(weights), reserve, y, dy, dh_n, dc_n]
        x, h0, c0, weights, reserve, y, dy, dh_n, dc_n = single(device, inputs)
        sums: Any = [
            tuple(None if a is None else device.empty(a.shape, np.float32) for a in parts) for parts in dweights
        ]
        wide = rnn_sequence_grad(
            device, x, h0, c0, weights, reserve, y, dy, dh_n, dc_n, sums,
            rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx,
        )  # fmt: skip
        for target, source in zip(dweights, sums, strict=True):
            for a, b in zip(target, source, strict=True):
                if a is not None:
                    copy(device, a, b)
        dx, dh0, dc0 = (None if a is None else device.cast(a, np.float16) for a in wide)
        assert dh0 is not None
        return dx, dh0, dc0

    (T, B, _), (D, _, P) = x.shape, h0.shape
    lengths, ends = on_device(device, lengths, T, B)
    x, y, dy = without_padding(device, x, lengths), device.contiguous(y), device.contiguous(dy)
    dx = device.full(x.shape, 0, x.dtype) if need_dx else None
    dh0 = device.contiguous(dh_n, always=True)
    dc0 = None if dc_n is None else device.contiguous(dc_n, always=True)
    H = weights[0][1].shape[0] // GATES[rnn_mode]
    kept = blocks_of(reserve, rnn_mode, T, B, H, D)
    layers = [
        Layer(device, rnn_mode, T, B, H, P, d, D * P, lengths, ends, in_c_order(device, weights[d])) for d in range(D)
    ]
    gradients = gate_gradients(layers, kept, y, dy, dh0, dc0)
    for d, layer in enumerate(layers):
        sums_over_steps(layer, x, h0[d], y, gradients[d], dweights[d], dx)
    return dx, dh0, dc0


def gate_gradients(
    layers: list[Layer], kept: CudaArray | None, y: CudaArray, dy: CudaArray, dh: CudaArray, dc: CudaArray | None
) -> list[GateGradients]:
    """What goes from step to step, by one of the rungs; dh, dc go from the last state's gradients to the first's."""
    device = layers[0].device
    choice = choice_for(layers, backward=True)
    while choice.rung != "steps":
        backward = cluster.backward if choice.rung == "cluster" else persistent.backward
        found = backward(layers, kept, y, dy, dh, dc, choice.layout)
        if found is not None:
            device.rungs[f"{choice.rung} backward"] += 1
            return found
        choice = choice_for(layers, True, RUNGS[RUNGS.index(choice.rung) - 1])  # the device itself refused
    device.rungs["steps backward"] += 1
    return [
        steps.backward(layer, None if kept is None else kept[d], y, dy, dh[d], None if dc is None else dc[d])
        for d, layer in enumerate(layers)
    ]
