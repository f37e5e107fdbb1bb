"""Functions that create Tensors: zeros, ones, full, arange, linspace, eye.

They have torch's names, arguments and defaults: float32, or int64 for `full` and `arange` of integers. You can pass
sizes one by one or as a tuple. Random Tensors are in `random_creation`.
"""

from __future__ import annotations

from math import ceil, isfinite, prod
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments import check
from minirnn.arguments.host_array import default, dtype_of
from minirnn.arguments.messages import shown
from minirnn.arguments.names import accepts
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, as_tensor, check_can_require_grad, leaf

__all__ = ["arange", "empty", "eye", "full", "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like"]

Place = str | Device | None

# ---- arguments


def shape_of(op: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape from sizes given one by one, or as one tuple or list."""
    given = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if any(isinstance(n, (bool, np.bool_)) or not hasattr(n, "__index__") for n in given):
        raise TypeError(f"{op}: size is {shown(size[0] if len(size) == 1 else size)}\n  expected integers")
    sizes = tuple(int(n.__index__()) for n in given)
    if min(sizes, default=0) < 0:
        raise ValueError(f"{op}: size is {shown(sizes)}\n  expected sizes of 0 or more")
    if prod(sizes) >= 2**60:
        raise ValueError(f"{op}: size is {shown(sizes)}\n  expected fewer than 2**60 elements")
    return sizes


def shape_given(op: str, args: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """The shape, which may also be given by the keyword `size`, as in torch."""
    if (size is None) == (not args):
        raise TypeError(
            f"{op}: got {'no size' if size is None else 'two sizes'}\n  expected {op}(2, 3) or {op}((2, 3))"
        )
    return shape_of(op, args if size is None else (size,))


def number_of(op: str, name: str, value: Any) -> Any:
    """The Python number in a number, a NumPy scalar, or a Tensor or array of one element."""
    if isinstance(value, (Tensor, np.ndarray)) and value.size == 1:
        value = value.item()
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected a number")
    if isinstance(value, int) and value.bit_length() > 1023:
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected a number that a float can hold")
    return value


def made(op: str, values: Any, dtype: Any, device: Place, requires_grad: bool) -> Tensor:
    """`values` (a host array) as a leaf of `dtype` on `device`."""
    found = dtype_of(op, dtype)
    check_can_require_grad(found, requires_grad)
    place = devices.get(device)
    return leaf(place, place.asarray(np.asarray(values).astype(found, copy=False)), requires_grad)


def _filled(op: str, shape: tuple[int, ...], value: Any, dtype: Any, device: Place, requires_grad: bool) -> Tensor:
    found = dtype_of(op, dtype)
    check_can_require_grad(found, requires_grad)
    if found.kind == "b":
        value = bool(value)
    if found.kind in "iu" and isinstance(value, float) and isfinite(value):
        value = int(value)
    if found.kind in "iu" and not (isinstance(value, int) and np.iinfo(found).min <= value <= np.iinfo(found).max):
        raise ValueError(f"{op}: the value {shown(value)} does not fit into {found}\n  expected one that does")
    place = devices.get(device)
    return leaf(place, place.full(shape, value, found), requires_grad)


def or_default(dtype: Any, default: Any) -> Any:
    return default if dtype is None else dtype


# ---- one value


@accepts()
def zeros(*args: Any, size: Any = None, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """Zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.

    Parameters
    ----------
    *args : int, or one tuple of int
        The shape, also as ``size=``.
    dtype : dtype
        By default the default dtype (`mr.set_default_dtype`), which is initially float32.
    device : str or Device, optional
        Where to create the Tensor; by default on the default device (`use_device`).
    requires_grad : bool
        Whether to compute gradients for the Tensor.
    """
    return _filled(
        "zeros", shape_given("zeros", args, size), 0, or_default(dtype, default.dtype), device, requires_grad
    )


@accepts()
def ones(*args: Any, size: Any = None, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """Ones. The arguments and errors are those of `zeros`."""
    return _filled("ones", shape_given("ones", args, size), 1, or_default(dtype, default.dtype), device, requires_grad)


@accepts()
def empty(*args: Any, size: Any = None, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A Tensor whose values do not matter. They are zeros, so a program that reads them is reproducible."""
    return _filled(
        "empty", shape_given("empty", args, size), 0, or_default(dtype, default.dtype), device, requires_grad
    )


@accepts()
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """A Tensor filled with `fill_value`. Without a dtype, a float gives float32, an integer int64, a bool bool.

    The other arguments and errors are those of `zeros`.
    """
    shape, value = shape_of("full", (size,)), number_of("full", "fill_value", fill_value)
    if dtype is None:
        dtype = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else default.dtype
    return _filled("full", shape, value, dtype, device, requires_grad)


# ---- rows of numbers


@accepts()
def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Place = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers ``start, start + step, ...`` before `end`: ``arange(end)`` or ``arange(start, end, step)``.

    Without a dtype, integers give int64. If any argument is a float, the result is float32. With an integer dtype, the
    arguments lose their fractions first.
    """
    if end is None:
        start, end = 0, start
    start, end, step = (
        number_of("arange", n, v) for n, v in zip(("start", "end", "step"), (start, end, step), strict=True)
    )
    if not (isfinite(start) and isfinite(end) and isfinite(step)):
        raise ValueError(f"arange: got start {start}, end {end}, step {step}\n  expected finite numbers")
    if dtype is not None and dtype_of("arange", dtype).kind in "iu":  # as in torch, before counting
        start, end, step = int(start), int(end), int(step)
    if step == 0 or (end - start) * step < 0:
        raise ValueError(
            f"arange: start {start}, end {end}, step {step}\n  expected a step that leads from start to end, not 0"
        )
    whole = all(isinstance(v, int) for v in (start, end, step))
    ratio = -((start - end) // step) if whole else (end - start) / step
    if ratio >= 2**60:
        raise ValueError(f"arange: {shown(ratio)} numbers\n  expected fewer than 2**60")
    count = ceil(ratio)
    if dtype is None:
        dtype = np.int64 if whole else default.dtype
    values = int(start) + np.arange(count) * int(step) if whole else start + np.arange(count) * float(step)
    return made("arange", values, dtype, device, requires_grad)


@accepts()
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included; float32 by default."""
    start, end = number_of("linspace", "start", start), number_of("linspace", "end", end)
    count = check.integer("linspace", "steps", steps, 0)
    if not (isfinite(start) and isfinite(end)):
        raise ValueError(f"linspace: got start {start}, end {end}\n  expected finite numbers")
    found = or_default(dtype, default.dtype)
    if (
        dtype_of("linspace", found).kind in "iu" and count > 1
    ):  # as in torch: whole ends, and each half from its own end
        start, end = int(start), int(end)
        step, k = (end - start) / (count - 1), np.arange(count)
        values = np.trunc(np.where(k < count // 2, start + step * k, end - step * (count - 1 - k)))
    else:
        values = np.linspace(start, end, count)
    return made("linspace", values, found, device, requires_grad)


@accepts()
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """The matrix (n, m), or (n, n), with ones on its diagonal and zeros elsewhere; float32 by default."""
    rows = check.integer("eye", "n", n, 0)
    columns = rows if m is None else check.integer("eye", "m", m, 0)
    return made("eye", np.eye(rows, columns), or_default(dtype, default.dtype), device, requires_grad)


# ---- like another Tensor


def like_it(function: Any, like: Any, *args: Any, dtype: Any, device: Place, requires_grad: bool) -> Tensor:
    t = as_tensor(like)
    place = t.device if device is None else device
    return function(t.shape, *args, dtype=or_default(dtype, t.dtype), device=place, requires_grad=requires_grad)


@accepts()
def zeros_like(input: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape of `input`, and by default with its dtype and device."""
    return like_it(zeros, input, dtype=dtype, device=device, requires_grad=requires_grad)


@accepts()
def ones_like(input: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape of `input`, and by default with its dtype and device."""
    return like_it(ones, input, dtype=dtype, device=device, requires_grad=requires_grad)


@accepts()
def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Place = None, requires_grad: bool = False
) -> Tensor:
    """A Tensor filled with `fill_value`, with the shape of `input`, and by default with its dtype and device."""
    return like_it(full, input, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)
