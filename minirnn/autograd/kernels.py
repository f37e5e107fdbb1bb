"""The kernels of a `Function`: which one a device gets, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.devices.base import Array, Device
from minirnn.engine.operands import same_device
from minirnn.engine.tensor import Tensor, leaf

Kernel = Callable[..., Any]
HALF = np.dtype(np.float16)


def registered(op: str, kernels: dict[str, Kernel], devices: str | Sequence[str], kernel: Kernel | None) -> Any:
    """Register a kernel for these devices, or return a decorator that does so."""
    names = [devices] if isinstance(devices, str) or not isinstance(devices, Sequence) else list(devices)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{op}: register_kernel got {shown(devices)}\n  expected names of devices, such as 'cpu'")

    def register(function: Kernel) -> Kernel:
        if not callable(function):
            raise TypeError(f"{op}: the kernel is a {type(function).__name__}\n  expected a callable")
        kernels.update(dict.fromkeys(names, function))
        return function

    return register if kernel is None else register(kernel)


def kernel_of(op: str, kernels: dict[str, Kernel], args: Sequence[Any]) -> Kernel | None:
    """The kernel for the device of the arguments, or for a device that this one is built on, as `native` is built on
    `cpu`.
    """
    device = next((a.device for a in args if isinstance(a, Tensor)), None)
    if not kernels or device is None:
        return None
    for name in (device.name, *(vars(cls).get("name") for cls in type(device).__mro__)):
        if name in kernels:
            return kernels[name]
    device.fallbacks[op] += 1
    return None


def by_kernel(op: str, kernel: Kernel, args: Sequence[Any]) -> Any:
    """The results of a kernel for the arguments of forward, as Tensors. float16 is computed in float32."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    device = same_device(op, *tensors, names=[str(k) for k in range(len(tensors))])
    half = any(t.dtype == HALF for t in tensors)
    given = [_in_order(device, a.array) if isinstance(a, Tensor) else a for a in args]
    if half:
        given = [device.cast_floats([a], np.float32)[0] if hasattr(a, "dtype") else a for a in given]
    found = kernel(*given)
    several = isinstance(found, (tuple, list))
    arrays = found if several else [found]
    for k, a in enumerate(arrays):
        if not hasattr(a, "dtype") or isinstance(a, Tensor):
            raise TypeError(
                f"{op}: result {k} of the kernel for {device} is a {type(a).__name__}\n"
                "  expected an array of the device"
            )
    outputs = tuple(leaf(device, a) for a in (device.cast_floats(arrays, HALF) if half else arrays))
    return outputs if several else outputs[0]


def _in_order(device: Device, a: Array) -> Array:
    """The array in C order: itself, or a copy."""
    if isinstance(a, (np.ndarray, np.generic)):
        return np.asarray(a, order="C")
    return device.contiguous(a) if hasattr(device, "contiguous") else a
