"""A layer on a CUDA device: its sizes, weights, masks and saved values, as all rungs of the ladder read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.driver import Kernel
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.primitives.products import matrix
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.launch.threads import cells
from minirnn.devices.cuda.launcher import Launcher


@dataclass
class Layer:
    """A layer on a device.

    Attributes
    ----------
    constants : tuple of float
        The values of the cell's constants, which kernels take as arguments.
    lengths
        The length of each row; None if all have T steps.
    weights : list of Weights
        Of each direction. bW and bR are those of W's and of R's rows, and `vectors` is one array (VECTORS, H) or None.
    masks : list
        Of each direction, (T, MASKS, B, H), or None if the cell has none.
    named : bool
        Whether the forward pass saves the values and states that users ask for by name.
    """

    device: Launcher
    sizes: Sizes
    dtype: np.dtype
    constants: tuple[float, ...]
    lengths: CudaArray | None
    weights: list[Weights]
    masks: list[CudaArray | None]
    named: bool = False

    @property
    def plan(self) -> Plan:
        return self.sizes.plan

    @property
    def y_stride(self) -> int:
        """The distance of the rows of y: D*P."""
        return self.sizes.D * self.sizes.P

    # ---- launches

    def kernel(self, file: str, name: str, constants: tuple[str, ...] = ()) -> Kernel:
        """The kernel `name` of ``kernels/sequence/<file>`` for the cell."""
        named = ("-DNAMED=1",) if self.named else ()
        return self.device.kernel_of(f"sequence/{file}", name, self.dtype, (*constants, *named), self.plan)

    def struct(self, pointers: tuple[str, ...], numbers: tuple[str, ...] = ()) -> np.dtype:
        """The layout of a kernel's struct argument: pointers, 64-bit numbers, and the cell, which has its constants."""
        return struct_of(pointers, numbers, self.dtype, len(self.constants))

    # ---- directions; direction 1 runs backwards in time

    def steps(self, d: int, backward: bool = False) -> range:
        """The steps in the order in which a pass takes them."""
        T = self.sizes.T
        return range(T) if (d == 1) == backward else range(T - 1, -1, -1)

    def columns(self, d: int, y: CudaArray, t: int) -> CudaArray:
        """The columns of direction d of step t of y or dy: (B, P)."""
        B, P = self.sizes.B, self.sizes.P
        return y.seen_as((B, P), (self.y_stride, 1), t * B * self.y_stride + d * P)

    def without_padding(self, x: CudaArray) -> CudaArray:
        """x in C order, with zeros where a row is not active."""
        x = self.device.contiguous(x)
        if self.lengths is None or not x.size:
            return x
        T, B, n = x.shape
        clean = self.device.empty(x.shape, x.dtype)
        run = self.device.kernel_of("sequence/every_cell.cu", "without_padding", x.dtype)
        run(*map(np.int32, (T * B, B, n)), self.lengths, x, clean, **cells(T * B, n))
        return clean

    # ---- what a step saves: values, states before it, inner states after it; and the operands of products inside it

    @property
    def reads_y(self) -> bool:
        """Whether the gradient reads the new h."""
        return bool(self.plan.reads_after >> (self.plan.states - 1) & 1)

    @cached_property
    def before(self) -> list[int]:
        """The states before a step that are saved."""
        return [] if self.named else [k for k in range(self.plan.states) if self.plan.reads_before >> k & 1]

    @cached_property
    def after(self) -> list[int]:
        """The inner states after a step that are saved."""
        return [k for k in range(self.plan.states - 1) if self.named or self.plan.reads_after >> k & 1]

    @property
    def saved_count(self) -> int:
        """The number of arrays (B, H) that a step saves, without operands of products."""
        return self.plan.saved + len(self.before) + len(self.after)

    @property
    def saved_shape(self) -> tuple[int, ...]:
        sizes = self.sizes
        return sizes.D, sizes.T, self.saved_count + len(self.plan.cuts), sizes.B, sizes.H

    def new_saved(self) -> CudaArray | None:
        """Memory for all that is saved, or None if that is nothing."""
        count = prod(self.saved_shape)
        return self.device.empty((count,), self.dtype) if count else None

    def values(self, saved: CudaArray | None) -> CudaArray | None:
        """The saved values and states of each step, (D, T, saved_count, B, H), or None if there are none."""
        D, T, _, B, H = self.saved_shape
        return None if saved is None or not self.saved_count else in_c_order(saved, (D, T, self.saved_count, B, H), 0)

    def multiplied(self, saved: CudaArray | None) -> CudaArray | None:
        """The operands of each product, (D, PRODUCTS, T, B, H), or None if there are no products."""
        D, T, _, B, H = self.saved_shape
        shape = D, len(self.plan.cuts), T, B, H
        return (
            None if saved is None or not self.plan.cuts else in_c_order(saved, shape, D * T * self.saved_count * B * H)
        )

    def by_name(self, values: CudaArray) -> dict[str, CudaArray]:
        """The values and the inner states after each step, (D, T, B, H) each, views of `values`."""
        names = *self.plan.value_names, *self.plan.state_names[:-1]
        return {name: values[:, :, k] for k, name in enumerate(names)}

    def from_names(
        self,
        found: Mapping[str, CudaArray],
        h0: CudaArray,
        c0: CudaArray | None,
        y: CudaArray,
        ends: tuple[int, ...] | None,
    ) -> CudaArray | None:
        """What `values` returns, made of values by name, the first states and the output. `ends` are the lengths."""
        D, T, _, B, H = self.saved_shape
        names = self.plan.state_names
        if self.plan.cuts:
            raise NotImplementedError(
                f"{self.device}: the gradient of {self.plan.name} was asked for with values by name\n"
                "  expected what cell_sequence saved: the operands of products inside a step have no names"
            )
        if not self.saved_count:
            return None
        values = self.device.empty((D, T, self.saved_count, B, H), self.dtype)
        for k, name in enumerate((*self.plan.value_names, *[""] * len(self.before), *[names[j] for j in self.after])):
            if name:
                copy(self.device, values[:, :, k], found[name])
        for d in range(D):
            first, later, earlier = (T - 1, slice(0, T - 1), slice(1, T)) if d else (0, slice(1, T), slice(0, T - 1))
            for k, j in enumerate(self.before, self.plan.saved):
                inner = None if c0 is None or names[j] == names[-1] else c0[d, j]
                after = y[:, :, d * H : (d + 1) * H] if inner is None else found[names[j]][d]
                if inner is None and ends is not None:  # before the first step of a row that is not y but h0
                    valid = self.device.asarray((np.arange(T)[:, None] < np.array(ends))[:, :, None])
                    after = self.device.where(valid, after, h0[d])
                copy(self.device, values[d, first, k], h0[d] if inner is None else inner)
                copy(self.device, values[d, later, k], after[earlier])
        return values


