"""The kernels `keyed_sequence` and `keyed_sequence_grad`: a layer of a cell with keys, one block for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.cells import keyed_layer
from minirnn.devices.cells.keyed_layer import KeyedLayerOf
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.threads import THREADS
from minirnn.devices.cuda.launcher import Launcher

AT_ONCE = 8
"""Sums of a block that one tree computes (`kernels/sequence/keyed.cuh`)."""


class Memory:
    """The memory of the device."""

    def __init__(self, device: Launcher) -> None:
        self.device = device
        self.new = device.empty

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> CudaArray:
        found: CudaArray = self.device.full(shape, 0, dtype)
        return found

    def contiguous(self, a: CudaArray, swapped: bool) -> CudaArray:
        if swapped:
            a = self.device.transpose(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
        found: CudaArray = self.device.contiguous(a)
        return found

    def address(self, a: CudaArray) -> int:
        return a.ptr

    def lengths(self, lengths: np.ndarray) -> CudaArray:
        found: CudaArray = self.device.asarray(lengths)
        return found

    def total(self, a: CudaArray) -> CudaArray:
        found: CudaArray = self.device.sum(a, (0,), False)
        return found

    def run(self, name: str, plan: KeyedPlan, dtype: np.dtype, struct: Any) -> None:
        kernel = "keyed_sequence" if name == "forward" else "keyed_sequence_grad"
        threads = min(THREADS, 1 << int(struct["H"]).bit_length() - 1)  # a power of 2, for sums of a block
        run = self.device.kernel_of("sequence/keyed.cu", kernel, dtype, (), plan)
        shared = threads * AT_ONCE * dtype.itemsize
        run(struct[()], grid=(int(struct["B"]), 1, 1), block=(threads, 1, 1), shared=shared)


def keyed_sequence(
    device: Launcher,
    gates: CudaArray,
    states: Sequence[CudaArray],
    learned: Sequence[CudaArray],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: np.ndarray | None,
    training: bool,
) -> tuple[CudaArray, list[CudaArray], Any]:
    """Run one layer over a whole sequence. Arguments: `minirnn.devices.base.KERNELS`."""
    return keyed_layer.forward(KeyedLayerOf(Memory(device), plan, H, gates, states, learned, lengths), training)


def keyed_sequence_grad(
    device: Launcher,
    gates: CudaArray,
    states: Sequence[CudaArray],
    learned: Sequence[CudaArray],
    saved: Any,
    dy: CudaArray,
    d_after: Sequence[CudaArray],
    *,
    plan: KeyedPlan,
    H: int,
    lengths: np.ndarray | None,
) -> tuple[CudaArray, list[CudaArray], list[CudaArray]]:
    """The gradients of `keyed_sequence`."""
    layer = KeyedLayerOf(Memory(device), plan, H, gates, states, learned, lengths)
    return keyed_layer.backward(layer, saved, dy, d_after)
