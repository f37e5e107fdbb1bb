"""CudaArray: a shape and strides over a range of device memory, as NumPy's arrays are over host memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cuda.driver import Buffer
from minirnn.devices.operators import Operators


class CudaArray(Operators):
    """An array in the memory of a CUDA device, which creates it; views share its buffer.

    Attributes
    ----------
    device : Device
        The `device.Cuda` that it is on.
    buffer : Buffer
        The memory, kept alive by every array that refers to it.
    ptr : int
        Address of element (0, 0, ...).
    shape, element_strides : tuple of int
        Lengths of the axes, and how many *elements* lie between neighbors along each: 0 where an array was broadcast.
        All strides here are in elements, except those of `strides`.
    dtype : numpy.dtype
    """

    __slots__ = ("__weakref__", "buffer", "device", "dtype", "element_strides", "ptr", "shape")

    def __init__(
        self,
        device: Device,
        buffer: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype,
        strides: tuple[int, ...] | None = None,
        ptr: int | None = None,
    ) -> None:
        self.device, self.buffer, self.shape, self.dtype = device, buffer, shape, dtype
        self.element_strides = c_strides(shape) if strides is None else strides
        self.ptr = buffer.ptr if ptr is None else ptr

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes, as in NumPy."""
        return tuple(stride * self.dtype.itemsize for stride in self.element_strides)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie one after another in C order."""
        return self.element_strides == c_strides(self.shape) or is_contiguous(self.shape, self.element_strides)

    def seen_as(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> CudaArray:
        """Another shape over the same memory, starting `offset` elements further on."""
        return CudaArray(self.device, self.buffer, shape, self.dtype, strides, self.ptr + offset * self.dtype.itemsize)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __getitem__(self, index: Any) -> CudaArray:
        return self.device.getitem(self, index if isinstance(index, tuple) else (index,))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            f"an array on {self.device} was given where one in host memory is needed\n"
            "  expected a NumPy array\n  copy it to the host first: device.to_numpy(array), or tensor.numpy()"
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the protocol by which CuPy, torch, Numba and PyCUDA use this memory without a copy."""
        if self.device.driver.limits.simulated:
            raise AttributeError("simulated device memory has no __cuda_array_interface__: no GPU could read it")
        self.device.missed.look()  # results are passed to another library here
        return {
            "shape": self.shape,
            "strides": None if self.contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (self.ptr if self.size else 0, False),
            "version": 3,
            "stream": getattr(self.device.driver, "stream_handle", None) or 1,
        }

    def __repr__(self) -> str:
        return f"<CudaArray {self.shape} {self.dtype} on {self.device}>"


@lru_cache(maxsize=4096)
def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array whose elements lie one after another in C order."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether `strides` are those of C order; the stride of an axis of length 1 does not matter."""
    if 0 in shape:
        return True
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return False
        expected *= n
    return True
