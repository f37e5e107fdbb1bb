"""Parameter: a Tensor that a module owns and an optimizer changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import devices
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, next_seq, tensor


class Parameter(Tensor):
    """A leaf Tensor that a `Module` finds among its attributes, saves and trains.

    Parameters
    ----------
    data : array_like
        Initial values, copied. Arrays keep their dtype; Python floats become float32.
    requires_grad : bool
        False freezes it: it is saved and loaded, but gets no gradient. `requires_grad_` changes that later.
    device : str or Device, optional
    dtype : dtype, optional
        float16, float32 or float64.

    Raises
    ------
    TypeError
        If the dtype is not a floating one.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, requires_grad: bool = True, device: str | Device | None = None, dtype: Any = None
    ) -> Parameter:
        t = tensor(data, device=device, dtype=dtype)
        if t.dtype.kind != "f":
            raise TypeError(
                f"Parameter: got dtype {t.dtype}\n  expected float16, float32 or float64\n"
                "  likely whole numbers: write 1.0, or pass dtype=np.float32"
            )
        p: Parameter = object.__new__(cls)
        p.array = t.array
        p.device = t.device
        p.grad = None
        p.hooks = None
        p.op = None
        p.parents = ()
        p.requires_grad = requires_grad
        p.seq = t.seq
        return p

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in ``__new__``; a Tensor's own ``__init__`` forbids calling the class."""

    def move(self, device: str | Device) -> Parameter:
        """Bring values and gradient to another device, in place, so that optimizers keep their hold; returns itself.

        A backward pass that still needs the old values fails with a clear error, as after `assign`.
        """
        place = devices.get(device)
        if place is not self.device:
            self.array = place.asarray(self.numpy())
            self.device = place
            self.seq = next_seq()
            if self.grad is not None:
                self.grad = tensor(self.grad.numpy(), device=place)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A new leaf with equal values and no gradient: what ``copy.deepcopy(module)`` is made of."""
        copy = type(self)(np.array(self.numpy()), self.requires_grad, self.device)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        return f"Parameter({super().__repr__()})"
