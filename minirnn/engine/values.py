"""Values of a Tensor as an array to which torch's methods can still be said: what a state dict holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.size import Size
from minirnn.engine.tensor import Tensor, tensor


class Values(np.ndarray):
    """An array. A method that only Tensors have is that of a Tensor of these values: ``v.cpu().clone()``."""

    @classmethod
    def of(cls, t: Tensor) -> Values:
        """A copy of the values of `t`."""
        return t.numpy().copy().view(cls)

    @property
    def size(self) -> Size:
        """The number of elements; ``size()`` and ``size(0)`` are torch's shape and one of its numbers."""
        found = Size(np.asarray(self).size)
        found.axes = self.shape
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(tensor(self), name)
