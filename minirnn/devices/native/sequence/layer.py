"""A layer of any cell and its gradient in C++. The steps are in `kernels/forward.h` and `kernels/backward.h`.

The kernels get samples in the order of falling lengths. If a cell cannot be compiled, the code of the device cpu runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights, check_saved
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence import layer as plain
from minirnn.devices.cpu.sequence.layer import like, width_of
from minirnn.devices.native.arguments import NO_MATRIX, NOTHING, address, call, matrix, rows, start
from minirnn.devices.native.sequence.compiled import LayerKernels, SavedRows, kernels
from minirnn.devices.native.sequence.ragged import Ragged

Array = np.ndarray


def cell_sequence(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    *,
    plan: Plan,
    lengths: Array | None,
    training: bool,
    masks: Sequence[Array] = (),
    zoneout: Array | None = None,
    constants: Sequence[float] | None = None,
    named: bool = False,
) -> tuple[Array, Array, Array | None, Any]:
    """Run one layer of a cell over a whole sequence: y, h_n, c_n, saved. Arguments: `minirnn.devices.base.KERNELS`.

    `saved` has the values of each step side by side, (D, T, B, saved, H).
    """
    of = kernels(LayerKernels, plan, x.dtype)
    if of is None:
        return plain.cell_sequence(
            x, h0, c0, weights, plan=plan, lengths=lengths, training=training, masks=masks, zoneout=zoneout,
            constants=constants, named=named,
        )  # fmt: skip
    T, B, _ = x.shape
    D, _, P = h0.shape
    layer = OneLayer(of, lengths, x, h0, c0, weights, masks, zoneout, constants)
    saved_rows = of.rows_by_name if named else of.saved_rows
    saved = workspace.empty((D, T, B, saved_rows.size, layer.H), x.dtype) if training and saved_rows.size else None
    y = workspace.empty((T, B, D * P), x.dtype)
    h_n, c_n = np.empty_like(layer.h0), None if c0 is None else np.empty_like(layer.c0)
    for k in range(D):
        values = layer.values(saved_rows, None if saved is None else saved[k])
        call(of.forward, layer.direction(k, values, y, h_n, c_n), work=layer.work)
    ragged = layer.ragged
    kept_values: Any = None if saved is None else saved.reshape(-1)
    if named:
        kept_values = {} if saved is None else layer.by_name(saved, c_n)
    return ragged.unsorted(y), ragged.unsorted_states(h_n), ragged.unsorted_states(c_n), kept_values


def cell_sequence_grad(
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[Weights],
    saved: Any,
    y: Array,
    dy: Array,
    dh_n: Array,
    dc_n: Array | None,
    *,
    plan: Plan,
    lengths: Array | None,
    need_dx: bool = True,
    masks: Sequence[Array] = (),
    zoneout: Array | None = None,
    constants: Sequence[float] | None = None,
    dc_each: Array | None = None,
) -> tuple[Array | None, Array, Array | None, list[Weights]]:
    """The gradients of `cell_sequence`, by backpropagation through time: dx, dh0, dc0, dweights."""
    of, named = kernels(LayerKernels, plan, x.dtype), isinstance(saved, dict)
    if of is None or (named and plan.cuts):  # values by name have no operands of products
        return plain.cell_sequence_grad(
            x, h0, c0, weights, saved, y, dy, dh_n, dc_n, plan=plan, lengths=lengths, need_dx=need_dx, masks=masks,
            zoneout=zoneout, constants=constants, dc_each=dc_each,
        )  # fmt: skip
    (T, B, _), (D, _, P) = x.shape, h0.shape
    layer = OneLayer(of, lengths, x, h0, c0, weights, masks, zoneout, constants)
    ragged, H, dtype = layer.ragged, layer.H, x.dtype
    if not named:
        check_saved(saved, (D, T, B, of.saved_rows.size, H))
        saved = None if saved is None else saved.reshape(D, T, B, of.saved_rows.size, H)
    y, dy = ragged.sorted(y), ragged.sorted(dy)
    dh_n, dc_n = ragged.states(dh_n), ragged.states(dc_n)
    each = NO_ARRAYS if dc_each is None else [ragged.sorted(one) for one in dc_each]
    dx = workspace.empty(layer.x.shape, dtype) if need_dx and plan.reads_x else None
    dh0, dc0 = np.empty_like(layer.h0), None if c0 is None else np.empty_like(layer.c0)
    da = workspace.empty((T, B, (of.gates + len(plan.cuts)) * H), dtype)
    dweights: list[Weights] = []
    for k, w in enumerate(weights):
        dw, dvectors = Weights(*[None if a is None else like(a) for a in w[:5]]), None
        if w.U or w.vectors:
            dvectors = np.empty((plan.vectors, H), dtype)
            dw = dw._replace(U=[workspace.empty((H, H), dtype) for _ in w.U], vectors=tuple(dvectors))
        own = None if saved is None or named else saved[k]
        values = layer.values_by_name(saved, k) if named else layer.values(of.saved_rows, own)
        g = of.Gradients(
            *rows(dy, k * P), *(rows(each[k]) if each else NOTHING), *part(dh_n, k), *part(dc_n, k), *rows(da),
            *part(dh0, k), *part(dc0, k), *rows(dx), k > 0, *matrix(dw.W), *matrix(dw.R),
            address(dw.Wp), address(dw.bW), address(dw.bR), address(dvectors), *map(address, dw.U),
        )  # fmt: skip
        call(of.backward, layer.direction(k, values, y), g, work=2 * layer.work)
        dweights.append(dw)
    dx = np.zeros(x.shape, dtype) if need_dx and dx is None else ragged.unsorted(dx)
    return dx, ragged.unsorted_states(dh0), ragged.unsorted_states(dc0), dweights


NO_ARRAYS: list[Array] = []


class OneLayer:
    """The arrays of a layer in the order of falling lengths."""

    def __init__(
        self,
        of: LayerKernels,
        lengths: Array | None,
        x: Array,
        h0: Array,
        c0: Array | None,
        weights: Sequence[Weights],
        masks: Sequence[Array],
        zoneout: Array | None,
        constants: Sequence[float] | None,
    ) -> None:
        self.of, self.weights, self.copies = of, weights, NO_ARRAYS
        (T, B, I), P = x.shape, h0.shape[2]
        self.H = H = width_of(of.plan, weights[0])
        self.sizes = T, B, I, H, P
        self.work = T * B * H * (of.rows_of_W * I + of.rows_of_R * P + of.plan.products * H)
        self.ragged = ragged = Ragged(lengths, T, B)
        self.x, self.h0, self.c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
        self.masks = [ragged.states(z) for z in masks] if masks else ()
        self.zoneout = ragged.states(zoneout)
        given = of.plan.constants if constants is None else constants
        self.constants = np.array(given, x.dtype) if given else None
        self.vectors = [np.concatenate(w.vectors) for w in weights] if of.plan.vectors else NO_ARRAYS

    def direction(
        self, k: int, values: Sequence[int], y: Array, h_n: Array | None = None, c_n: Array | None = None
    ) -> bytes:
        """Direction k, as the kernels read it: backward, without the last states and the biases."""
        w = self.weights[k]
        biases = NOTHING if h_n is None else (address(self.contiguous(w.bW)), address(self.contiguous(w.bR)))
        return self.of.Layer(
            *self.sizes, k == 1, self.ragged.address, *matrix(w.W), *matrix(w.R), *matrix(w.Wp), *biases,
            address(self.vectors[k]) if self.vectors else 0, address(self.constants),
            *rows(self.x), *part(self.h0, k), *part(self.c0, k), *values, *NOTHING,
            *rows(y, k * self.sizes[4]), *part(h_n, k), *part(c_n, k), *part(self.zoneout, k), *self.others(k, w),
        )  # fmt: skip

    def values(self, saved_rows: SavedRows, saved: Array | None) -> Sequence[int]:
        """The rows of the values of a direction in its part (T, B, saved, H) of the saved values."""
        if saved is None:
            return NOTHING * len(saved_rows.slots)
        start, step = address(saved), self.H * saved.itemsize
        found: list[int] = []
        for slot in saved_rows.slots:
            found += NOTHING if slot is None else (start + slot * step, saved_rows.size * self.H)
        return found

    def by_name(self, saved: Array, c_n: Array | None) -> dict[str, Array]:
        """Each value and inner state after each step, (D, T, B, H): views, unless samples have unequal lengths."""
        slots = self.of.rows_by_name.slots
        found = {name: saved[..., slot, :] for name, slot in zip(self.of.names, slots, strict=False)}
        if self.ragged.order is None:
            return found
        held: dict[str, Any] = dict.fromkeys(found, 0)
        if c_n is not None and self.c0 is not None:  # a reverse direction comes to the padding first
            D, (_, B, _, H, _) = len(saved), self.sizes
            last, first = (a.reshape(D, -1, B, H) for a in (c_n, self.c0))
            ends = np.concatenate([last[:1], first[1:]]).swapaxes(0, 1)
            held |= dict(zip(self.of.names[-len(ends) :], ends[:, :, None], strict=True))
        return {name: self.ragged.unsorted_values(a, held[name]) for name, a in found.items()}

    def values_by_name(self, saved: Mapping[str, Array], k: int) -> Sequence[int]:
        """The same for values by name, (D, T, B, H) each."""
        found: list[int] = []
        _, B, _, H, _ = self.sizes
        for name in self.of.names:
            a = saved[name]
            of_direction, of_step, of_row, of_unit = a.strides
            if self.ragged.order is None and of_unit == a.itemsize and of_step == B * of_row >= B * H * of_unit:
                found += start(a) + k * of_direction, of_row // of_unit  # as `by_name` returns it
                continue
            a = self.ragged.sorted(a[k])
            self.copies = [*self.copies, a]
            found += rows(a)
        return found

    def contiguous(self, b: Array | None) -> Array | None:
        """A bias, or a copy that lives as long as this layer."""
        if b is None or b.flags.c_contiguous:
            return b
        self.copies = [*self.copies, np.ascontiguousarray(b)]
        return self.copies[-1]

    def others(self, k: int, w: Weights) -> Sequence[int]:
        """The matrices of products, and the masks."""
        if not (w.U or self.masks):
            return ()
        return [*(n for U in w.U for n in matrix(U)), *NO_MATRIX, *(n for z in self.masks for n in rows(z[k]))]


def part(a: Array | None, k: int) -> tuple[int, int]:
    """The rows of direction k of a contiguous array (D, .., width)."""
    if a is None:
        return NOTHING
    return address(a) + k * a.strides[0], a.shape[-1]
