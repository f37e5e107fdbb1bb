"""The number of elements of a Tensor: NumPy's `size`, which torch's programs call."""

from __future__ import annotations

from typing import Any


class Size(int):
    """A number of elements that can be called, for torch's sake."""

    axes: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size along the axis `dim`. Raises IndexError if there is no such axis."""
        if dim is not None and not -len(self.axes) <= dim < len(self.axes):
            raise IndexError(f"size: axis {dim} of a Tensor of shape {self.axes}\n  expected one of its axes")
        return self.axes if dim is None else self.axes[dim]
