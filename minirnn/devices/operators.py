"""The operators that the contract requires of arrays, for array classes whose device does the work."""

from __future__ import annotations

from typing import Any


class Operators:
    """``+ - * / **`` and unary ``-`` by the primitives of ``self.device``, as the tape needs them for gradients.

    Comparisons are by identity; the device has elementwise ones.
    """

    __slots__ = ()

    # NumPy then leaves `ndarray + array` to __radd__, where the device can refuse it by name.
    __array_ufunc__ = None

    device: Any

    def __neg__(self) -> Any:
        return self.device.negative(self)


def _operator(primitive: str, reflected: bool) -> Any:
    def method(self: Operators, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return getattr(self.device, primitive)(*operands)

    return method


PRIMITIVES = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power"}
"""Python's name of an operator, and the primitive."""
for _name, _primitive in PRIMITIVES.items():
    setattr(Operators, f"__{_name}__", _operator(_primitive, False))
    setattr(Operators, f"__r{_name}__", _operator(_primitive, True))
