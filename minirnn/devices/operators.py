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

    def __add__(self, other: Any) -> Any:
        return self.device.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.device.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return self.device.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.device.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return self.device.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.device.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.device.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.device.divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return self.device.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.device.power(other, self)

    def __neg__(self) -> Any:
        return self.device.negative(self)
