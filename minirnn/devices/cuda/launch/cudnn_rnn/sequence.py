"""The kernels `rnn_sequence` and `rnn_sequence_grad` on a CUDA device: one layer of a network, all its directions.

The formulas are those of `minirnn/ops/cudnn_rnn`; `minirnn/devices/cpu/cudnn_rnn/layer.py` has functions of the same
names and arguments. Here is what all rungs of the ladder have in common, and which rung is taken (`choice.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn import persistent, steps
from minirnn.devices.cuda.launch.cudnn_rnn import zoneout as zoned
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import sums_over_steps
from minirnn.devices.cuda.launch.cudnn_rnn.choice import choose
from minirnn.devices.cuda.launch.cudnn_rnn.layer import (
    VALUES,
    GateGradients,
    Layer,
    Weights,
    directions,
    products_of,
    values_of,
    without_padding,
)
from minirnn.devices.cuda.launch.cudnn_rnn.plan import BackwardPlan, ForwardPlan
from minirnn.devices.cuda.launch.narrow import widen_nested
from minirnn.devices.cuda.launch.primitives.elementwise import copy_all
from minirnn.devices.cuda.launcher import Launcher


def rnn_sequence_reserve_layout(
    rnn_mode: str, T: int, B: int, I: int, H: int, P: int, D: int, projected: bool, skip: bool, zoneout: bool = False
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the parts of the reserve array: the `VALUES` of each step, (D, T, 5, B, H); rnn none.

    With zoneout rnn_tanh and rnn_relu keep what the step made before it was zoned.
    """
    names = VALUES[rnn_mode]
    if zoneout and not names:
        return [("h_new", (D, T, 1, B, H))]
    return [("gates", (D, T, len(names), B, H))] if names else []


