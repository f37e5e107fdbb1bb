"""The rungs of one launch: all steps of a layer in one kernel, whose blocks wait for each other.

All their blocks must be on the device at the same time. The driver is asked before the launch, and the launch is
cooperative: the driver starts all blocks or none, even if another process or another library's kernel uses a part of
the GPU. Blocks of `barrier` meet between two steps, those of `persistent` send each other messages.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minirnn.devices import precision
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Kernel, RefusedLaunch
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.launch.sequence.arrays import Layer, stacked
from minirnn.devices.cuda.launch.sequence.choice import Choice, choose
from minirnn.devices.cuda.launch.sequence.layout import BackwardLayout, BarrierLayout, ForwardLayout
from minirnn.devices.cuda.launch.sequence.sums import StepGradients, input_part
from minirnn.devices.cuda.uncompiled import NOT_STARTED

WINDOWS = sys.platform == "win32" or "microsoft" in platform.release()  # which WSL has in its release
PATIENCE = 1 << (21 if WINDOWS else 23)
"""Polls of a message that does not arrive, on a GPU: several seconds. Windows ends the context after two."""
PATIENCE_SIMULATED = 5000
"""The same in the simulator, where a waiting thread polls once per round of all blocks."""
EMPTY = 0xFF
"""Each byte of memory for messages before a launch (`grid.cuh`)."""
SLOTS = 2
"""The slots of h in `barrier.cu`, and those of a share of a backward pass in `persistent_grad.cu`, used in turn."""


@dataclass
class Ready:
    """A kernel of one launch for a layer, with its layout. Its blocks fit on the device."""

    layer: Layer
    rung: str
    layout: ForwardLayout | BackwardLayout | BarrierLayout
    kernel: Kernel
    key: Hashable
    """What identifies the kernel among those that were refused."""

    def launch(
        self, arrays: tuple[CudaArray | None, ...], messages: tuple[CudaArray, ...], own: tuple[CudaArray | None, ...]
    ) -> bool:
        """Run the kernel on these arrays, on memory for messages, and on the arrays of `struct Own`.

        Returns False if the driver refuses to start all blocks at once, which it may do for a program that has only a
        part of the GPU (MPS, green contexts). The layer then takes the lowest rung from now on.
        `minirnn/devices/cuda/missed.py` detects later whether a block gave up waiting for a message.
        """
        layer, layout, driver, sizes = self.layer, self.layout, self.layer.device.driver, self.layer.sizes
        pointers = "vectors", "masks", "dc_each", "d_vectors"  # of kernels/sequence/direction.cuh
        struct: np.void = np.zeros(1, layer.struct(pointers))[0]
        for name, a in zip(pointers, own, strict=True):
            struct[name] = 0 if a is None else a.ptr
        if layer.constants:
            struct["cell"] = layer.constants
        run = partial(
            self.kernel, *map(np.int32, (sizes.T, sizes.B, sizes.H, *layout.numbers)), layer.lengths, *arrays,
            grid=(layout.blocks, sizes.D), block=layout.threads, shared=layout.shared, cooperative=True,
        )  # fmt: skip
        polls = PATIENCE_SIMULATED if driver.limits.simulated else PATIENCE
        what = f"{layer.plan.name}: {self.kernel.name} of {layout.blocks} blocks, {sizes.D} directions"
        missed = layer.device.missed.word_of(what)
        byte = 0 if self.rung == "barrier" else EMPTY
        for array in messages:
            driver.memset(array.ptr, byte, array.nbytes)
        try:
            run(*messages, np.uint32(polls), missed, struct)
        except RefusedLaunch as error:
            layer.device.uncompiled.refuse(self.key, self.rung, NOT_STARTED, str(error))
            return False
        layer.device.missed.launched()
        return True

    def meeting(self) -> CudaArray:
        """The counter and the flag of each direction's barrier: (D, 2)."""
        return self.layer.device.empty((self.layer.sizes.D, 2), np.uint32)


def chosen(layer: Layer, backward: bool) -> Choice:
    """The rung for one pass of a layer."""
    device = layer.device
    return choose(layer.sizes, device.driver.limits, backward, device.cudnn_rnn_rung, precision.chosen.precision)


