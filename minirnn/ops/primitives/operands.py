"""What an op accepts: Tensors, arrays and numbers made into Tensors of one device."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.tensor import Tensor, as_tensor, leaf

_constants: dict[tuple[Device, Any, Any, Any], Tensor] = {}
_CACHEABLE = frozenset((-2, -1, -0.5, 0.5, 1, 2, 3))  # those that formulas use; not 0, since 0.0 == -0.0


def is_number(value: Any) -> bool:
    """Whether `value` is a Python number, which has no dtype of its own (np.float64 is a float, and has one)."""
    return isinstance(value, (bool, int, float)) and not isinstance(value, np.generic)


def constant(value: Any, like: Tensor) -> Tensor:
    """`value` on the device of `like`; a Python number takes the dtype of `like` where NumPy's rules say so."""
    if is_number(value):
        if value in _CACHEABLE:
            key = (like.device, value, value.__class__, like.array.dtype)  # 2 and 2.0 are equal, but not the same
            found = _constants.get(key)
            if found is None:
                found = _constants[key] = _scalar(value, like)
            return found
        return _scalar(value, like)
    return as_tensor(value, device=like.device)


def _scalar(value: float, like: Tensor) -> Tensor:
    return leaf(like.device, like.device.full((), value, np.result_type(like.array.dtype, value)))


def pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Both operands of a binary op as Tensors."""
    if isinstance(a, Tensor):
        return a, b if isinstance(b, Tensor) else constant(b, a)
    if not isinstance(b, Tensor):
        if not is_number(a):
            a = as_tensor(a)
            return a, constant(b, a)
        b = as_tensor(b)
    return constant(a, b), b


def same_device(op: str, *operands: Tensor) -> Device:
    """The device all operands live on. Raises ValueError if there are two."""
    device = operands[0].device
    for t in operands[1:]:
        if t.device is not device:
            raise mixed_devices(op, *operands)
    return device


def mixed_devices(op: str, *operands: Tensor) -> ValueError:
    names = ", ".join(t.device.name for t in operands)
    return ValueError(f"{op}: operands live on different devices: {names}\n  expected one device; move with t.to(name)")


def shape_error(op: str, a: Tensor, b: Tensor, error: Exception) -> Exception:
    """NumPy's complaint, with the op named."""
    return type(error)(f"{op}: operands have shapes {a.shape} and {b.shape}, dtypes {a.dtype} and {b.dtype}\n  {error}")


def axis_of(op: str, axis: Any, ndim: int) -> int:
    """A non-negative axis. Raises ValueError if there is no such axis, TypeError if it is no integer."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{op}: axis is {axis!r}\n  expected an integer")
    if not -ndim <= axis < ndim:
        raise ValueError(f"{op}: axis {axis} of an array with {ndim} axes\n  expected {-ndim} .. {ndim - 1}")
    return int(axis) % ndim


def axes_of(op: str, axis: Any, ndim: int) -> tuple[int, ...] | None:
    """A tuple of distinct non-negative axes, or None for all."""
    if axis is None:
        return None
    axes = tuple(axis_of(op, k, ndim) for k in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{op}: axis {axis} names an axis twice")
    return axes
