"""The kernels `rnn_sequence` and `rnn_sequence_grad` on a CUDA device: one layer of a network, all its directions.

The formulas are those of `minirnn/ops/cudnn_rnn`; `minirnn/devices/cpu/cudnn_rnn/layer.py` has functions of the same
names and arguments. This module has the common part of all rungs of the ladder, and uses `choice.py` to select a rung.
"""

from __future__ import annotations

from typing import Any

from minirnn.devices.base import check_saved
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn import barrier, persistent, steps
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import sums_over_steps
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import BarrierPlan
from minirnn.devices.cuda.launch.cudnn_rnn.choice import choose
from minirnn.devices.cuda.launch.cudnn_rnn.direction import (
    Direction,
    GateGradients,
    Weights,
    directions_of,
    kept_values,
    values_of,
    values_shape,
    without_padding,
)
from minirnn.devices.cuda.launch.cudnn_rnn.plan import BackwardPlan, ForwardPlan
from minirnn.devices.cuda.launch.cudnn_rnn.zoneout import Masks, masks_of
from minirnn.devices.cuda.launcher import Launcher


def rnn_sequence(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Weights,
    *,
    rnn_mode: str,
    lengths: Any,
    training: bool,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[Any, ...]:
    """Run one recurrent layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, B, H) or None, and saved.

    `saved` is 1-D: the `kept_values` of each step, (D, T, 5, B, H); None if there are none or not training.
    """
    directions = directions_of(device, rnn_mode, x, h0, weights, lengths)
    sizes = directions[0].sizes
    x = without_padding(x, directions[0])
    y = device.empty((sizes.T, sizes.B, sizes.D * sizes.P), x.dtype)
    c_n = None if c0 is None else device.contiguous(c0, always=True)
    zones = zoneout is not None
    size = sizes.D * sizes.T * len(kept_values(rnn_mode, zones)) * sizes.B * sizes.H
    saved = device.empty((size,), x.dtype) if training and size else None
    masks = masks_of(directions, zoneout, x.dtype)
    h_n = forward(directions, x, h0, c_n, values_of(saved, sizes, zones), y, masks)
    return y, h_n, c_n, saved


def rnn_sequence_grad(
    device: Launcher,
    *arrays: Any,
    rnn_mode: str,
    lengths: Any,
    need_dx: bool = True,
    zoneout: tuple[Any, Any] | None = None,
) -> tuple[Any, ...]:
    """Gradients of `rnn_sequence`: dx (T, B, in) or None, dh0 (D, B, P), dc0 (D, B, H) or None, those of the weights.

    The arrays are x, h0, c0, weights, saved, y, dy, dh_n, dc_n.
    """
    x, h0, _, weights, saved, y, dy, dh_n, dc_n = arrays
    directions = directions_of(device, rnn_mode, x, h0, weights, lengths)
    x, y, dy = without_padding(x, directions[0]), device.contiguous(y), device.contiguous(dy)
    dx = device.full(x.shape, 0, x.dtype) if need_dx else None
    dweights = [tuple([None if w is None else device.empty(w.shape, w.dtype) for w in parts]) for parts in weights]
    dh0 = device.contiguous(dh_n, always=True)
    dc0 = None if dc_n is None else device.contiguous(dc_n, always=True)
    check_saved(saved, values_shape(directions[0].sizes, zoneout is not None))
    kept = values_of(saved, directions[0].sizes, zoneout is not None)
    gradients = backward(directions, kept, y, dy, dh0, dc0, masks_of(directions, zoneout, dy.dtype))
    for d, direction in enumerate(directions):
        sums_over_steps(direction, x, h0[d], y, gradients[d], dweights[d], dx)
    return dx, dh0, dc0, dweights


def forward(
    directions: list[Direction],
    x: CudaArray,
    h0: CudaArray,
    c: CudaArray | None,
    kept: CudaArray | None,
    y: CudaArray,
    masks: list[Masks],
) -> CudaArray:
    """Fill y and `kept`; c (D, B, H) goes from the first state to the last. Returns h_n (D, B, P)."""
    device, sizes = directions[0].device, directions[0].sizes
    plan = choose(sizes, device.driver.limits, False, device.cudnn_rnn_rung, any(masks)).plan
    if isinstance(plan, BarrierPlan):
        found = barrier.forward(directions, x, h0, c, kept, y, plan)
        if found is not None:
            device.rungs["barrier forward"] += 1
            return found
    if isinstance(plan, ForwardPlan):
        found = persistent.forward(directions, x, h0, c, kept, y, plan)
        if found is not None:
            device.rungs["persistent forward"] += 1
            return found
    h_n = device.contiguous(h0, always=True)
    for d, direction in enumerate(directions):
        c_d, kept_d = (None if a is None else a[d] for a in (c, kept))
        steps.forward(direction, x, h_n[d], c_d, kept_d, y, masks[d])
    device.rungs["steps forward"] += 1
    return h_n


def backward(
    directions: list[Direction],
    kept: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
    masks: list[Masks],
) -> list[GateGradients]:
    """The gradients of the pre-activations, one entry per direction; dh and dc (D, B, ...) go from last state to
    first.
    """
    device, sizes = directions[0].device, directions[0].sizes
    plan = choose(sizes, device.driver.limits, True, device.cudnn_rnn_rung, any(masks)).plan
    if isinstance(plan, BarrierPlan):
        gradients = barrier.backward(directions, kept, y, dy, dh, dc, plan)
        if gradients is not None:
            device.rungs["barrier backward"] += 1
            return gradients
    if isinstance(plan, BackwardPlan):
        found = persistent.backward(directions, kept, y, dy, dh, dc, plan)
        if found is not None:
            device.rungs["persistent backward"] += 1
            return found
    device.rungs["steps backward"] += 1
    gradients = []
    for d, direction in enumerate(directions):
        kept_d, dc_d = (None if a is None else a[d] for a in (kept, dc))
        gradients.append(steps.backward(direction, kept_d, y, dy, dh[d], dc_d, masks[d]))
    return gradients
