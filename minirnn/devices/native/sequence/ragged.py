"""Samples of unequal lengths, as the kernels get them: in the order of falling lengths, so that the active ones of a
step come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.native.arguments import address, regular

Array = np.ndarray


class Ragged:
    """Samples of unequal lengths, in the order of falling lengths. Without lengths nothing changes."""

    def __init__(self, lengths: Array | None, T: int, B: int) -> None:
        self.order: Array | None = None
        self.address = 0
        if lengths is None or not B or np.min(lengths) == T:
            return
        lengths = np.asarray(lengths, np.int64)
        self.order = np.argsort(-lengths, kind="stable")
        self.lengths = np.ascontiguousarray(lengths[self.order])
        self.address = address(self.lengths)
        self.padding = np.arange(T)[:, None] >= self.lengths  # (T, B)

    def sorted(self, a: Array) -> Array:
        """An array (T, B, width) in this order, with padding 0 so that NaN there does not spread."""
        if self.order is None:
            return regular(a)
        a = np.take(a, self.order, axis=1)
        a[self.padding] = 0
        return a

    def states(self, a: Any) -> Any:
        """States (.., B, width) in this order."""
        return a if a is None else np.ascontiguousarray(a if self.order is None else np.take(a, self.order, axis=-2))

    def unsorted(self, a: Any) -> Any:
        """An array (T, B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = workspace.empty(a.shape, a.dtype)
        found[:, self.order] = a
        return found

    def unsorted_states(self, a: Any) -> Any:
        """States (.., B, width) in the order of the samples."""
        if self.order is None or a is None:
            return a
        found = np.empty_like(a)
        found[..., self.order, :] = a
        return found

    def unsorted_values(self, a: Array, held: Any) -> Array:
        """Values (D, T, B, width) in the order of the samples, `held` in the padding."""
        found = np.empty(a.shape, a.dtype)
        found[:, :, self.order] = np.where(self.padding[..., None], held, a)
        return found
