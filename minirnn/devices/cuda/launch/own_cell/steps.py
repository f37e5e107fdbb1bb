"""A layer of custom cells on a CUDA device, step by step: for any size and any cell, on any GPU.

This works as for the built-in cells (`launch/cudnn_rnn/steps.py`), but a step has one launch per stage of the cell,
with the products of the cell between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.cudnn_rnn.all_steps import input_part
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients, in_columns
from minirnn.devices.cuda.launch.own_cell.layer import Found, Layer, kernel_of
from minirnn.devices.cuda.launch.primitives.products import product
from minirnn.devices.cuda.launch.threads import cells, of_units, units_at_once

INSIDE = np.dtype([(name, "u8") for name in ("masks", "products", "multiplied", "waiting")] + [("apart", "i8")])
"""`struct Inside` of kernels/cudnn_rnn/steps.cu."""


@dataclass
class Stages:
    """The launches of one step in one direction, forward or backward."""

    layer: Layer
    direction: Direction
    backward: bool
    multiplied: CudaArray | None
    """The operands of products that stages set, (PRODUCTS, T or 1, B, H); backward, the gradients of products."""
    waiting: CudaArray
    """The values that one stage stores for another, (.., B, H)."""

    def __post_init__(self) -> None:
        device, plan, sizes = self.layer.device, self.layer.plan, self.layer.sizes
        dtype, block = self.waiting.dtype, (sizes.B, sizes.H)
        count = len(plan.cuts)
        self.products = device.empty((count, *block), dtype) if count else None
        self.mean = None
        if plan.means:  # a mean over units is also a product
            self.mean = device.full((sizes.H, sizes.H), 1 / sizes.H, dtype)
        self.inside = np.zeros(sizes.T, INSIDE)
        steps, step_bytes = np.arange(sizes.T), sizes.B * sizes.H * dtype.itemsize
        masks = self.layer.masks[self.direction.d]
        if masks is not None:
            self.inside["masks"] = masks.ptr + steps * plan.masks * step_bytes
        if self.products is not None and self.multiplied is not None:
            several = self.multiplied.shape[1] > 1
            self.inside["products"] = self.products.ptr
            self.inside["multiplied"] = self.multiplied.ptr + steps * step_bytes * several
            self.inside["apart"] = self.multiplied.element_strides[0]
        self.inside["waiting"] = self.waiting.ptr

    @property
    def arrays(self) -> tuple[CudaArray | None, ...]:
        """All arrays that its launches read and write."""
        masks, matrices = self.layer.masks[self.direction.d], self.direction.weights[5:]
        return (self.multiplied, self.waiting, self.products, self.mean, masks, *matrices)

    def prepared(self, used: tuple[CudaArray | None, ...]) -> Callable[..., None]:
        """A function (t, *arrays) that runs all stages of step t with these arrays.

        A thread has one unit of a row, or several if the alignment of the arrays `used`, of which it gets whole
        steps, allows it.
        """
        layer, plan, sizes = self.layer, self.layer.plan, self.layer.sizes
        name, stages = ("step_grad", plan.backward) if self.backward else ("step", plan.forward)
        masks = layer.masks[self.direction.d]
        own = self.multiplied, self.waiting, self.products, masks, self.direction.weights[5]
        n = units_at_once(sizes.H, *used, *own, dtype=self.waiting.dtype)
        kernels = [
            kernel_of(layer.device, plan, "steps.cu", f"cell_{name}_{k}", self.waiting.dtype, of_units(n))
            for k in range(len(stages))
        ]
        numbers = tuple(map(np.int32, (sizes.B, sizes.H, self.direction.y_stride)))
        threads = cells(sizes.B, sizes.H // n)

        def run(t: int, *arrays: Any) -> None:
            for stage, kernel in enumerate(kernels):
                if stage:
                    self.multiply(stage - 1, t)
                kernel(np.int32(t), *numbers, self.direction.lengths, *arrays, self.inside[t], **threads)

        return run

    def multiply(self, stage: int, t: int) -> None:
        """The products after a stage of step t."""
        device, matrices = self.layer.device, self.direction.weights[6:]
        assert self.multiplied is not None and self.products is not None
        for k, cut in enumerate(self.layer.plan.cuts):
            if (cut.backward if self.backward else cut.forward) != stage:
                continue
            U: CudaArray = self.mean if self.mean is not None and cut.kind == "unit_mean" else matrices[cut.matrix]
            at = t if self.multiplied.shape[1] > 1 else 0
            product(
                device, self.multiplied[k, at], U if self.backward else device.transpose(U, (1, 0)), self.products[k]
            )


def forward(
    layer: Layer,
    direction: Direction,
    x: CudaArray,
    h: CudaArray,
    c: CudaArray | None,
    values: CudaArray | None,
    multiplied: CudaArray | None,
    y: CudaArray,
) -> None:
    """Fill this direction's columns of y, and, if they are kept, `values` and `multiplied` of all steps.

    h (B, P) and c (INNER, B, H) go from the first state to the last.
    """
    device, plan, sizes = layer.device, layer.plan, layer.sizes
    T, B, H, P, gates, dtype = sizes.T, sizes.B, sizes.H, sizes.P, sizes.gates, x.dtype
    _, R, Wp, bW, bR, vectors, *_ = direction.weights
    A = device.empty((T, B, gates.rows_of_W * H), dtype)
    if gates.rows_of_W:
        input_part(direction, x, A)
    A2 = device.empty((B, sizes.G * H), dtype) if gates.apart and sizes.G else None
    R_T = None if R is None else device.transpose(R, (1, 0))
    m, projected = (device.empty((B, n), dtype) for n in (H, P)) if Wp is not None else (None, None)
    kept = values is not None
    if len(plan.forward) > 1 and not kept and layer.kept:  # later stages read what earlier ones save
        values = device.empty((1, layer.kept, B, H), dtype)
    if plan.cuts and multiplied is None:
        multiplied = device.empty((len(plan.cuts), 1, B, H), dtype)
    stages = Stages(layer, direction, False, multiplied, device.empty((plan.states, B, H), dtype))

    outputs = h, direction.own_columns(y, 0)
    used = A, A2, bW, bR, values, c, m, *(outputs if m is None else ())

    def steps() -> None:
        step = stages.prepared(used)
        projected_step = projection(direction, "projected_step", (projected, *outputs))
        for t in direction.forward_steps():
            if R_T is not None:
                product(device, h, R_T, A[t] if A2 is None else A2, beta=0.0 if A2 is not None else 1.0)
            here, values_t = direction.own_columns(y, t), None if values is None else values[t if kept else 0]
            step(t, A[t], A2, bW, bR, vectors, values_t, c, m, h, here)
            if m is not None and projected is not None:
                product(device, m, device.transpose(Wp, (1, 0)), projected)
                projected_step(t, projected, h, here)

    arrays = A, A2, R, Wp, bW, bR, h, c, values, y, m, projected, *stages.arrays
    direction.run("own cell forward", (direction.d, kept), arrays, steps)


def backward(
    layer: Layer,
    direction: Direction,
    values: CudaArray | None,
    y: CudaArray,
    dy: CudaArray,
    dh: CudaArray,
    dc: CudaArray | None,
) -> Found:
    """The gradients of all pre-activations; dh (B, P) and dc (INNER, B, H) go from last state to first."""
    device, plan, sizes = layer.device, layer.plan, layer.sizes
    T, B, H, P, dtype = sizes.T, sizes.B, sizes.H, sizes.P, dh.dtype
    _, R, Wp, _, _, vectors, *_ = direction.weights
    da = device.empty((T, B, sizes.columns * H), dtype)
    da2, R = da[:, :, : sizes.G * H], None if R is None else in_columns(direction, R)
    ds, ms = (device.empty((T, B, n), dtype) for n in (P, H)) if Wp is not None else (None, None)
    dm = device.empty((B, H), dtype) if Wp is not None else None
    d_products = device.empty((len(plan.cuts), T, B, H), dtype) if plan.cuts else None
    d_vectors = device.empty((T, plan.vectors, B, H), dtype) if plan.vectors else None
    waiting = device.empty((plan.states + len(plan.cuts) + plan.carried, B, H), dtype)
    stages = Stages(layer, direction, True, d_products, waiting)

    outputs = dh, direction.own_columns(dy, 0)
    used = values, direction.own_columns(y, 0), dm, dc, da, ms, d_vectors, *(outputs if dm is None else ())

    def steps() -> None:
        step = stages.prepared(used)
        projected_step = projection(direction, "projected_step_grad", (*outputs, ds))
        for t in direction.backward_steps():
            there, m = direction.own_columns(dy, t), None
            if ds is not None and ms is not None and dm is not None:
                projected_step(t, there, dh, ds[t])
                product(device, ds[t], Wp, dm)
                m = ms[t]
            here = direction.own_columns(y, t) if layer.reads_y else None
            values_t, d_vectors_t = (None if a is None else a[t] for a in (values, d_vectors))
            step(t, vectors, values_t, here, there, dm, dh, dc, da[t], m, d_vectors_t)
            if R is not None:
                product(device, da2[t], R, dh, beta=1.0)

    arrays = R, Wp, values, y, dy, dh, dc, da, ds, ms, dm, d_vectors, *stages.arrays
    direction.run("own cell backward", (direction.d,), arrays, steps)
    return Found(GateGradients(da, ds, ms), d_products, d_vectors)


def projection(direction: Direction, kernel: str, used: tuple[CudaArray | None, ...]) -> Callable[..., None]:
    """The launch of a kernel of projections for one step, as a function of the step and its arrays."""
    device, sizes, dtype = direction.device, direction.sizes, direction.weights[3].dtype
    n = units_at_once(sizes.P, *used, dtype=dtype)
    run = device.kernel_of("cudnn_rnn/steps.cu", kernel, dtype, constants=of_units(n))
    numbers, threads = tuple(map(np.int32, (sizes.B, sizes.P, direction.y_stride))), cells(sizes.B, sizes.P // n)
    return lambda t, *arrays: run(np.int32(t), *numbers, direction.lengths, *arrays, **threads)
