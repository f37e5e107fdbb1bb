"""Launches of `losses.cu`. Formulas: `minirnn/ops/losses.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.primitives.reduce import threads_for
from minirnn.devices.cuda.launcher import Launcher

Arrays = tuple[CudaArray, ...]


def cross_entropy(device: Launcher, x: CudaArray, *, target: np.ndarray) -> Arrays:
    """The losses (...) of the scores x (..., V), where the right classes are target (...)."""
    x, y = device.contiguous(x), device.empty(target.shape, x.dtype)
    _launch(device, "cross_entropy", x, device.asarray(target), y)
    return (y,)


def cross_entropy_grad(device: Launcher, x: CudaArray, dy: CudaArray, *, target: np.ndarray) -> Arrays:
    """The gradient of the scores x, from the gradient dy (...) of the losses."""
    x, dy, dx = device.contiguous(x), device.contiguous(dy), device.empty(x.shape, x.dtype)
    _launch(device, "cross_entropy_grad", x, dy, device.asarray(target), dx)
    return (dx,)


def _launch(device: Launcher, kernel: str, x: CudaArray, *more: Any) -> None:
    if x.size:
        V = x.shape[-1]
        threads = threads_for(V)
        run = device.kernel_of("losses.cu", kernel, x.dtype)
        run(x, *more, np.int64(V), grid=(x.size // V, 1, 1), block=(threads, 1, 1), shared=threads * 8)
