"""Parameter: a Tensor that a module owns and an optimizer changes."""

from __future__ import annotations

from typing import Any

from minirnn import devices
from minirnn.arguments.host_array import float_dtype
from minirnn.devices.base import Device
from minirnn.engine.copies import copied_leaf, new_leaf
from minirnn.engine.tensor import Tensor, next_seq, tensor


class Parameter(Tensor):
    """A leaf Tensor that a `Module` finds among its attributes, saves and trains.

    Raises TypeError if the dtype is not a floating one.

    Parameters
    ----------
    data : array_like
        Initial values, copied. Arrays keep their dtype; Python floats become float32.
    requires_grad : bool
        False freezes it: it is saved and loaded, but gets no gradient. `requires_grad_` changes that later.
    device : str or Device, optional
    dtype : dtype, optional
        float16, float32 or float64.
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
        return new_leaf(cls, t.device, t.array, requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing, because ``__new__`` does everything."""

    def move(self, device: str | Device | None = None, dtype: Any = None) -> Parameter:
        """Move values and gradient to another device or dtype in place, so that optimizers stay valid.

        Returns itself. A backward pass that still needs the old values fails with a clear error, as after `assign`.
        """
        place = self.device if device is None else devices.get(device)
        kind = self.dtype if dtype is None else float_dtype("Parameter.move", dtype)
        if place is not self.device or kind != self.dtype:
            moved = tensor(self, device=place, dtype=kind)
            grad = None if self.grad is None else tensor(self.grad, device=place, dtype=kind)
            self.array, self.device, self.grad = moved.array, place, grad
            self.seq = next_seq()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A new leaf with equal values and, as in torch, without gradient. ``copy.deepcopy(module)`` uses it."""
        return copied_leaf(self, memo)

    def __repr__(self) -> str:
        return f"Parameter({super().__repr__()})"
