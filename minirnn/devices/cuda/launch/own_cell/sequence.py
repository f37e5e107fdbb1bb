"""The kernels `cell_sequence` and `cell_sequence_grad` on a CUDA device: one layer of custom cells, all its directions.

Arguments and results: the functions of the same names in `minirnn/devices/cpu/own_cell/layer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.cells.plan import Plan
from minirnn.devices.base import check_saved
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import sums_over_steps
from minirnn.devices.cuda.launch.cudnn_rnn.direction import without_padding
from minirnn.devices.cuda.launch.lstm_block.sequence import flat
from minirnn.devices.cuda.launch.own_cell import persistent, steps
from minirnn.devices.cuda.launch.own_cell.layer import Found, Layer, layer_of
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launcher import Launcher


def cell_sequence(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Sequence[tuple[Any, ...]],
    *,
    plan: Plan,
    lengths: Any,
    training: bool,
    masks: Sequence[CudaArray] = (),
) -> tuple[Any, ...]:
    """Run one layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, STATES-1, B, H) or None, and saved."""
    layer = layer_of(device, plan, x, h0, weights, lengths, masks)
    sizes, shape = layer.sizes, None if c0 is None else c0.shape
    c0 = with_axis(device, c0)
    x = without_padding(x, layer.directions[0])
    y = device.empty((sizes.T, sizes.B, sizes.D * sizes.P), x.dtype)
    c_n = None if c0 is None else device.contiguous(c0, always=True)
    saved = layer.new_saved() if training else None
    values, multiplied = layer.values(saved), layer.multiplied(saved)
    h_n = persistent.forward(layer, x, h0, c_n, values, y)
    device.rungs[f"{persistent.rung_of(layer, False) if h_n is not None else 'steps'} forward"] += 1
    if h_n is None:
        h_n = device.contiguous(h0, always=True)
        for d, direction in enumerate(layer.directions):
            c_d, values_d, multiplied_d = (None if a is None else a[d] for a in (c_n, values, multiplied))
            steps.forward(layer, direction, x, h_n[d], c_d, values_d, multiplied_d, y)
    return y, h_n, None if c_n is None else device.reshape(c_n, shape), saved


def cell_sequence_grad(
    device: Launcher,
    x: CudaArray,
    h0: CudaArray,
    c0: CudaArray | None,
    weights: Sequence[tuple[Any, ...]],
    saved: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh_n: CudaArray,
    dc_n: CudaArray | None,
    *,
    plan: Plan,
    lengths: Any,
    need_dx: bool = True,
    masks: Sequence[CudaArray] = (),
) -> tuple[Any, ...]:
    """The gradients of `cell_sequence`: dx (T, B, I) or None, dh0, dc0 or None, and those of the weights."""
    layer = layer_of(device, plan, x, h0, weights, lengths, masks)
    check_saved(saved, layer.saved_shape)
    x, y, dy = without_padding(x, layer.directions[0]), device.contiguous(y), device.contiguous(dy)
    dx = device.full(x.shape, 0, x.dtype) if need_dx else None
    dh0 = device.contiguous(dh_n, always=True)
    shape = None if dc_n is None else dc_n.shape
    dc0 = None if dc_n is None else device.contiguous(with_axis(device, dc_n), always=True)
    values, multiplied = layer.values(saved), layer.multiplied(saved)
    found = persistent.backward(layer, values, y, dy, dh0, dc0)
    device.rungs[f"{persistent.rung_of(layer, True) if found is not None else 'steps'} backward"] += 1
    if found is None:
        found = []
        for d, direction in enumerate(layer.directions):
            values_d, dc_d = (None if a is None else a[d] for a in (values, dc0))
            found.append(steps.backward(layer, direction, values_d, y, dy, dh0[d], dc_d))
    dweights = []
    for d, of_d in enumerate(found):
        multiplied_d = None if multiplied is None else multiplied[d]
        dweights.append(sums(layer, d, x, h0, y, of_d, multiplied_d, weights[d], dx))
    return dx, dh0, None if dc0 is None else device.reshape(dc0, shape), dweights


def with_axis(device: Launcher, states: Any) -> Any:
    """(D, STATES-1, B, H)"""
    return (
        states
        if states is None or states.ndim == 4
        else device.reshape(states, (states.shape[0], 1, *states.shape[1:]))
    )


def sums(
    layer: Layer,
    d: int,
    x: CudaArray,
    h0: CudaArray,
    y: CudaArray,
    found: Found,
    multiplied: CudaArray | None,
    weights: tuple[Any, ...],
    dx: CudaArray | None,
) -> tuple[Any, ...]:
    """The gradients of a direction's weights, in the order of `weights`; adds to dx."""
    device, sizes, plan = layer.device, layer.sizes, layer.plan
    *plain, U, _ = weights
    dW, dR, dWp = (None if w is None else device.empty(w.shape, w.dtype) for w in plain[:3])
    of_W, of_R, both = (n * sizes.H for n in (sizes.gates.rows_of_W, sizes.gates.rows_of_R, sizes.gates.of_both))
    joined = plain[3] is not None and plain[4] is None  # one bias of all gates
    db = device.empty((of_W + (of_R - both) * joined,), x.dtype)
    dbR = device.empty((of_R,), x.dtype)
    wanted = dx if plan.reads_x else None
    given = layer.directions[d], x, h0[d], y, found.gates, (dW, dR, dWp, db[:of_W], dbR), wanted
    sums_over_steps(*given)
    if joined:
        copy(device, db[of_W:], dbR[both:])
    biases = (None, None) if plain[3] is None else (db, None if joined else dbR)
    dU = [device.empty(u.shape, u.dtype) for u in U]
    for k, cut in enumerate(plan.cuts):
        if cut.kind == "product" and found.products is not None and multiplied is not None:
            product(device, device.transpose(flat(found.products[k]), (1, 0)), flat(multiplied[k]), dU[cut.matrix])
    dvectors: Any = () if found.vectors is None else device.sum(found.vectors, (0, 2), False)
    return dW, dR, dWp, *biases, tuple(dU), tuple(dvectors[k] for k in range(plan.vectors))
