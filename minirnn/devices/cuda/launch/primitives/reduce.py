"""Launches of `primitives/reduce.cu` and `primitives/softmax.cu`."""

from __future__ import annotations

from math import prod

import numpy as np

from minirnn.devices.cuda.array import CudaArray, c_strides
from minirnn.devices.cuda.launch.primitives.elementwise import views
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher

# A block for each result is faster when a thread would read many operands, and there are too few results to fill
# the machine with one thread each.
OPERANDS_OF_A_THREAD = 64
RESULTS_THAT_FILL = 8192


def reduce(device: Launcher, name: str, a: CudaArray, axes: tuple[int, ...], result: np.dtype) -> CudaArray:
    """`name` (sum, prod, max, min, argmax, argmin) over `axes`, which are removed.

    There must be at least one operand for each result.
    """
    kept_axes = [d for d in range(a.ndim) if d not in axes]
    shape = tuple(a.shape[d] for d in kept_axes)
    y = device.empty(shape, result)
    results, operands = prod(shape), prod(a.shape[d] for d in axes)
    if not results:
        return y
    remaining = views(shape, c_strides(shape), tuple(a.element_strides[d] for d in kept_axes))
    vanishing = tuple(a.shape[d] for d in axes)
    reduced = views(vanishing, c_strides(vanishing), tuple(a.element_strides[d] for d in axes))
    if name.startswith("arg") or operands <= OPERANDS_OF_A_THREAD or results >= RESULTS_THAT_FILL:
        run = device.kernel_of("primitives/reduce.cu", f"{name}_each", a.dtype)
        run(remaining, reduced, a, y, grid=blocks(results), block=BLOCK)
    else:
        threads = threads_for(operands)
        run = device.kernel_of("primitives/reduce.cu", f"{name}_block", a.dtype)
        run(remaining, reduced, a, y, grid=(results, 1, 1), block=(threads, 1, 1), shared=threads * 8)
    return y


def softmax(device: Launcher, name: str, a: CudaArray) -> CudaArray:
    """`softmax` or `log_softmax` along the last axis of an array in C order."""
    y = device.empty(a.shape, a.dtype)
    if a.size:
        n = a.shape[-1]
        threads = threads_for(n)
        run = device.kernel_of("primitives/softmax.cu", name, a.dtype)
        run(a, y, np.int64(n), grid=(a.size // n, 1, 1), block=(threads, 1, 1), shared=threads * 8)
    return y


def threads_for(operands: int) -> int:
    """The largest power of two that gives each thread at least one operand, and several if there are many."""
    return min(256, 1 << max(0, min(operands, max(32, operands // 4)).bit_length() - 1))
