"""The kernels `cell_sequence` and `cell_sequence_grad` on a CUDA device: one layer of any cell, all its directions.

Arguments and results: `KERNELS` in `minirnn/devices/base.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights, check_saved
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.sequence import one_launch, steps
from minirnn.devices.cuda.launch.sequence.arrays import Layer, layer_of
from minirnn.devices.cuda.launch.sequence.choice import UNITWISE
from minirnn.devices.cuda.launch.sequence.sums import weight_gradients
from minirnn.devices.cuda.launcher import Launcher


def cell_sequence(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Sequence[Weights],
    *,
    plan: Plan,
    lengths: Any,
    training: bool,
    masks: Sequence[CudaArray] = (),
    zoneout: CudaArray | None = None,
    constants: Sequence[float] | None = None,
    named: bool = False,
) -> tuple[CudaArray, CudaArray, CudaArray | None, Any]:
    """Run one layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n like c0 or None, and saved."""
    numbers = plan, None if constants is None else tuple(constants), training, named
    arrays = x, h0, c0, weights, lengths_of(device, lengths, x)[0], masks, zoneout
    found: tuple[CudaArray, CudaArray, CudaArray | None, Any] = device.recordings.run(device, forward, numbers, arrays)
    return found


def forward(device: Launcher, numbers: Any, arrays: Any) -> tuple[CudaArray, CudaArray, CudaArray | None, Any]:
    """The launches of `cell_sequence`."""
    (plan, constants, training, named), (x, h0, c0, weights, lengths, masks, zoneout) = numbers, arrays
    layer = layer_of(device, plan, x, h0, weights, lengths, masks, constants, named)
    sizes = layer.sizes
    x = layer.without_padding(x)
    y = device.empty((sizes.T, sizes.B, layer.y_stride), x.dtype)
    c_n = None if c0 is None else device.contiguous(with_axis(device, c0), always=True)
    saved = layer.new_saved() if training else None
    values, multiplied = layer.values(saved), layer.multiplied(saved)
    ready = one_launch.ready(layer, backward=False)
    h_n = None if ready is None else one_launch.forward(ready, x, h0, c_n, values, y)
    alone = count(layer, ready if h_n is not None else None, False)
    if h_n is None:
        h_n = device.contiguous(h0, always=True)
        share = None if zoneout is None else device.contiguous(zoneout)
        for d in range(sizes.D):
            c_d, values_d, multiplied_d, share_d = (
                None if a is None else a[d] for a in (c_n, values, multiplied, share)
            )
            steps.forward(layer, d, x, h_n[d], c_d, values_d, multiplied_d, y, share_d, alone)
    end = None if c0 is None or c_n is None else device.reshape(c_n, c0.shape)
    return y, h_n, end, layer.by_name(values) if named and values is not None else saved


def cell_sequence_grad(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Sequence[Weights],
    saved: Any,
    y: CudaArray,
    dy: CudaArray,
    dh_n: CudaArray,
    dc_n: CudaArray | None,
    *,
    plan: Plan,
    lengths: Any,
    need_dx: bool = True,
    masks: Sequence[CudaArray] = (),
    zoneout: CudaArray | None = None,
    constants: Sequence[float] | None = None,
    dc_each: CudaArray | None = None,
) -> tuple[CudaArray | None, CudaArray, CudaArray | None, list[Weights]]:
    """The gradients of `cell_sequence`: dx (T, B, I) or None, dh0, dc0 or None, and those of the weights."""
    on_device, ends = lengths_of(device, lengths, x)
    first = None if ends is None or h0.shape[0] == 1 else device.asarray((ends - 1) * len(ends) + np.arange(len(ends)))
    by_name = (tuple(saved), None if ends is None else tuple(ends.tolist())) if isinstance(saved, dict) else None
    numbers = plan, None if constants is None else tuple(constants), need_dx, by_name
    arrays = x, h0, c0, weights, on_device, masks, zoneout, saved, y, dy, dh_n, dc_n, dc_each, first
    found: tuple[Any, CudaArray, Any, list[Weights]] = device.recordings.run(device, backward, numbers, arrays)
    return found


def backward(device: Launcher, numbers: Any, arrays: Any) -> tuple[Any, CudaArray, Any, list[Weights]]:
    """The launches of `cell_sequence_grad`."""
    plan, constants, need_dx, by_name = numbers
    x, h0, c0, weights, lengths, masks, zoneout, saved, y, dy, dh_n, dc_n, dc_each, first = arrays
    layer = layer_of(device, plan, x, h0, weights, lengths, masks, constants)
    x, y, dy = layer.without_padding(x), device.contiguous(y), device.contiguous(dy)
    if by_name:
        values, multiplied = layer.from_names(saved, h0, with_axis(device, c0), y, by_name[1]), None
    else:
        check_saved(saved, layer.saved_shape)
        values, multiplied = layer.values(saved), layer.multiplied(saved)
    dx = None
    if need_dx:
        dx = device.full(x.shape, 0, x.dtype) if weights[0].W is None else device.empty(x.shape, x.dtype)
    dh0 = device.contiguous(dh_n, always=True)
    dc0 = None if dc_n is None else device.contiguous(with_axis(device, dc_n), always=True)
    each, share = (None if a is None else device.contiguous(a) for a in (dc_each, zoneout))
    ready = one_launch.ready(layer, backward=True)
    found = None if ready is None else one_launch.backward(ready, values, y, dy, dh0, dc0, each)
    alone = count(layer, None if found is None else ready, True)
    if found is None:
        found = []
        for d in range(layer.sizes.D):
            values_d, dc_d, each_d, share_d = (None if a is None else a[d] for a in (values, dc0, each, share))
            found.append(steps.backward(layer, d, values_d, y, dy, dh0[d], dc_d, each_d, share_d, alone))
    dweights = []
    for d, of_steps in enumerate(found):
        multiplied_d = None if multiplied is None else multiplied[d]
        dweights.append(weight_gradients(layer, d, x, h0[d], y, of_steps, multiplied_d, weights[d], dx, first))
    return dx, dh0, None if dc0 is None or dc_n is None else device.reshape(dc0, dc_n.shape), dweights


def count(layer: Layer, done: one_launch.Ready | None, backward: bool) -> bool:
    """Count the rung of a pass: of the kernel that is done, or else the lowest one. Returns whether one launch runs all
    steps of a direction, because its units do not read each other.
    """
    alone = one_launch.chosen(layer, backward).rung == UNITWISE
    rung = done.rung if done is not None else UNITWISE if alone else "steps"
    layer.device.rungs[f"{rung} {'backward' if backward else 'forward'}"] += 1
    return alone


def lengths_of(device: Launcher, lengths: Any, x: CudaArray) -> tuple[CudaArray | None, np.ndarray | None]:
    """The lengths on the device and in host memory; None if all rows have T steps."""
    if lengths is None:
        return None, None
    ends = np.asarray(lengths).astype(np.int64)
    return (None, None) if (ends == x.shape[0]).all() else (device.asarray(ends.astype(np.int32)), ends)


def with_axis(device: Launcher, states: Any) -> Any:
    """(D, STATES-1, B, H)"""
    if states is None or states.ndim == 4:
        return states
    return device.reshape(states, (states.shape[0], 1, *states.shape[1:]))
