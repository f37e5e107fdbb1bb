"""A layer on a CUDA device, step by step: the lowest rung of the ladder, for any cell and any size on any GPU.

The kernels: `sequence/steps.cu`. The inputs of all steps are multiplied at once; a step is one product and one launch,
two each with a projection. A cell with products inside its step has a launch for each stage. Between them comes one
launch for the products, and one for all functions of the units of a row (`sequence/reductions.cu`). The sums over steps
are single products after the loop. A repeated loop becomes a graph, which is started as one launch (`recordings.py`).

If the units of a cell do not read each other, nothing comes between two steps, and the loop is in the kernel
(``alone``, `sequence/unitwise.cu`), which gets the arrays of step 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from minirnn.cells.expr import BACK, REDUCTIONS
from minirnn.devices.base import Weights
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.primitives.products import product, products
from minirnn.devices.cuda.launch.primitives.reduce import threads_for
from minirnn.devices.cuda.launch.sequence.arrays import Layer, settled, stacked
from minirnn.devices.cuda.launch.sequence.sums import StepGradients, input_part
from minirnn.devices.cuda.launch.threads import cells, of_units, units_at_once


@dataclass
class Stages:
    """The launches of one step in one direction, forward or backward."""

    layer: Layer
    d: int
    weights: Weights
    backward: bool
    multiplied: CudaArray | None
    """The operands of products that stages set, (PRODUCTS, T or 1, B, H); backward, the gradients of products."""
    dc_each: CudaArray | None = None
    """(T, B, H)"""
    alone: bool = False
    """Whether one launch runs all steps."""

    def __post_init__(self) -> None:
        layer, sizes, plan, empty = self.layer, self.layer.sizes, self.layer.plan, self.layer.device.empty
        B, H, count = sizes.B, sizes.H, len(plan.cuts)
        stages, waiting = len(plan.forward), plan.states
        if self.backward:
            stages, waiting = len(plan.backward), plan.states + count + plan.carried
        self.waiting = empty((waiting, B, H), layer.dtype) if stages > 1 else None
        """The values that one stage stores for another."""
        self.products = empty((count, B, H), layer.dtype) if count else None
        self.after: list[list[int]] = [[] for _ in range(stages)]
        """The products and functions of all units after each stage."""
        for k, cut in enumerate(plan.cuts):
            self.after[cut.backward if self.backward else cut.forward].append(k)
        self.factors = [list(self.factors_of(found)) for found in self.after]
        pointers = "masks", "products", "dc_each", "multiplied", "waiting"  # of `struct Inside`
        self.inside = np.zeros(sizes.T, layer.struct(pointers, ("apart",)))
        steps = np.arange(sizes.T) * B * H * layer.dtype.itemsize
        several = self.multiplied is not None and self.multiplied.shape[1] > 1
        for name, array, on in (
            ("masks", layer.masks[self.d], steps * plan.masks), ("products", self.products, 0),
            ("dc_each", self.dc_each, steps), ("multiplied", self.multiplied, steps * several),
            ("waiting", self.waiting, 0),
        ):  # fmt: skip
            self.inside[name] = 0 if array is None else array.ptr + on
        if self.multiplied is not None:
            self.inside["apart"] = self.multiplied.element_strides[0]
        if layer.constants:
            self.inside["cell"] = layer.constants

    def factors_of(self, found: list[int]) -> Iterator[tuple[slice, CudaArray]]:
        """The products among these cuts, with their matrices (n, H, H): neighbors are computed in one launch.

        In a single step each has a launch, because to put the matrices next to each other takes as many.
        """
        device, cuts = self.layer.device, self.layer.plan.cuts
        several = self.layer.sizes.T > 1
        numbered = enumerate(k for k in found if cuts[k].kind == "product")
        for _, run in groupby(numbered, lambda one: one[1] - one[0] * several):
            which = [k for _, k in run]
            U = stacked(device, [self.weights.U[cuts[k].matrix] for k in which])
            yield slice(which[0], which[-1] + 1), U if self.backward else device.transpose(U, (0, 2, 1))

    def prepared(self, used: tuple[CudaArray | None, ...]) -> Callable[..., None]:
        """A function (t, *arrays) that runs all stages of step t with these arrays, or all steps from those of step 0.

        A thread has one unit of a row, or several if the alignment of the arrays `used`, of which it gets whole
        steps, allows it.
        """
        layer, sizes = self.layer, self.layer.sizes
        name, stages = ("step_grad", layer.plan.backward) if self.backward else ("step", layer.plan.forward)
        masks, vectors = layer.masks[self.d], self.weights.vectors
        own = self.multiplied, self.waiting, self.products, masks, vectors, self.dc_each
        n = units_at_once(sizes.H, *used, *own, dtype=layer.dtype)
        numbers = tuple(map(np.int32, (sizes.B, sizes.H, layer.y_stride)))
        threads = cells(sizes.B, sizes.H // n)
        if self.alone:
            one = layer.kernel("unitwise.cu", "cell_unitwise_grad" if self.backward else "cell_unitwise", of_units(n))
            order = layer.steps(self.d, self.backward)
            passed = *map(np.int32, (order.start, order.step, sizes.T)), *numbers, layer.lengths
            return lambda t, *arrays: one(*passed, *arrays, self.inside[t], **threads)
        kernels = [layer.kernel("steps.cu", f"cell_{name}_{k}", of_units(n)) for k in range(len(stages))]

        def run(t: int, *arrays: Any) -> None:
            for stage, kernel in enumerate(kernels):
                if stage:
                    self.multiply(stage - 1, t)
                kernel(np.int32(t), *numbers, layer.lengths, *arrays, self.inside[t], **threads)

        return run

    def multiply(self, stage: int, t: int) -> None:
        """The products and functions of all units after a stage of step t."""
        device, sizes = self.layer.device, self.layer.sizes
        assert self.multiplied is not None and self.products is not None
        at = t if self.multiplied.shape[1] > 1 else 0
        cuts = self.layer.plan.cuts
        kinds = {
            k: BACK[cuts[k].kind] if self.backward else cuts[k].kind
            for k in self.after[stage]
            if cuts[k].kind != "product"
        }
        for these, by in self.factors[stage]:
            products(device, self.multiplied[these, at], by, self.products[these])
        threads = threads_for(sizes.H)
        for first in range(0, len(cuts), 20):  # three bits for each in one number
            which = {k - first: 1 + REDUCTIONS.index(of) for k, of in kinds.items() if first <= k < first + 20}
            if which:
                run = device.kernel_of("sequence/reductions.cu", "unit_reductions", self.layer.dtype)
                numbers = np.int32(sizes.B), np.int32(sizes.H), np.int64(sum(n << 3 * k for k, n in which.items()))
                apart = np.int64(self.multiplied.element_strides[0])
                run(
                    *numbers, apart, self.multiplied[first, at], self.products[first],
                    grid=(sizes.B, len(which), 1), block=(threads, 1, 1), shared=threads * 8,
                )  # fmt: skip


def forward(
    layer: Layer, d: int, x: CudaArray, h: CudaArray, c: CudaArray | None, values: CudaArray | None,
    multiplied: CudaArray | None, y: CudaArray, zoneout: CudaArray | None, alone: bool,
) -> None:  # fmt: skip
    """Fill the columns of y of direction d, and, if they are kept, `values` and `multiplied` of all steps.

    h (B, P) and c (INNER, B, H) go from the first state to the last.
    """
    device, plan, sizes, w = layer.device, layer.plan, layer.sizes, layer.weights[d] if alone else settled(layer, d)
    T, B, H, P, dtype = sizes.T, sizes.B, sizes.H, sizes.P, layer.dtype
    A = device.empty((T, B, sizes.rows_of_W * H), dtype)
    if sizes.rows_of_W:
        input_part(layer, d, x, A)
    A2 = device.empty((B, sizes.G * H), dtype) if plan.of_x + plan.of_h and sizes.G else None
    R_T = None if w.R is None else device.transpose(w.R, (1, 0))
    m, projected = (device.empty((B, n), dtype) for n in (H, P)) if w.Wp is not None else (None, None)
    saves = values is not None
    if len(plan.forward) > 1 and not saves and layer.saved_count:  # later stages read what earlier ones save
        values = device.empty((1, layer.saved_count, B, H), dtype)
    if plan.cuts and multiplied is None:
        multiplied = device.empty((len(plan.cuts), 1, B, H), dtype)
    stages = Stages(layer, d, w, False, multiplied, alone=alone)

    outputs = h, layer.columns(d, y, 0)
    used = A, A2, w.bW, w.bR, values, c, m, *(outputs if m is None else ())

    def steps() -> None:
        step = stages.prepared(used)
        projected_step = None if m is None else projection(layer, "projected_step", (projected, zoneout, *outputs))
        for t in range(1) if alone else layer.steps(d):
            if R_T is not None:
                product(device, h, R_T, A[t] if A2 is None else A2, beta=0.0 if A2 is not None else 1.0)
            here, values_t = layer.columns(d, y, t), None if values is None else values[t if saves else 0]
            step(t, A[t], A2, w.bW, w.bR, w.vectors, values_t, c, m, h, here)
            if m is not None and projected is not None and projected_step is not None:
                product(device, m, device.transpose(w.Wp, (1, 0)), projected)
                projected_step(t, projected, None if zoneout is None else zoneout[t], h, here)

    steps() if alone else device.loop(steps)


def backward(
    layer: Layer, d: int, values: CudaArray | None, y: CudaArray, dy: CudaArray, dh: CudaArray, dc: CudaArray | None,
    dc_each: CudaArray | None, zoneout: CudaArray | None, alone: bool,
) -> StepGradients:  # fmt: skip
    """The gradients inside all steps; dh (B, P) and dc (INNER, B, H) go from last state to first."""
    device, plan, sizes, w = layer.device, layer.plan, layer.sizes, layer.weights[d] if alone else settled(layer, d)
    T, B, H, P, dtype = sizes.T, sizes.B, sizes.H, sizes.P, layer.dtype
    of_R, both, R = sizes.G * H, plan.of_both * H, w.R
    if R is not None and plan.of_h and both:  # rows in the order of the columns of da: those of only h first
        R = device.concatenate([R[both:], R[:both]], 0)
    da = device.empty((T, B, sizes.columns * H), dtype)
    ds, ms = (device.empty((T, B, n), dtype) for n in (P, H)) if w.Wp is not None else (None, None)
    dm = device.empty((B, H), dtype) if w.Wp is not None else None
    d_products = device.empty((len(plan.cuts), T, B, H), dtype) if plan.cuts else None
    d_vectors = device.empty((T, plan.vectors, B, H), dtype) if plan.vectors else None
    stages = Stages(layer, d, w, True, d_products, dc_each, alone)

    outputs = dh, layer.columns(d, dy, 0)
    used = values, layer.columns(d, y, 0), dm, dc, da, ms, d_vectors, *(outputs if dm is None else ())

    def steps() -> None:
        step = stages.prepared(used)
        projected_step = None if dm is None else projection(layer, "projected_step_grad", (*outputs, zoneout, ds))
        for t in range(1) if alone else layer.steps(d, backward=True):
            there, m = layer.columns(d, dy, t), None
            if ds is not None and ms is not None and dm is not None and projected_step is not None:
                projected_step(t, there, None if zoneout is None else zoneout[t], dh, ds[t])
                product(device, ds[t], w.Wp, dm)
                m = ms[t]
            here = layer.columns(d, y, t) if layer.reads_y else None
            values_t, d_vectors_t = (None if a is None else a[t] for a in (values, d_vectors))
            step(t, w.vectors, values_t, here, there, dm, dh, dc, da[t], m, d_vectors_t)
            if R is not None:
                product(device, da[t, :, :of_R], R, dh, beta=1.0)

    steps() if alone else device.loop(steps)
    return StepGradients(da, ds, ms, d_products, d_vectors)


def projection(layer: Layer, kernel: str, used: tuple[CudaArray | None, ...]) -> Callable[..., None]:
    """The launch of a kernel of projections for one step, as a function of the step and its arrays."""
    sizes = layer.sizes
    n = units_at_once(sizes.P, *used, dtype=layer.dtype)
    run = layer.device.kernel_of("sequence/every_cell.cu", kernel, layer.dtype, of_units(n))
    numbers, threads = tuple(map(np.int32, (sizes.B, sizes.P, layer.y_stride))), cells(sizes.B, sizes.P // n)
    return lambda t, *arrays: run(np.int32(t), *numbers, layer.lengths, *arrays, **threads)
