"""Reads the arguments of `Module.to`: a device, a dtype, both, or a Tensor that has both."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments.host_array import float_dtype, is_dtype
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, tensor


def destination(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Device | None, np.dtype[Any] | None]:
    """The device and the floating dtype to convert to. None means no change.

    Raises TypeError if nothing is given, the same thing is given twice, or a dtype is not floating, and ValueError or
    DeviceUnavailable if there is no such device, or it cannot work here.
    """
    for value in args:
        a_dtype = is_dtype(value)
        if (a_dtype and dtype is not None) or (not a_dtype and device is not None):
            raise TypeError(
                f"Module.to: got {shown(value)} and another {'dtype' if a_dtype else 'device'}\n  expected one"
            )
        if isinstance(value, Tensor):
            if dtype is not None:
                raise TypeError("Module.to: got a Tensor and a dtype\n  expected one of them: a Tensor has its dtype")
            device, dtype = value.device, value.dtype
        elif a_dtype:
            dtype = value
        else:
            device = value
    if device is None and dtype is None:
        raise TypeError(
            "Module.to: got nothing\n  expected a device such as 'cpu', a dtype such as np.float64, or both"
        )
    kind = None if dtype is None else float_dtype("Module.to", dtype)
    return None if device is None else devices.get(device), kind


def moved(buffer: Tensor, device: Device | None, dtype: Any) -> Tensor:
    """A buffer on another device and in another dtype; the same buffer if nothing changes."""
    device = buffer.device if device is None else device
    dtype = buffer.dtype if dtype is None else np.dtype(dtype)
    return buffer if device is buffer.device and dtype == buffer.dtype else tensor(buffer, device=device, dtype=dtype)