def rnn_sequence(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray | None,
    *,
    rnn_mode: str,
    lengths: Any,
    training: bool,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[CudaArray, CudaArray, CudaArray | None]:
    """Run one recurrent layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None."""
    if x.dtype == np.float16:
        kept = None if reserve is None else device.empty(reserve.shape, np.float32)
        x, h0, c0, weights, zoneout = widen_nested(device, (x, h0, c0, weights, zoneout))
        chosen: dict[str, Any] = dict(rnn_mode=rnn_mode, lengths=lengths, training=training, zoneout=zoneout)
        results = in_order(device, x, h0, c0, weights, kept, halves=True, **chosen)
        y, h_n, c_n = narrowed(device, results, [(reserve, kept)])
        return y, h_n, c_n
    chosen = dict(rnn_mode=rnn_mode, lengths=lengths, training=training, zoneout=zoneout)
    return in_order(device, x, h0, c0, weights, reserve, halves=False, **chosen)


def narrowed(device: Launcher, results: Iterable[CudaArray | None], pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    """The results in float16; in the same launch each `to` of the pairs (to, a) is set to `a`. None stays None."""
    found = [(None if a is None else device.empty(a.shape, np.float16), a) for a in results]
    copy_all(device, [(to, a) for to, a in [*found, *pairs] if to is not None])
    return [to for to, _ in found]


def in_order(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    reserve: CudaArray | None,
    *,
    rnn_mode: str,
    lengths: Any,
    training: bool,
    zoneout: tuple[Any, Any] | None,
    halves: bool,
) -> tuple[CudaArray, CudaArray, CudaArray | None]:
    """`rnn_sequence` for float32 and float64; `halves`: the inputs were float16 before they were widened."""
    layers = directions(device, rnn_mode, x, h0, weights, lengths, halves)
    sizes = layers[0].sizes
    x = without_padding(x, layers[0])
    y = device.empty((sizes.T, sizes.B, sizes.D * sizes.P), x.dtype)
    c_n = None if c0 is None else device.contiguous(c0, always=True)
    if zoneout is not None:
        h_n = device.contiguous(h0, always=True)
        zoned.all_directions(layers, zoneout, x, h_n, c_n, reserve if training else None, y)
        return y, h_n, c_n
    kept = values_of(reserve if training else None, sizes)
    return y, forward(layers, x, h0, c_n, kept, y), c_n


def rnn_sequence_grad(
    device: Launcher,
    *arrays: Any,
    rnn_mode: str,
    lengths: Any,
    need_dx: bool = True,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[CudaArray | None, CudaArray, CudaArray | None]:
    """Gradients of `rnn_sequence`: dx (T, B, in) or None, dh0 (D, B, P), dc0 (D, B, H) or None.

    The arrays are x, h0, c0, weights, reserve, y, dy, dh_n, dc_n and dweights, which it sets.
    """
    *given, dweights = arrays
    if given[0].dtype == np.float16:
        sums: Any = [
            tuple(None if a is None else device.empty(a.shape, np.float32) for a in parts) for parts in dweights
        ]
        *wide, zoneout = widen_nested(device, (*given, zoneout))
        chosen: dict[str, Any] = dict(rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx, zoneout=zoneout)
        results = in_reverse(device, *wide, sums, halves=True, **chosen)
        pairs = [pair for parts in zip(dweights, sums, strict=True) for pair in zip(*parts, strict=True)]
        dx, dh0, dc0 = narrowed(device, results, pairs)
        return dx, dh0, dc0
    chosen = dict(rnn_mode=rnn_mode, lengths=lengths, need_dx=need_dx, zoneout=zoneout)
    return in_reverse(device, *given, dweights, halves=False, **chosen)


def in_reverse(
    device: Launcher,
    *arrays: Any,
    rnn_mode: str,
    lengths: Any,
    need_dx: bool,
    zoneout: tuple[Any, Any] | None,
    halves: bool,
) -> tuple[CudaArray | None, CudaArray, CudaArray | None]:
    """`rnn_sequence_grad` for float32 and float64; `halves`: the inputs were float16 before they were widened."""
    x, h0, _, weights, reserve, y, dy, dh_n, dc_n, dweights = arrays
    layers = directions(device, rnn_mode, x, h0, weights, lengths, halves)
    x, y, dy = without_padding(x, layers[0]), device.contiguous(y), device.contiguous(dy)
    dx = device.full(x.shape, 0, x.dtype) if need_dx else None
    dh0 = device.contiguous(dh_n, always=True)
    dc0 = None if dc_n is None else device.contiguous(dc_n, always=True)
    if zoneout is None:
        kept = values_of(reserve, layers[0].sizes)
        gradients = backward(layers, kept, y, dy, dh0, dc0)
    else:
        gradients = zoned.gate_gradients(layers, zoneout, reserve, dy, dh0, dc0)
    with products_of(layers[0]):
        for d, layer in enumerate(layers):
            sums_over_steps(layer, x, h0[d], y, gradients[d], dweights[d], dx)
    return dx, dh0, dc0


def forward(
    layers: list[Layer], x: CudaArray, h0: CudaArray, c: CudaArray | None, kept: CudaArray | None, y: CudaArray
) -> CudaArray:
    """Fill y and `kept`; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, P)."""
    device, sizes = layers[0].device, layers[0].sizes
    plan = choose(sizes, device.driver.limits, False, device.cudnn_rnn_rung).plan
    if isinstance(plan, ForwardPlan):
        found = persistent.forward(layers, x, h0, c, kept, y, plan)
        if found is not None:
            device.rungs["persistent forward"] += 1
            return found
    h_n = device.contiguous(h0, always=True)
    for d, layer in enumerate(layers):
        steps.forward(layer, x, h_n[d], None if c is None else c[d], None if kept is None else kept[d], y)
    device.rungs["steps forward"] += 1
    return h_n


def backward(
    layers: list[Layer],
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
) -> list[GateGradients]:
    """The gradients of the pre-activations, a direction each; dh and dc (D, B, ...) go from last state to first."""
    device, sizes = layers[0].device, layers[0].sizes
    plan = choose(sizes, device.driver.limits, True, device.cudnn_rnn_rung).plan
    if isinstance(plan, BackwardPlan):
        found = persistent.backward(layers, kept, y, dy, dh, dc, plan)
        if found is not None:
            device.rungs["persistent backward"] += 1
            return found
    device.rungs["steps backward"] += 1
    return [
        steps.backward(layer, None if kept is None else kept[d], y, dy, dh[d], None if dc is None else dc[d])
        for d, layer in enumerate(layers)
    ]
