"""Values of a Tensor as an array that still has torch's methods. State dicts hold these."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.tensor import Size, Tensor, tensor


class Values(np.ndarray):
    """An array that also has the methods of a Tensor with these values: ``v.cpu().clone()``."""

    @classmethod
    def of(cls, t: Tensor) -> Values:
        """A copy of the values of `t`."""
        return t.numpy().copy().view(cls)

    @property
    def size(self) -> Size:
        """The number of elements. ``size()`` returns the shape and ``size(0)`` a single size, as in torch."""
        found = Size(np.asarray(self).size)
        found.axes = self.shape
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(tensor(self), name)
