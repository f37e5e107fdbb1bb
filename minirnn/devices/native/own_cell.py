"""A layer of custom cells, and its gradient, in C++.

Arguments and results: `cell_sequence` and `cell_sequence_grad` of the cpu device. The steps are in `kernels/forward.h`
and `kernels/backward.h`, as for the built-in cells; the cell is a header made of its plan (`devices/cells/header.py`).
They are compiled when a cell is first used with a dtype, and kept in the cache folder.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import DeviceUnavailable, check_saved
from minirnn.devices.cells.header import NAME, header
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.sequence import layer as plain
from minirnn.devices.cpu.sequence.layer import width_of
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library
from minirnn.devices.native.arguments import NOTHING, address, call, matrix, rows, structs
from minirnn.devices.native.ragged import Ragged
from minirnn.terminal import say

Array = np.ndarray

SOURCE = """\
#define LAYER_VALUES {values}
#define LAYER_PRODUCTS {products}
#define LAYER_MASKS {masks}
#ifdef FORWARD
#include "forward.h"
#else
#include "backward.h"
#endif
{header}
#pragma GCC visibility push(default)
extern "C" {{
#ifdef FORWARD
int own_forward(const Layer<{real}> *d, int threads, int watch) {{
    return forward({name}<Vector<{real}>, {real}>{{{constants}}}, *d, threads, watch);
}}
#else
int own_backward(const Layer<{real}> *d, const Gradients<{real}> *g, int threads, int watch) {{
    return backward({name}<Vector<{real}>, {real}>{{{constants}}}, *d, *g, threads, watch);
}}
#endif
}}
"""


class Kernels:
    """The compiled passes of one cell in one dtype, and their arguments."""

    def __init__(self, plan: Plan, dtype: np.dtype) -> None:
        self.plan = plan
        self.rows_of_W, self.rows_of_R = plan.of_both + plan.of_x, plan.of_both + plan.of_h
        self.gates = plan.of_both + plan.of_x + plan.of_h
        # The values of `Layer`: those that the cell saves, inner states that its gradient reads, no zoned h, and
        # operands of products.
        reads = plan.reads_before | plan.reads_after
        there = [True] * plan.saved + [bool(reads >> k & 1) for k in range(plan.states - 1)] + [False]
        there += [True] * len(plan.cuts)
        self.slots = [sum(there[:k]) if found else None for k, found in enumerate(there)]
        self.kept = sum(there)
        self.Layer, self.Gradients = structs(len(there), plan.products, plan.masks)
        text = SOURCE.format(
            values=len(there), products=plan.products, masks=plan.masks, header=header(plan), name=NAME,
            real="float" if dtype == np.float32 else "double",
            constants=", ".join(f"d->constants[{k}]" for k in range(len(plan.constants))),
        )  # fmt: skip
        loaded = load(plan.name, text)
        self.forward, self.backward = loaded.own_forward, loaded.own_backward
        self.forward.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
        self.backward.argtypes = [ctypes.c_char_p, *self.forward.argtypes]

    def values(self, saved: Array | None) -> Sequence[int]:
        """The addresses of the values of a direction in its part (T, B, kept, H) of the saved values."""
        if saved is None:
            return NOTHING * len(self.slots)
        start, (_, _, _, H) = address(saved), saved.shape
        found: list[int] = []
        for slot in self.slots:
            found += NOTHING if slot is None else (start + slot * H * saved.itemsize, self.kept * H)
        return found


def load(name: str, text: str) -> ctypes.CDLL:
    """The library of a cell, compiled unless the cache has it. A line is printed, because this takes seconds."""
    used = compiler.find("native")

    def announce() -> None:
        say(f"minirnn: compiling the cell {name} for the device native, once")

    path = library.of_one_cell(used, text, announce)
    try:
        return ctypes.CDLL(str(path))
    except OSError:  # damaged since it was written
        path.unlink(missing_ok=True)
        return ctypes.CDLL(str(library.of_one_cell(used, text, announce)))


@lru_cache(maxsize=256)
def kernels_of(plan: Plan, dtype: np.dtype, more_flags: str) -> Kernels | None:
    """The compiled passes of a cell; None, with one printed line, if they cannot be compiled.

    `more_flags` is what ``MINIRNN_NATIVE_FLAGS`` holds.
    """
    try:
        return Kernels(plan, dtype)
    except (DeviceUnavailable, CompileError, OSError) as error:
        reason = library.first_error(str(error))
        print(
            f"minirnn: the cell {plan.name} runs with the code of the device cpu: {reason}", file=sys.stderr, flush=True
        )
        return None


def kernels(plan: Plan, dtype: np.dtype) -> Kernels | None:
    """`kernels_of`, with the flags of the first call for this plan."""
    if dtype not in plan.made:
        plan.made[dtype] = kernels_of(plan, dtype, os.environ.get("MINIRNN_NATIVE_FLAGS", ""))
    found: Kernels | None = plan.made[dtype]
    return found


def cell_sequence(
    device: Any,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
    *,
    plan: Plan,
    lengths: Array | None,
    training: bool,
    masks: Sequence[Array] = (),
    constants: Sequence[float] | None = None,
) -> tuple[Array, Array, Array | None, Any]:
    """Run one layer over a whole sequence: y (T, B, D*P), h_n (D, B, P), c_n (D, STATES-1, B, H) or None, and saved.

    `saved` has the values of each step that the gradient reads, (D, T, B, kept, H); None if there are none or not
    training.
    """
    of = kernels(plan, x.dtype)
    if of is None:
        options: Any = {"plan": plan, "lengths": lengths, "training": training, "masks": masks}
        options["constants"] = constants
        return plain.cell_sequence(x, h0, c0, weights, **options)
    T, B, _ = x.shape
    D, _, P = h0.shape
    layer = OneLayer(of, lengths, x, h0, c0, weights, masks, constants)
    saved = workspace.empty((D, T, B, of.kept, layer.H), x.dtype) if training and of.kept else None
    y = workspace.empty((T, B, D * P), x.dtype)
    h_n, c_n = np.empty_like(layer.h0), None if c0 is None else np.empty_like(layer.c0)
    for k in range(D):
        call(of.forward, layer.direction(k, saved, y, h_n, c_n), work=layer.work)
    ragged = layer.ragged
    return (
        ragged.unsorted(y),
        ragged.unsorted_states(h_n),
        ragged.unsorted_states(c_n),
        None if saved is None else saved.reshape(-1),
    )


def cell_sequence_grad(
    device: Any,
    x: Array,
    h0: Array,
    c0: Array | None,
    weights: Sequence[tuple[Any, ...]],
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
    constants: Sequence[float] | None = None,
) -> tuple[Array | None, Array, Array | None, list[tuple[Any, ...]]]:
    """The gradients of `cell_sequence`: dx, dh0, dc0 and those of the weights."""
    of = kernels(plan, x.dtype)
    if of is None:
        options: Any = {"plan": plan, "lengths": lengths, "need_dx": need_dx, "masks": masks}
        options["constants"] = constants
        dx, dh0, dc0, found = plain.cell_sequence_grad(x, h0, c0, weights, saved, y, dy, dh_n, dc_n, **options)
        return dx, dh0, dc0, [*found]
    (T, B, _), (D, _, P) = x.shape, h0.shape
    layer = OneLayer(of, lengths, x, h0, c0, weights, masks, constants)
    ragged, H, dtype = layer.ragged, layer.H, x.dtype
    check_saved(saved, (D, T, B, of.kept, H))
    saved = None if saved is None else saved.reshape(D, T, B, of.kept, H)
    y, dy = ragged.sorted(y), ragged.sorted(dy)
    dh_n, dc_n = ragged.states(dh_n), ragged.states(dc_n)
    dx = workspace.empty(layer.x.shape, dtype) if need_dx and plan.reads_x else None
    dh0, dc0 = np.empty_like(layer.h0), None if c0 is None else np.empty_like(layer.c0)
    da = workspace.empty((T, B, (of.gates + len(plan.cuts)) * H), dtype)
    dweights: list[tuple[Any, ...]] = []
    for k in range(D):
        dW, dR, dWp, dbW, dbR = [None if w is None else workspace.empty(w.shape, dtype) for w in weights[k][:5]]
        sums = layer.no_bias if dbW is None else dbW  # a kernel always sets them
        dU = tuple([workspace.empty((H, H), dtype) for _ in range(plan.products)]) if plan.products else ()
        dvectors = np.empty((plan.vectors, H), dtype) if plan.vectors else None
        g = of.Gradients(
            *rows(dy, k * P), *NOTHING, *rows(dh_n[k]), *inner(dc_n, k), *rows(da), *rows(dh0[k]), *inner(dc0, k),
            *rows(dx), k > 0, 0, address(dW), address(dR), address(dWp), address(sums), address(dbR),
            address(dvectors),
            *map(address, dU),
        )  # fmt: skip
        call(of.backward, layer.direction(k, saved, y), g, work=2 * layer.work)
        dweights.append((dW, dR, dWp, dbW, dbR, dU, () if dvectors is None else tuple(dvectors)))
    if need_dx and dx is None:
        return np.zeros(x.shape, dtype), ragged.unsorted_states(dh0), ragged.unsorted_states(dc0), dweights
    return ragged.unsorted(dx), ragged.unsorted_states(dh0), ragged.unsorted_states(dc0), dweights


NO_COPIES: list[Array] = []


class OneLayer:
    """The arrays of a layer in the order of falling lengths."""

    def __init__(
        self,
        of: Kernels,
        lengths: Array | None,
        x: Array,
        h0: Array,
        c0: Array | None,
        weights: Sequence[tuple[Any, ...]],
        masks: Sequence[Array],
        constants: Sequence[float] | None,
    ) -> None:
        self.of, self.weights, self.copies = of, weights, NO_COPIES
        (T, B, I), P = x.shape, h0.shape[2]
        self.H = H = width_of(of.plan, weights[0])
        self.sizes = T, B, I, H, P
        self.work = T * B * H * (of.rows_of_W * I + of.rows_of_R * P + of.plan.products * H)
        self.ragged = ragged = Ragged(lengths, T, B)
        self.x, self.h0, self.c0 = ragged.sorted(x), ragged.states(h0), ragged.states(c0)
        self.masks = [ragged.states(z) for z in masks] if masks else ()
        given = of.plan.constants if constants is None else constants
        self.constants = np.array(given, x.dtype) if given else None
        self.no_bias = None if weights[0][3] is not None else np.zeros(of.gates * H, x.dtype)
        self.vectors: Any = [np.concatenate(parts[6]) for parts in weights] if of.plan.vectors else NOTHING

    def direction(
        self, k: int, saved: Array | None, y: Array, h_n: Array | None = None, c_n: Array | None = None
    ) -> bytes:
        """Direction k, as the kernels read it."""
        W, R, Wp, bW, bR, U, _ = self.weights[k]
        bW, bR = self.contiguous(bW), self.contiguous(bR)
        vectors = address(self.vectors[k]) if self.vectors is not NOTHING else 0
        return self.of.Layer(
            *self.sizes, k == 1, self.ragged.address, *matrix(W), *matrix(R), *matrix(Wp),
            address(self.no_bias if bW is None else bW), address(bR), vectors, address(self.constants), np.inf,
            *rows(self.x), *rows(self.h0[k]), *inner(self.c0, k),
            *self.of.values(None if saved is None else saved[k]), *rows(y, k * self.sizes[4]),
            *(NOTHING if h_n is None else rows(h_n[k])), *inner(c_n, k), *NOTHING, *NOTHING,
            *self.others(k, U),
        )  # fmt: skip

    def contiguous(self, b: Array | None) -> Array | None:
        """A bias, or a copy that lives as long as this layer."""
        if b is None or b.flags.c_contiguous:
            return b
        self.copies = [*self.copies, np.ascontiguousarray(b)]
        return self.copies[-1]

    def others(self, k: int, U: Sequence[Array]) -> Sequence[int]:
        """The matrices of products, and the masks."""
        if not (U or self.masks):
            return ()
        return [*(n for u in U for n in matrix(u)), 0, 0, 0, *(n for z in self.masks for n in rows(z[k]))]


def inner(states: Array | None, k: int) -> tuple[int, int]:
    """The rows of direction k of the states but h, (D, STATES-1, B, H)."""
    return NOTHING if states is None else rows(states[k])
