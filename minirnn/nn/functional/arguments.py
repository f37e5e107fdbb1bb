"""Checks of arguments that torch's signatures share, and float16 that is computed in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine import operands
from minirnn.engine.operands import float_tensor, same_device
from minirnn.engine.tensor import Tensor, as_tensor

ANY_INTEGER = (-(2**63), 2**63 - 1)
"""The smallest and the largest `ignore_index`."""


def widened(op: str, input: Any, place: Device | None = None) -> tuple[Tensor, np.dtype[Any]]:
    """`input` as a Tensor of the dtype for computing, and the dtype of the result.

    float16 is computed in float32 and rounded once at the end, as in torch.
    """
    x = float_tensor(op, input if isinstance(input, Tensor) else as_tensor(input, device=place))
    return (x.astype(np.float32) if x.dtype == np.float16 else x), x.dtype


def of_one_dtype(op: str, name: str, value: Any, like: Tensor, dtype: Any) -> Tensor:
    """A parameter as a Tensor on the device of `like`, the input, whose dtype was `dtype`. Arrays are converted.

    A Tensor must have that dtype (or float32 with a float16 input, as in torch), because another dtype would change
    that of all results. Raises TypeError for another dtype, ValueError for another device.
    """
    if isinstance(value, Tensor) and value.dtype not in (dtype, like.dtype):
        raise TypeError(
            f"{op}: input has dtype {dtype}, {name} has {value.dtype}\n  expected one dtype for both; use .astype()"
        )
    return constant_like(op, name, value, like)


def two_alike(op: str, input: Any, target: Any) -> tuple[Tensor, Tensor, np.dtype[Any]]:
    """An input and its target of the same shape, both widened, and the dtype of the result.

    Integers and bools take the dtype of the other argument, as in torch. Arrays and lists also do so if the other is a
    Tensor. A float64 array therefore does not change the loss of a float32 network to float64. Raises TypeError if
    neither has a floating dtype, and ValueError if the shapes or the devices differ. They do not broadcast, because (B,
    1) and (B,) would silently give (B, B).
    """
    place = operands.device_of(input, target)
    x, y = (t if isinstance(t, Tensor) else as_tensor(t, device=place) for t in (input, target))
    if isinstance(input, Tensor) and not isinstance(target, Tensor) and input.dtype.kind == "f":
        y = y.astype(input.dtype)
    elif isinstance(target, Tensor) and not isinstance(input, Tensor) and target.dtype.kind == "f":
        x = x.astype(target.dtype)
    if x.dtype.kind != "f" and y.dtype.kind != "f":
        raise TypeError(f"{op}: got dtypes {x.dtype} and {y.dtype}\n  expected float16, float32 or float64")
    x = x if x.dtype.kind == "f" else x.astype(y.dtype)
    y = y if y.dtype.kind == "f" else y.astype(x.dtype)
    if x.shape != y.shape:
        raise ValueError(
            f"{op}: input has shape {x.shape}, target {y.shape}\n  expected one shape for both"
            + ("\n  likely an axis of size 1 too many: reshape one of them" if x.size == y.size else "")
        )
    same_device(op, x, y)
    dtype = np.result_type(x.dtype, y.dtype)
    return widened(op, x)[0], widened(op, y)[0], dtype


def constant_like(op: str, name: str, value: Any, like: Tensor) -> Tensor:
    """A weight or mask as a Tensor on the device and in the dtype of `like`. Raises ValueError on another device."""
    t = value if isinstance(value, Tensor) else as_tensor(value, device=like.device)
    same_device(op, like, t)
    return t.astype(like.dtype)


def above_0(op: str, name: str, value: Any, *, finite: bool = True) -> float:
    """A positive option, such as `huber_loss`'s `delta`. Raises TypeError if not a number, ValueError if not
    positive."""
    value = check.number(op, name, value, finite=finite)
    if value <= 0:
        raise ValueError(f"{op}: {name} is {value}\n  expected a number above 0")
    return value


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of this shape broadcasts to the shape `to`."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def source(op: str, input: Any, inplace: Any) -> Any:
    """The input of a function with torch's `inplace`: `input`, or a copy if the function will write into `input`.

    Raises TypeError if it is not a Tensor in the second case.
    """
    if not check.flag(op, "inplace", inplace):
        return input
    if not isinstance(input, Tensor):
        raise TypeError(f"{op}: with inplace=True input is {shown(input)}\n  expected a Tensor to write into")
    return input.clone()


def returned(input: Any, y: Tensor, inplace: bool) -> Tensor:
    """`y`. With torch's `inplace`, `y` is written into `input` by the rules of ``copy_``, and `input` is returned."""
    return input.copy_(y) if inplace else y


def no_legacy(op: str, size_average: Any = None, reduce: Any = None) -> None:
    """Raise TypeError for torch's two old names for `reduction`, which torch itself has deprecated."""
    for name, value in (("size_average", size_average), ("reduce", reduce)):
        if value is not None:
            likely = f"  likely reduction={shown(value)} is meant: it is given by its name"
            raise TypeError(
                f"{op}: {name} is {shown(value)}\n"
                f"  expected reduction='mean', 'sum' or 'none': torch has deprecated {name}"
                + (f"\n{likely}" if isinstance(value, str) else "")
            )


def one_dim(op: str, dim: Any, axis: Any) -> Any:
    """The axis from torch's `dim` or from `axis`. Raises TypeError if both or neither are given."""
    if dim is not None and axis is not None:
        raise TypeError(
            f"{op}: got dim={shown(dim)} and axis={shown(axis)}\n  expected one: dim is torch's name for axis"
        )
    if dim is None and axis is None:
        raise TypeError(
            f"{op}: dim is None\n  expected the axis to go along, such as dim=-1\n"
            "  torch guesses one from the number of axes and warns; here nothing is guessed"
        )
    return axis if dim is None else dim


def weight_of(module: str, name: str, value: Any) -> Tensor | None:
    """The weights of classes or elements, checked."""
    if isinstance(value, str):
        raise TypeError(
            f"{module}: {name} is {shown(value)}\n  expected numbers\n  likely reduction={shown(value)} is meant"
        )
    weight = None if value is None else as_tensor(value)
    if weight is not None and weight.dtype.kind != "f":
        raise TypeError(f"{module}: {name} has dtype {weight.dtype}\n  expected float16, float32 or float64")
    return weight
