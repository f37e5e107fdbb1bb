"""A layer of custom cells with one stage, all steps in one launch: the rung `persistent` of the ladder.

The kernels are those of `launch/cudnn_rnn/persistent.py`, compiled with the header of the
cell's plan; they also get its vectors and masks.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn import plan as plans
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import BarrierPlan
from minirnn.devices.cuda.launch.cudnn_rnn.choice import choose
from minirnn.devices.cuda.launch.cudnn_rnn.direction import GateGradients
from minirnn.devices.cuda.launch.cudnn_rnn.one_launch import (
    fits,
    gate_gradients,
    inputs_and_weights,
    launch,
    recurrent_weights,
    stacked,
)
from minirnn.devices.cuda.launch.own_cell.layer import Found, Layer, kernel_of

EMPTY = 0xFF
"""Each byte of memory for messages before a launch (`grid.cuh`)."""
SLOTS = 2
"""The slots of a share of a backward pass, used in turn (`persistent_grad.cu`)."""
OWN = np.dtype([("vectors", "u8"), ("masks", "u8"), ("d_vectors", "u8")])
"""`struct Own` of kernels/cudnn_rnn/direction.cuh."""
MOST_GATES = 4
"""The gates that read h of a cell whose sums fit the lanes of a warp."""


def plan_of(layer: Layer, backward: bool) -> plans.Plan | BarrierPlan | None:
    """How single-launch kernels compute this layer; None if it goes step by step."""
    plan, device, gates = layer.plan, layer.device, layer.sizes.gates
    stages = plan.backward if backward else plan.forward
    if len(stages) > 1 or plan.cuts or not gates.rows_of_W or not 0 < gates.rows_of_R <= MOST_GATES:
        return None
    chosen = choose(layer.sizes, device.driver.limits, backward, device.cudnn_rnn_rung).plan
    return None if isinstance(chosen, BarrierPlan) and (plan.vectors or plan.masks) else chosen


def rung_of(layer: Layer, backward: bool) -> str:
    return "barrier" if isinstance(plan_of(layer, backward), BarrierPlan) else "persistent"


def forward(
    layer: Layer, x: CudaArray, h0: CudaArray, c: CudaArray | None, values: CudaArray | None, y: CudaArray
) -> CudaArray | None:
    """Fill y; c (D, INNER, B, H) goes from first state to last. Returns h_n (D, B, H), or None if it does not fit."""
    device, sizes, chosen = layer.device, layer.sizes, plan_of(layer, backward=False)
    kernel = None if chosen is None else compiled(layer, "", x.dtype, chosen)
    if chosen is None or kernel is None:
        return None
    if isinstance(chosen, BarrierPlan):
        h = device.empty((SLOTS, *h0.shape), x.dtype)
        copy(device, h[0], h0)
        arrays = *inputs_and_weights(layer.directions, x), h, c, values, y
        launch(layer.directions, kernel, chosen, arrays, (meeting(layer),), filled_with=0)
        return h[sizes.T % SLOTS]
    h_n = device.empty(h0.shape, x.dtype)
    states = device.empty((sizes.D, max(sizes.T - 1, 1), sizes.B, sizes.H), x.dtype)  # between steps
    vectors, masks = own_arrays(layer)
    arrays = *inputs_and_weights(layer.directions, x), device.contiguous(h0), h_n, c, values, y
    launch(layer.directions, kernel, chosen, arrays, (states,), EMPTY, (struct(vectors, masks, None),))
    return h_n


def backward(
    layer: Layer, values: CudaArray | None, y: CudaArray, dy: CudaArray, dh: CudaArray, dc: CudaArray | None
) -> list[Found] | None:
    """The results of `steps.backward` for all directions; dh and dc go from last state to first. None if it does not
    fit.
    """
    device, sizes, chosen = layer.device, layer.sizes, plan_of(layer, backward=True)
    kernel = None if chosen is None else compiled(layer, "_grad", dh.dtype, chosen)
    if chosen is None or kernel is None:
        return None
    T, B, H, D, count = sizes.T, sizes.B, sizes.H, sizes.D, layer.plan.vectors
    da = gate_gradients(layer.directions, dh.dtype)
    if isinstance(chosen, BarrierPlan):
        given = recurrent_weights(layer.directions), values, y, dy, dh, dc, da
        launch(layer.directions, kernel, chosen, given, (meeting(layer),), filled_with=0)
        return [Found(GateGradients(da[d]), None, None) for d in range(D)]
    assert isinstance(chosen, plans.BackwardPlan)
    shares = device.empty((D, SLOTS, chosen.slices, B, H), dh.dtype)
    d_vectors = device.empty((D, T, count, B, H), dh.dtype) if count else None
    vectors, masks = own_arrays(layer)
    arrays = recurrent_weights(layer.directions), values, y, dy, dh, dc
    launch(layer.directions, kernel, chosen, arrays, (da, shares), EMPTY, (struct(vectors, masks, d_vectors),))
    return [Found(GateGradients(da[d]), None, None if d_vectors is None else d_vectors[d]) for d in range(D)]


def meeting(layer: Layer) -> CudaArray:
    """The counter and the flag of each direction's barrier: (D, 2)."""
    return layer.device.empty((layer.sizes.D, 2), np.uint32)


def compiled(layer: Layer, suffix: str, dtype: np.dtype, chosen: plans.Plan | BarrierPlan) -> Kernel | None:
    """The kernel for a plan of the ladder, or None if it does not compile or its blocks do not fit on the device."""
    rung = "barrier" if isinstance(chosen, BarrierPlan) else "persistent"
    name, file = f"{rung}{suffix}", f"{rung}{suffix if rung == 'persistent' else ''}.cu"
    constants = tuple(f"-D{key}={n}" for key, n in chosen.constants.items())
    kernel = layer.device.uncompiled.unless_refused(
        (name, layer.plan, dtype, constants),
        rung,
        lambda: kernel_of(layer.device, layer.plan, file, f"cell_{name}", dtype, constants),
    )
    return kernel if kernel is not None and fits(kernel, chosen, layer.sizes.D) else None


def own_arrays(layer: Layer) -> tuple[CudaArray | None, CudaArray | None]:
    """Vectors (D, VECTORS*H) and masks (D, T, MASKS, B, H) of all directions."""
    vectors = [a for direction in layer.directions if (a := direction.weights[5]) is not None]
    masks = [a for a in layer.masks if a is not None]
    return (*(stacked(layer.device, found) if found else None for found in (vectors, masks)),)  # type: ignore[return-value]


def struct(*arrays: CudaArray | None) -> np.void:
    found: np.void = np.zeros(1, OWN)[0]
    for name, a in zip(("vectors", "masks", "d_vectors"), arrays, strict=True):
        found[name] = 0 if a is None else a.ptr
    return found
