"""Turns the operands of an op, which may be Tensors, arrays or numbers, into Tensors of one device.

Arguments that are not Tensors (integers, axes, ...) are read by `minirnn.arguments.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from minirnn.arguments.host_array import common_dtype, default
from minirnn.devices.base import FLOATS, Device
from minirnn.engine.tensor import Tensor, as_tensor, leaf

Result = TypeVar("Result")

# ---- operands of arithmetic

_constants: dict[tuple[Device, Any, Any, Any], Tensor] = {}
_CACHEABLE = frozenset((-2, -1, -0.5, 0.5, 1, 2, 3))  # the numbers in formulas; not 0, because 0.0 == -0.0


_PYTHON_NUMBERS = frozenset((bool, int, float))


def is_number(value: Any) -> bool:
    """Whether `value` is a Python number, which has no dtype (np.float64 is a float, and has one)."""
    return isinstance(value, (bool, int, float)) and not isinstance(value, np.generic)


def python_number(value: Any) -> Any:
    """A NumPy scalar as a Python number, so that ``float32 / np.sqrt(64)`` with a Tensor stays float32."""
    return value.item() if isinstance(value, np.generic) else value


def forget_constants() -> None:
    """Clear the cache of constants, because the default dtype has changed."""
    _constants.clear()


def constant(value: Any, like: Tensor) -> Tensor:
    """`value` on the device of `like`; a number takes the dtype of `like`, or the default one next to integers."""
    if value.__class__ not in _PYTHON_NUMBERS:
        value = python_number(value)
    if isinstance(value, (bool, int, float)):
        if value in _CACHEABLE:
            key = (like.device, value, value.__class__, like.array.dtype)  # 2 == 2.0, but their types differ
            found = _constants.get(key)
            if found is None:
                found = _constants[key] = _scalar(value, like)
            return found
        return _scalar(value, like)
    return as_tensor(value, device=like.device)


def _scalar(value: float, like: Tensor) -> Tensor:
    try:
        dtype = like.array.dtype
        if dtype.kind != "f" and isinstance(value, float):  # NumPy would choose float64
            dtype = default.dtype
        return leaf(like.device, like.device.full((), value, np.result_type(dtype, value)))
    except OverflowError:  # integers raise this; a float that is too large becomes infinite
        text = str(value) if abs(value) < 2**64 else f"an integer of {int(value).bit_length()} bits"
        raise OverflowError(f"operand: {text} does not fit into {like.dtype}\n  expected a number that does") from None


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


def narrowed(x: Any, z: Any, divides: bool = False) -> tuple[Any, Any]:
    """Two NumPy arrays in the dtype of their result. Arrays of other devices are returned unchanged."""
    if not isinstance(x, (np.ndarray, np.generic)) or (x.dtype == z.dtype and not (divides and x.dtype.kind != "f")):
        return x, z
    dtype = common_dtype(x, z, divides=divides)
    with np.errstate(over="ignore"):
        return x.astype(dtype), z.astype(dtype)


def same_device(op: str, *operands: Tensor, names: Sequence[str] = "ab") -> Device:
    """The common device of all operands. Raises ValueError if there are two. `names` are the names of the operands."""
    device = operands[0].device
    for t in operands[1:]:
        if t.device is not device:
            raise mixed_devices(op, *operands, names=names)
    return device


def mixed_devices(op: str, *operands: Tensor, names: Sequence[str] = "ab") -> ValueError:
    """The error for operands on different devices, with the name of each."""
    first, *rest = [f"{name} {{}}on {t.device.name}" for name, t in zip(names, operands, strict=True)]
    places = ", ".join([first.format("is "), *[text.format("") for text in rest]])
    return ValueError(f"{op}: different devices: {places}\n  expected one device; move with t.to(name)")


def shape_error(op: str, a: Tensor, b: Tensor, error: Exception) -> Exception:
    """The device's error about two operands, with the name of the op and the shapes that it needs."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
        expected = f"dtypes and shapes that fit ({error})"
    except ValueError:
        turned = a.ndim > 1 and a.shape == b.shape[::-1]
        expected = "shapes that broadcast: equal sizes or 1, counted from the last axis"
        expected += "\n  likely one of them is transposed" if turned else ""
    return type(error)(
        f"{op}: operands have shapes {a.shape} and {b.shape}, dtypes {a.dtype} and {b.dtype}\n  expected {expected}"
    )


def float_tensor(op: str, x: Any) -> Tensor:
    """`x` as a Tensor of floats. Raises TypeError for integers and bools."""
    if x.__class__ is not Tensor:  # most are Tensors, and skipping the call saves 0.1 us
        x = as_tensor(x)
    if x.array.dtype.kind != "f":
        raise TypeError(f"{op}: got dtype {x.dtype}\n  expected float16, float32 or float64; use x.astype('float32')")
    return x


