"""A layer of custom cells on a CUDA device: the sources of its kernels, its sizes, weights and saved values.

The kernels are those of the built-in cells (`cudnn_rnn/steps.cu`, `cudnn_rnn/persistent.cu`), compiled with a header
made of the cell's plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.cells.header import NAME, header
from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.driver import Kernel
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.cudnn_rnn.direction import Direction, GateGradients, settled
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import Gates, Sizes
from minirnn.devices.cuda.launch.sources import options
from minirnn.devices.cuda.launcher import Launcher


@lru_cache(maxsize=256)
def source(plan: Plan, file: str) -> str:
    """The text of ``kernels/cudnn_rnn/<file>`` for the cell of a plan."""
    text = '#include "activation.cuh"\n#include "cells/form.h"\n' + header(plan, values=True).replace(
        "#pragma once\n", ""
    )
    text += f'\n#define CELL {NAME}\n#include "cudnn_rnn/{file}"\n'
    if file == "steps.cu":
        text += "".join(f"STEP_STAGE({k})\n" for k in range(len(plan.forward)))
        text += "".join(f"STEP_GRAD_STAGE({k})\n" for k in range(len(plan.backward)))
    return text


def kernel_of(
    device: Launcher, plan: Plan, file: str, name: str, dtype: np.dtype, constants: tuple[str, ...] = ()
) -> Kernel:
    """The kernel `name` of a file for the cell of a plan."""
    module = device.driver.module(source(plan, file), f"{plan.name}.cu", (*options(dtype), *constants))
    return module.function(name)


@dataclass
class Layer:
    """A layer on a device.

    `directions` have the weights W, R, Wp, bW, bR, vectors (VECTORS, H) and the matrices of products, in this order.
    """

    device: Launcher
    plan: Plan
    directions: list[Direction]
    masks: list[CudaArray | None]
    """The masks of each direction, (T, MASKS, B, H), or None if the cell has none."""

    @property
    def sizes(self) -> Sizes:
        return self.directions[0].sizes

    @property
    def reads_y(self) -> bool:
        """Whether the gradient reads the new h."""
        return bool(self.plan.reads_after >> (self.plan.states - 1) & 1)

    @property
    def kept(self) -> int:
        """Values of a step that the gradient reads: saved ones, states before it, and inner states after it."""
        inner_after = self.plan.reads_after & ((1 << (self.plan.states - 1)) - 1)
        return self.plan.saved + (self.plan.reads_before.bit_count() + inner_after.bit_count())

    @property
    def saved_shape(self) -> tuple[int, ...]:
        """The shape of `values` and `multiplied` of all steps."""
        sizes = self.sizes
        return sizes.D, sizes.T, self.kept + len(self.plan.cuts), sizes.B, sizes.H

    def new_saved(self) -> CudaArray | None:
        """Memory for `values` and `multiplied` of all steps."""
        count = prod(self.saved_shape)
        return self.device.empty((count,), self.directions[0].weights[3].dtype) if count else None

    def values(self, saved: CudaArray | None) -> CudaArray | None:
        """The saved values of each step, (D, T, kept, B, H), or None if there are none."""
        sizes = self.sizes
        return (
            seen(saved, (sizes.D, sizes.T, self.kept, sizes.B, sizes.H), 0) if saved is not None and self.kept else None
        )

    def multiplied(self, saved: CudaArray | None) -> CudaArray | None:
        """The operands of each product, (D, PRODUCTS, T, B, H), or None if there are no products."""
        sizes, count = self.sizes, len(self.plan.cuts)
        before = sizes.D * sizes.T * self.kept * sizes.B * sizes.H
        return seen(saved, (sizes.D, count, sizes.T, sizes.B, sizes.H), before) if saved is not None and count else None


@dataclass
class Found:
    """The results of a backward pass that the products after it read."""

    gates: GateGradients
    products: CudaArray | None
    """The gradients of the products: (PRODUCTS, T, B, H)."""
    vectors: CudaArray | None
    """The gradients of vectors, for each step and row: (T, VECTORS, B, H)."""


def seen(a: CudaArray, shape: tuple[int, ...], offset: int) -> CudaArray:
    """A part of a 1-D array, in C order."""
    assert offset + prod(shape) <= a.size
    return a.seen_as(shape, c_strides(shape), offset)


def layer_of(
    device: Launcher,
    plan: Plan,
    x: CudaArray,
    h0: CudaArray,
    weights: Sequence[tuple[Any, ...]],
    lengths: Any,
    masks: Sequence[CudaArray],
) -> Layer:
    """The layer of these arrays."""
    (T, B, _), (D, _, P) = x.shape, h0.shape
    gates = Gates(plan.of_both, plan.of_x, plan.of_h)
    W, R, *_ = weights[0]
    H = W.shape[0] // gates.rows_of_W if R is None else R.shape[0] // gates.rows_of_R
    sizes = Sizes(f"own {plan.fingerprint} {plan.constants}", T, B, H, P, D, x.dtype.itemsize, gates)
    ends = np.full(B, T) if lengths is None else np.asarray(lengths).astype(np.int64)
    on_device = None if (ends == T).all() else device.asarray(ends.astype(np.int32))
    in_order = [in_one_tuple(device, gates, H, x.dtype, parts) for parts in weights]
    if device.recordings.enabled:
        in_order = settled(device, in_order)
    directions = [Direction(device, sizes, d, on_device, ends, in_order[d]) for d in range(D)]
    return Layer(device, plan, directions, [stacked(device, [m[d] for m in masks]) for d in range(D)])


def in_one_tuple(device: Launcher, gates: Gates, H: int, dtype: np.dtype, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """W, R, Wp, bW, bR, vectors and matrices. If bW is of all gates, bR gets those of gates of only h."""
    W, R, Wp, bW, bR, U, vectors = parts
    of_W, of_R = gates.rows_of_W * H, gates.rows_of_R * H
    if bW is None:
        bW, bR = device.full((of_W,), 0, dtype), device.full((of_R,), 0, dtype)
    elif bR is None:
        b = device.contiguous(bW)
        bW, bR = device.contiguous(b[:of_W]), device.full((of_R,), 0, dtype)
        copy(device, bR[gates.of_both * H :], b[of_W:])
    in_order = [None if w is None else device.contiguous(w) for w in (W, R, Wp, bW, bR)]
    together = device.concatenate(vectors, 0) if vectors else None
    return (*in_order, together, *[device.contiguous(u) for u in U])


def stacked(device: Launcher, masks: list[CudaArray]) -> CudaArray | None:
    """Masks (T, B, H) as (T, MASKS, B, H)."""
    if not masks:
        return None
    T, B, H = masks[0].shape
    found = device.empty((T, len(masks), B, H), masks[0].dtype)
    for k, mask in enumerate(masks):
        copy(device, found.seen_as((T, B, H), (len(masks) * B * H, H, 1), k * B * H), mask)
    return found