@lru_cache
def struct_of(pointers: tuple[str, ...], numbers: tuple[str, ...], dtype: np.dtype, constants: int) -> np.dtype:
    cell = ("cell", dtype, (constants,)) if constants else ("cell", "u1")  # a struct without members has a byte
    return np.dtype([*[(n, "u8") for n in pointers], *[(n, "i8") for n in numbers], cell], align=True)


def in_c_order(a: CudaArray, shape: tuple[int, ...], offset: int) -> CudaArray:
    """A part of a 1-D array."""
    assert offset + prod(shape) <= a.size
    return a.seen_as(shape, c_strides(shape), offset)


def flat(a: CudaArray) -> CudaArray:
    """(T, B, n) in C order as a matrix (T*B, n)."""
    T, B, n = a.shape
    return a.seen_as((T * B, n), (n, 1))


def layer_of(
    device: Launcher,
    plan: Plan,
    x: CudaArray,
    h0: CudaArray,
    weights: Sequence[Weights],
    lengths: CudaArray | None,
    masks: Sequence[CudaArray],
    constants: Sequence[float] | None,
    named: bool = False,
) -> Layer:
    """The layer of these arrays."""
    (T, B, _), (D, _, P), first = x.shape, h0.shape, weights[0]
    of_W, of_R = plan.of_both + plan.of_x, plan.of_both + plan.of_h
    H = first.W.shape[0] // of_W if first.R is None else first.R.shape[0] // of_R
    return Layer(
        device, Sizes(plan, T, B, H, P, D, x.dtype.itemsize), x.dtype,
        tuple(plan.constants if constants is None else constants), lengths,
        [for_kernels(device, plan, H, w, x.dtype) for w in weights],
        [stacked(device, [m[d] for m in masks], 1) for d in range(D)], named,
    )  # fmt: skip


def for_kernels(device: Launcher, plan: Plan, H: int, w: Weights, dtype: np.dtype) -> Weights:
    """The weights with biases of W's rows and of R's rows, and with one array of vectors."""
    W, R, Wp, *U = (a if a is None or matrix(a) else device.contiguous(a) for a in (*w[:3], *w.U))
    of_W, both, of_R = ((plan.of_both + n) * H for n in (plan.of_x, 0, plan.of_h))
    bW, bR = (None if b is None else device.contiguous(b) for b in (w.bW, w.bR))
    if bR is None:
        bR = device.full((of_R,), 0, dtype)
        if bW is not None and plan.of_h:  # a bias of all gates, of which those of only h are the last ones
            copy(device, bR[both:], bW[of_W:])
    bW = device.full((of_W,), 0, dtype) if bW is None else bW[:of_W]
    return Weights(W, R, Wp, bW, bR, tuple(U), stacked(device, w.vectors))


def settled(layer: Layer, d: int) -> Weights:
    """The weights that a loop over time reads. If loops become graphs, these are copies next to each other.

    An optimizer makes new weights at each step, at new addresses. A graph reads the recorded ones, and copies in memory
    that was freed in the same order are at the same addresses again.
    """
    device, w = layer.device, layer.weights[d]
    if not device.recordings.enabled or layer.sizes.T == 1:
        return w
    copied = [None if a is None else device.contiguous(a, always=True) for a in (*w[1:5], w.vectors, *w.U)]
    R, Wp, bW, bR, vectors, *U = copied
    return Weights(w.W, R, Wp, bW, bR, tuple(U), vectors)


def stacked(device: Launcher, arrays: Sequence[CudaArray], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis in C order: a copy if there are several, None if there are none."""
    if not arrays:
        return None
    each = [device.reshape(a, (*a.shape[:axis], 1, *a.shape[axis:])) for a in arrays]
    return each[0] if len(each) == 1 else device.concatenate(each, axis)
