"""Argument checks of the RNN ops: once, at the public op, before any device sees the arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache, wraps
from itertools import permutations
from typing import Any, TypeVar

import numpy as np

from minirnn.devices.base import FLOATS, Device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.messages import meant, shown
from minirnn.ops.primitives.operands import same_device

Result = TypeVar("Result")


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function`, which remembers what it found for arguments it has seen: attributes and shapes come again and again.

    What it raises is not remembered, and what can change (a Tensor, an array, a list) is looked at each time.
    """
    known = lru_cache(maxsize=512, typed=True)(function)

    @wraps(function)
    def look(*arguments: Any) -> Result:
        if Tensor in map(type, arguments):  # hashed by identity, and `assign` may have changed its value
            return function(*arguments)
        try:
            return known(*arguments)
        except TypeError:
            return function(*arguments)

    return look


def device_of(*values: Any) -> Device | None:
    """The device of the first Tensor among the arguments: arrays and lists follow it. None if there is no Tensor."""
    return next((t.device for t in values if isinstance(t, Tensor)), None)


def tensors(op: str, place: Device | None = None, /, **arguments: Any) -> list[Tensor]:
    """Arguments as Tensors of one device (`place`, or that of the first Tensor) and one floating dtype.

    Raises
    ------
    TypeError
        If one is missing, no array, or of another dtype than the first.
    ValueError
        If they live on different devices.
    """
    first = next(iter(arguments.values()))
    if isinstance(first, Tensor):  # the usual case first: Tensors of one device and dtype need no closer look
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


def rank(op: str, name: str, sizes: tuple[int, ...], letters: str) -> tuple[int, ...]:
    """The `sizes` of an argument that must have as many axes as there are letters, such as ``"T B I"``."""
    n, ndim = len(letters.split()), len(sizes)
    if ndim != n:
        raise ValueError(
            f"{op}: {name} has shape {sizes}, {ndim} ax{'is' if ndim == 1 else 'es'}\n"
            f"  expected ({letters.replace(' ', ', ')})"
            + (f"\n  likely a missing {'batch' if n == 2 else 'time or batch'} axis" if ndim < n else "")
        )
    return sizes


def shape(
    op: str, name: str, sizes: tuple[int, ...], letters: str, expected: tuple[int, ...], source: str, note: str = ""
) -> None:
    """Raise ValueError unless the `sizes` of an argument are the `expected` ones.

    `letters` spells them (``"I+H, 4H"``), `source` says where they come from, `note` what the axes mean.
    """
    if sizes == expected:
        return
    if len(expected) == len(sizes) > 1 and sizes in set(permutations(expected)):
        note = f"likely transposed or with axes exchanged{'; ' + note if note else ''}"
    text = f"({letters}{',' if len(expected) == 1 else ''})"
    raise ValueError(
        f"{op}: {name} has shape {sizes}\n  expected {text} = {expected}, from {source}"
        + (f"\n  {note}" if note else "")
    )


def positive(op: str, letter: str, size: int, source: str) -> None:
    """Raise ValueError if a size is 0."""
    if size < 1:
        raise ValueError(f"{op}: {letter} is {size}, from {source}\n  expected 1 or more")


def flag(op: str, name: str, value: Any) -> bool:
    """A boolean attribute. Raises TypeError for anything else, 0 and 1 included."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected True or False")
    return bool(value)


def number(op: str, name: str, value: Any, *, finite: bool = True) -> float:
    """A numeric attribute. Raises TypeError if it is no number, ValueError if NaN (or, if `finite`, infinite)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected a number")
    try:
        value = float(value)
    except OverflowError:
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected a number that a float can hold") from None
    if np.isnan(value) or (finite and np.isinf(value)):
        raise ValueError(f"{op}: {name} is {value}\n  expected a {'finite ' if finite else ''}number")
    return value


def integer(op: str, name: str, value: Any, low: int, high: int | None = None, meaning: str = "") -> int:
    """An integer (or integer scalar array) in ``low .. high``. Raises TypeError or ValueError."""
    if isinstance(value, (Tensor, np.ndarray)):
        if value.shape != () or value.dtype.kind not in "iu":
            raise (ValueError if value.shape != () else TypeError)(
                f"{op}: {name} has shape {value.shape}, dtype {value.dtype}\n  expected one integer"
            )
        value = int(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected an integer")
    if value < low or (high is not None and value > high):
        limits = f"{low} .. {high}" if high is not None else f"{low} or more"
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected {limits}{meaning}")
    return int(value)


def choice(op: str, name: str, value: Any, known: Collection[str]) -> str:
    """A string attribute that must be one of `known`. Raises TypeError if it is no string, else ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected one of {', '.join(map(repr, known))}")
    if value not in known:
        raise ValueError(
            f"{op}: {name} is {shown(value)}\n  expected one of {', '.join(map(repr, known))}{meant(value, known)}"
        )
    return str(value)
