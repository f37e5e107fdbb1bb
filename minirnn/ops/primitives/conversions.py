"""Conversion to another device or dtype: `to` in all its forms."""

from __future__ import annotations

from typing import Any

from minirnn import devices
from minirnn.arguments.host_array import is_dtype
from minirnn.arguments.messages import shown
from minirnn.engine.tape import record
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.primitives.declare import Primitive, op
from minirnn.ops.primitives.elementwise import astype, identity

__all__ = ["to"]


class ToDevice(Primitive, uses="to_numpy asarray", reads=""):
    """y = x on another device      dx = dy on the device of x"""

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (to_device(dy, x.device),)


def to_device(x: Tensor, device: Any) -> Tensor:
    """`x` on another device; `x` itself if it is there."""
    place = devices.get(device)
    if place is x.device:
        return x
    return record(ToDevice(), place, place.asarray(x.device.to_numpy(x.array)), (x,))


@op(ToDevice, astype, identity)
def to(
    x: Any, *args: Any, device: Any = None, dtype: Any = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    """`x` on another device, in another dtype, or both; `x` itself if nothing changes. Gradients are converted back.

    Raises TypeError if an argument is none of these, or one is given twice, and ValueError if no device has that name.

    Parameters
    ----------
    *args
        ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, or ``to(other)`` for the device and dtype of a Tensor. A
        string is the name of a device, unless it is the name of a dtype, such as "float32".
    device, dtype
        The same by keyword.
    copy : bool
        Whether the result is a new node even if nothing changes.
    non_blocking : bool
        Accepted for compatibility with torch, and ignored.
    """
    x = as_tensor(x)
    if len(args) == 1 and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype)
    for given in args:
        if is_dtype(given):
            if dtype is not None:
                raise TypeError(f"to: got the dtypes {shown(dtype)} and {shown(given)}\n  expected one")
            dtype = given
        elif given is not None:
            if device is not None:
                raise TypeError(f"to: got the devices {shown(device)} and {shown(given)}\n  expected one")
            device = given
    if device is None and dtype is None:
        raise TypeError("to: got nothing\n  expected a device, a dtype, both, or a Tensor that has them")
    place = x.device if device is None else devices.get(device)
    y = to_device(x if dtype is None else astype(x, dtype), place)
    return identity(x) if copy and y is x else y
