"""A layer of a cell with keys in C++ (`kernels/keyed.h`). If it cannot be compiled, the code of the device cpu runs."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.cells import keyed_layer
from minirnn.devices.cells.header import NAME
from minirnn.devices.cells.keyed import keyed_header
from minirnn.devices.cells.keyed_layer import KeyedLayerOf
from minirnn.devices.cpu import keyed as plain
from minirnn.devices.cpu import workspace
from minirnn.devices.native.arguments import call, start
from minirnn.devices.native.sequence.compiled import kernels, load_text

Array = np.ndarray

SOURCE = """\
#include "keyed.h"
{header}
using Real = {real};
using Cell = {name}<Vector<Real>, Real>;
#pragma GCC visibility push(default)
extern "C" {{
#if defined FORWARD
int keyed_pass(const KeyedLayer<Real, Cell> *d, int threads, int watch) {{
    return keyed(*d, keyed_forward<Cell, Real>, threads, watch);
}}
#else
int keyed_pass_back(const KeyedLayer<Real, Cell> *d, int threads, int watch) {{
    return keyed(*d, keyed_backward<Cell, Real>, threads, watch);
}}
#endif
}}
"""


class KeyedKernels:
    """The passes of one cell in one dtype."""

    def __init__(self, plan: KeyedPlan, dtype: np.dtype) -> None:
        real = "float" if dtype == np.float32 else "double"
        text = SOURCE.format(header=keyed_header(plan).text, real=real, name=NAME)
        loaded = load_text(plan.name, text, ("forward", "backward"))
        self.passes = {"forward": loaded.keyed_pass, "backward": loaded.keyed_pass_back}
        for function in self.passes.values():
            function.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]


class Memory:
    """NumPy's arrays."""

    def __init__(self, of: KeyedKernels) -> None:
        self.of = of

    def new(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        return workspace.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        return np.zeros(shape, dtype)

    def contiguous(self, a: Any, swapped: bool) -> Array:
        a = np.asarray(a)
        return np.ascontiguousarray(a.swapaxes(-1, -2)) if swapped else a if a.flags.c_contiguous else a.copy()

    def address(self, a: Array) -> int:
        return start(a)

    def lengths(self, lengths: Array) -> Array:
        return np.ascontiguousarray(lengths)

    def total(self, a: Array) -> Array:
        return np.asarray(a.sum(0))

    def run(self, name: str, plan: KeyedPlan, dtype: np.dtype, struct: Array) -> None:
        work = float(struct["T"] * struct["B"] * struct["H"] * plan.keys)
        call(self.of.passes[name], struct.tobytes(), work=8 * work)


def keyed_sequence(
    gates: Array,
    states: Sequence[Array],
    learned: Sequence[Array],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: Array | None,
    training: bool,
) -> tuple[Array, list[Array], Any]:
    """Run one layer over a whole sequence. Arguments: `minirnn.devices.base.KERNELS`."""
    of = kernels(KeyedKernels, plan, gates.dtype)
    if of is None:
        return plain.keyed_sequence(gates, states, learned, plan=plan, H=H, lengths=lengths, training=training)
    return keyed_layer.forward(KeyedLayerOf(Memory(of), plan, H, gates, states, learned, lengths), training)


def keyed_sequence_grad(
    gates: Array,
    states: Sequence[Array],
    learned: Sequence[Array],
    saved: Any,
    dy: Array,
    d_after: Sequence[Array],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: Array | None,
) -> tuple[Array, list[Array], list[Array]]:
    """The gradients of `keyed_sequence`."""
    of = kernels(KeyedKernels, plan, gates.dtype)
    if of is None:
        return plain.keyed_sequence_grad(gates, states, learned, saved, dy, d_after, plan=plan, H=H, lengths=lengths)
    layer = KeyedLayerOf(Memory(of), plan, H, gates, states, learned, lengths)
    return keyed_layer.backward(layer, saved, dy, d_after)