def ready(layer: Layer, backward: bool) -> Ready | None:
    """The kernel for the chosen rung; None if that has no layout, if it does not compile, or if its blocks do not
    fit.
    """
    device, choice = layer.device, chosen(layer, backward)
    layout, rung = choice.layout, choice.rung
    if layout is None:
        return None
    suffix = "_grad" if backward else ""
    file = "barrier.cu" if rung == "barrier" else f"persistent{suffix}.cu"
    constants = tuple(f"-D{key}={n}" for key, n in layout.constants.items())
    key = file, layer.named, layer.plan.fingerprint, layer.dtype, constants
    kernel = device.uncompiled.unless_refused(key, rung, lambda: layer.kernel(file, f"cell_{rung}{suffix}", constants))
    if kernel is None or kernel.max_resident_blocks(layout.threads, layout.shared) < layout.blocks * layer.sizes.D:
        return None
    return Ready(layer, rung, layout, kernel, key)


def forward(
    ready: Ready, x: CudaArray, h0: CudaArray, c: CudaArray | None, values: CudaArray | None, y: CudaArray
) -> CudaArray | None:
    """Fill y and `values`; c (D, INNER, B, H) goes from first state to last. Returns h_n (D, B, H), or None if the
    launch was refused.
    """
    layer, device, sizes, dtype = ready.layer, ready.layer.device, ready.layer.sizes, x.dtype
    D, T, B, H = sizes.D, sizes.T, sizes.B, sizes.H
    A = device.empty((D, T, B, sizes.rows_of_W * H), dtype)
    for d in range(D):
        input_part(layer, d, x, A[d])
    biases = device.concatenate([b for w in layer.weights for b in (w.bW, w.bR)], 0)
    inputs, own = (A, joined(layer, "R"), biases), (joined(layer, "vectors"), joined(layer, "masks"), None, None)
    if ready.rung == "barrier":
        h = device.empty((SLOTS, *h0.shape), dtype)
        copy(device, h[0], h0)
        return h[T % SLOTS] if ready.launch((*inputs, h, c, values, y), (ready.meeting(),), own) else None
    h_n = device.empty(h0.shape, dtype)
    states = device.empty((D, max(T - 1, 1), B, H), dtype)  # between steps
    return h_n if ready.launch((*inputs, device.contiguous(h0), h_n, c, values, y), (states,), own) else None


def backward(
    ready: Ready, values: CudaArray | None, y: CudaArray, dy: CudaArray, dh: CudaArray, dc: CudaArray | None,
    dc_each: CudaArray | None,
) -> list[StepGradients] | None:  # fmt: skip
    """The results of `steps.backward` for all directions, or None if the launch was refused; dh and dc go from last
    state to first.
    """
    layer, device, sizes, dtype = ready.layer, ready.layer.device, ready.layer.sizes, dh.dtype
    T, B, H, D, count = sizes.T, sizes.B, sizes.H, sizes.D, layer.plan.vectors
    da = device.empty((D, T, B, sizes.columns * H), dtype)
    d_vectors = device.empty((D, T, count, B, H), dtype) if count else None
    own = joined(layer, "vectors"), joined(layer, "masks"), dc_each, d_vectors
    arrays = joined(layer, "R"), values, y, dy, dh, dc
    if isinstance(ready.layout, BackwardLayout):
        shares = device.empty((D, SLOTS, ready.layout.slices, B, H), dtype)
        done = ready.launch(arrays, (da, shares), own)
    else:
        done = ready.launch((*arrays, da), (ready.meeting(),), own)
    if not done:
        return None
    return [StepGradients(da[d], vectors=None if d_vectors is None else d_vectors[d]) for d in range(D)]


def joined(layer: Layer, name: str) -> Any:
    """R, the vectors or the masks of all directions in one array, (D, ...) in C order; None if there are none."""
    arrays = layer.masks if name == "masks" else [getattr(w, name) for w in layer.weights]
    return stacked(layer.device, [a for a in arrays if a is not None])