def made_float(op: str, x: Any) -> Tensor:
    """`x` as a Tensor of floats. Integers and bools become float32, as in torch."""
    x = as_tensor(x)
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def numeric(op: str, x: Any) -> Tensor:
    """`x` as a Tensor of floats or integers. Raises TypeError for bools, because NumPy lacks the function for them."""
    x = as_tensor(x)
    if x.array.dtype.kind == "b":
        raise TypeError(f"{op}: got dtype bool\n  expected numbers; use x.astype('float32')")
    return x


def any_tensor(op: str, x: Any) -> Tensor:
    """`x` as a Tensor of any dtype."""
    return as_tensor(x)


# ---- lists of Tensors


def iterated(op: str, what: str, given: Any, expected: str) -> Iterable[Any]:
    """`given`. Raises TypeError unless it is a list or an iterator. `what` names an element, such as "parameter"."""
    if isinstance(given, (Tensor, np.ndarray, Mapping, str)) or not isinstance(given, Iterable):
        kind = "one Tensor" if isinstance(given, Tensor) else f"a {type(given).__name__}"
        raise TypeError(f"{op}: {what}s is {kind}\n  expected {expected}")
    return given


def all_tensors(op: str, what: str, found: list[Any]) -> list[Tensor]:
    """`found`, whose elements must be Tensors. Raises TypeError for the first that is not."""
    for k, t in enumerate(found):
        if not isinstance(t, Tensor):
            hint = "\n  likely named_parameters() instead of parameters()" if isinstance(t, tuple) else ""
            raise TypeError(f"{op}: {what} {k} is a {type(t).__name__}\n  expected a Tensor{hint}")
    return found


def tensor_list(op: str, what: str, given: Any, expected: str, *, one: bool = False) -> list[Tensor]:
    """The Tensors of a list or iterator. With `one`, a single Tensor counts as a list. Raises TypeError otherwise."""
    if one and isinstance(given, Tensor):
        return [given]
    return all_tensors(op, what, list(iterated(op, what, given, expected)))


def as_tensors(values: Iterable[Any]) -> list[Tensor]:
    """Each of `values` as a Tensor. Arrays and numbers are moved to the device of the first Tensor among them."""
    values = list(values)
    place = device_of(*values)
    return [t if isinstance(t, Tensor) else as_tensor(t, device=place) for t in values]


# ---- named arguments of the RNN ops, checked once, before any device sees the arrays


def device_of(*values: Any) -> Device | None:
    """The device of the first Tensor among the arguments, or None. Arrays and lists are moved to it."""
    return next((t.device for t in values if isinstance(t, Tensor)), None)


def tensors(op: str, place: Device | None = None, /, **arguments: Any) -> list[Tensor]:
    """Arguments as Tensors of one device (`place`, or that of the first Tensor) and one floating dtype.

    Raises TypeError if one is missing, is not an array, or has another dtype than the first, and ValueError if they
    live on different devices.
    """
    first = next(iter(arguments.values()))
    if isinstance(first, Tensor):  # the usual case first: Tensors of one device and dtype need no other checks
        device, dtype = first.device, first.array.dtype
        for value in arguments.values():
            if not isinstance(value, Tensor) or value.device is not device or value.array.dtype is not dtype:
                break
        else:
            if dtype in FLOATS:
                return list(arguments.values())
    return _converted(op, place or device_of(*arguments.values()), arguments)


def _converted(op: str, device: Device | None, arguments: dict[str, Any]) -> list[Tensor]:
    found: dict[str, Tensor] = {}
    for name, value in arguments.items():
        if value is None:
            raise TypeError(f"{op}: {name} is None\n  expected an array")
        if isinstance(value, Tensor):
            found[name] = value
            continue
        try:
            found[name] = as_tensor(value, device=device)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{op}: {name}: {error}") from None
    same_device(op, *found.values(), names=list(found))
    first, dtype = next((n, t.dtype) for n, t in found.items())
    for name, t in found.items():
        if t.dtype not in FLOATS:
            raise TypeError(f"{op}: {name} has dtype {t.dtype}\n  expected float16, float32 or float64")
        if t.dtype != dtype:
            raise TypeError(
                f"{op}: {name} has dtype {t.dtype}, {first} has {dtype}\n  expected one dtype for all; use .astype()"
            )
    return list(found.values())


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function` with a cache of its results, because the same attributes and shapes are passed again and again.

    Errors are not cached, and neither are calls with arguments that can change (a Tensor, an array, a list).
    """
    known = lru_cache(maxsize=512, typed=True)(function)

    @wraps(function)
    def look(*arguments: Any) -> Result:
        if Tensor in map(type, arguments):  # a Tensor is hashed by identity, and `assign` may have changed its value
            return function(*arguments)
        try:
            return known(*arguments)
        except TypeError:
            return function(*arguments)

    return look
