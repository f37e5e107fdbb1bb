"""The kernels `cell_step` and `cell_step_grad` on a CUDA device: one step of any cell, without the products with W, R.

They launch the kernels of `sequence/steps.cu` for a single step. Arguments and results: `KERNELS` in
`minirnn/devices/base.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.sequence.arrays import Layer, for_kernels, stacked
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.launch.sequence.steps import Stages
from minirnn.devices.cuda.launcher import Launcher

Arrays = tuple[CudaArray, ...]


def cell_step(
    device: Launcher,
    gates: CudaArray,
    states: Sequence[CudaArray],
    weights: Weights,
    *,
    plan: Plan,
    constants: Sequence[float] | None = None,
    masks: Sequence[CudaArray] = (),
) -> tuple[Arrays, dict[str, CudaArray]]:
    """The states after one step, and the values that it saves."""
    layer = single_step(device, plan, states[-1], weights, constants, masks)
    B, H, dtype, w = layer.sizes.B, layer.sizes.H, layer.dtype, layer.weights[0]
    of_W, both = layer.sizes.rows_of_W * H, plan.of_both * H
    A, A2 = device.contiguous(gates[:, :of_W]), None
    if plan.of_x + plan.of_h:  # the parts of h; that of a gate of both is in A
        A2 = device.full((B, both + plan.of_h * H), 0, dtype)
        copy(device, A2[:, both:], gates[:, of_W:])
    h, c = device.contiguous(states[-1], always=True), in_one(device, states[:-1])
    y = device.empty((B, H), dtype)
    values = device.empty((layer.saved_count, B, H), dtype) if layer.saved_count else None
    multiplied = device.empty((len(plan.cuts), 1, B, H), dtype) if plan.cuts else None
    if B:
        run = Stages(layer, 0, w, False, multiplied).prepared((A, A2, w.bW, w.bR, values, c, h, y))
        run(0, A, A2, w.bW, w.bR, w.vectors, values, c, None, h, y)
    after = *(() if c is None else (c[k] for k in range(plan.states - 1))), h
    return after, {} if values is None else {name: values[k] for k, name in enumerate(plan.value_names)}


def cell_step_grad(
    device: Launcher,
    states: Sequence[CudaArray | None],
    after: Sequence[CudaArray | None],
    values: Mapping[str, CudaArray],
    d_after: Sequence[CudaArray],
    weights: Weights,
    *,
    plan: Plan,
    constants: Sequence[float] | None = None,
    masks: Sequence[CudaArray] = (),
) -> tuple[CudaArray, Arrays, Arrays]:
    """The gradients of gates (B, G*H), states and vectors."""
    layer = single_step(device, plan, d_after[-1], weights, constants, masks)
    B, H, dtype = layer.sizes.B, layer.sizes.H, layer.dtype
    inner = *(states[k] for k in layer.before), *(after[k] for k in layer.after)
    saved_values = in_one(device, [*[values[name] for name in plan.value_names], *inner])
    y = after[-1] if layer.reads_y else None
    y = None if y is None else device.contiguous(y)
    dy, dh, dc = device.contiguous(d_after[-1]), device.full((B, H), 0, dtype), in_one(device, d_after[:-1])
    da = device.empty((B, layer.sizes.columns * H), dtype)
    d_vectors = device.empty((plan.vectors, B, H), dtype) if plan.vectors else None
    d_products = device.empty((len(plan.cuts), 1, B, H), dtype) if plan.cuts else None
    vectors = layer.weights[0].vectors
    if B:
        stages = Stages(layer, 0, layer.weights[0], True, d_products)
        run = stages.prepared((saved_values, y, dy, dh, dc, da, d_vectors))
        run(0, vectors, saved_values, y, dy, None, dh, dc, da, None, d_vectors)
    if plan.of_h:  # their columns come first
        da = device.concatenate([da[:, plan.of_h * H :], da[:, : plan.of_h * H]], 1)
    d_states = *(() if dc is None else (dc[k] for k in range(plan.states - 1))), dh
    sums = None if d_vectors is None else device.sum(d_vectors, (1,), False)
    return da, d_states, () if sums is None else tuple(sums[k] for k in range(plan.vectors))


def single_step(
    device: Launcher, plan: Plan, like: CudaArray, weights: Weights, constants: Sequence[float] | None,
    masks: Sequence[CudaArray],
) -> Layer:  # fmt: skip
    """A layer of one step, of which only the cell's own arrays are read."""
    B, H = like.shape
    sizes = Sizes(plan, 1, B, H, H, 1, like.dtype.itemsize)
    w = for_kernels(device, plan, H, Weights(None, None, U=weights.U, vectors=weights.vectors), like.dtype)
    given = tuple(plan.constants if constants is None else constants)
    return Layer(device, sizes, like.dtype, given, None, [w], [stacked(device, masks)])


def in_one(device: Launcher, arrays: Sequence[CudaArray | None]) -> CudaArray | None:
    """A new array (n, B, H) of these; None if there are none."""
    found = [device.reshape(a, (1, *a.shape)) for a in arrays if a is not None]
    assert len(found) == len(arrays), "a state that the gradient reads is missing"
    return device.concatenate(found, 0) if found else None
