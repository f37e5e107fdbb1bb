"""The cross-entropy of class scores and its gradient in NumPy. Formulas: `minirnn/ops/losses.py`."""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu import workspace

Arrays = tuple[np.ndarray, ...]


def cross_entropy(x: np.ndarray, *, target: np.ndarray) -> Arrays:
    """The losses (...) of the scores x (..., V), where the right classes are target (...)."""
    a, right = _shifted(x), target.reshape(-1)
    a_right = a[np.arange(len(a)), right]
    y = np.log(np.exp(a, a).sum(1)) - a_right
    return (y.reshape(target.shape),)


def cross_entropy_grad(x: np.ndarray, dy: np.ndarray, *, target: np.ndarray) -> Arrays:
    """The gradient of the scores x, from the gradient dy (...) of the losses."""
    a, right = _shifted(x), target.reshape(-1)
    dy = dy.reshape(-1)
    dx = np.exp(a, a)
    dx *= (dy / dx.sum(1))[:, None]
    dx[np.arange(len(a)), right] -= dy
    return (dx.reshape(x.shape),)


def _shifted(x: np.ndarray) -> np.ndarray:
    """The rows of x minus the largest of each, (rows, V), so that exp never overflows; new memory."""
    rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])
    return np.subtract(rows, rows.max(1, keepdims=True, initial=-np.inf), out=workspace.empty(rows.shape, rows.dtype))
