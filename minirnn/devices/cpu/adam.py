"""A step of Adam in NumPy. Formula and settings: `minirnn/optim/adam.py`."""

from __future__ import annotations

import math

import numpy as np

from minirnn.devices.cpu import workspace

BLOCK = 1 << 14
"""Values per block: seven arrays of this size stay in the cache, while whole parameters would pass through memory."""


def adam(
    p: np.ndarray,
    g: np.ndarray,
    m: np.ndarray | None,
    v: np.ndarray | None,
    *,
    step: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The new p, m and v of a parameter p with the gradient g at step number `step`; m and v are None at the first
    step.

    The operations and their order are those of the formula, so the results agree to the last bit.
    """
    shape, dtype = p.shape, p.dtype
    p, g = p.reshape(-1), g.reshape(-1)
    new_p, new_m, new_v = (workspace.empty(p.shape, dtype) for _ in range(3))
    keep1, keep2, new1, new2 = (dtype.type(x) for x in (beta1, beta2, 1 - beta1, 1 - beta2))
    scale, correction = dtype.type(lr / (1 - beta1**step)), dtype.type(1 / math.sqrt(1 - beta2**step))
    small, scratch = dtype.type(eps), np.empty(min(BLOCK, p.size), dtype)
    old_m, old_v = (None if a is None else a.reshape(-1) for a in (m, v))
    for k in range(0, p.size, BLOCK):
        part = slice(k, k + BLOCK)
        gk, mk, vk, pk = g[part], new_m[part], new_v[part], new_p[part]
        t = scratch[: len(gk)]
        np.multiply(gk, new1, mk)
        np.multiply(gk, gk, vk)
        np.multiply(vk, new2, vk)
        if old_m is not None and old_v is not None:
            np.add(np.multiply(old_m[part], keep1, t), mk, mk)
            np.add(np.multiply(old_v[part], keep2, t), vk, vk)
        np.sqrt(vk, t)
        np.multiply(t, correction, t)
        np.add(t, small, t)
        np.multiply(mk, scale, pk)
        np.divide(pk, t, pk)
        np.subtract(p[part], pk, pk)
    return new_p.reshape(shape), new_m.reshape(shape), new_v.reshape(shape)
