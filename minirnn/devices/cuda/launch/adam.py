"""The launch of `adam.cu`. Formula and settings: `minirnn/optim/adam.py`."""

from __future__ import annotations

import math

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.sources import accumulator
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher


def adam(
    device: Launcher,
    p: CudaArray,
    g: CudaArray,
    m: CudaArray | None,
    v: CudaArray | None,
    *,
    step: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> tuple[CudaArray, CudaArray, CudaArray]:
    """The new p, m and v of a parameter p with the gradient g at step number `step`; m and v are None at the first."""
    p_new, m_new, v_new = (device.empty(p.shape, p.dtype) for _ in range(3))
    if p.size:
        p, g = device.contiguous(p), device.contiguous(g)
        before = [None if a is None else device.contiguous(a) for a in (m, v)]
        scale, correction = lr / (1 - beta1**step), 1 / math.sqrt(1 - beta2**step)
        numbers = map(accumulator(p.dtype).type, (beta1, beta2, 1 - beta1, 1 - beta2, scale, correction, eps))
        run = device.kernel_of("adam.cu", "adam", p.dtype)
        run(np.int64(p.size), p, g, *before, p_new, m_new, v_new, *numbers, grid=blocks(p.size), block=BLOCK)
    return p_new, m_new, v_new
