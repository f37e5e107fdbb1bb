"""The number of elements of a Tensor. It works both as NumPy's `size` and as torch's method `size()`."""

from __future__ import annotations

from typing import Any


class Size(int):
    """The number of elements, which can also be called as in torch."""

    axes: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size along the axis `dim`. Raises IndexError if there is no such axis."""
        if dim is not None and not -len(self.axes) <= dim < len(self.axes):
            raise IndexError(f"size: axis {dim} of a Tensor of shape {self.axes}\n  expected one of its axes")
        return self.axes if dim is None else self.axes[dim]
