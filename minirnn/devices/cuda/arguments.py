"""Kernel arguments as bytes: the parameter list of a ``__global__`` function, aligned as the C++ compiler aligns it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

# NumPy's kind and size -> the letter of the standard library's `struct`, with sizes that don't depend on the platform
LETTERS = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
}


class Packer:
    """Packs the argument lists of one kernel. The kinds of arguments are determined once.

    Arguments are those of `driver.Kernel`: objects with ``ptr``, None, NumPy scalars, and NumPy structured scalars laid
    out as in C (``np.dtype(..., align=True)``).
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self._plans: dict[tuple[Any, ...], tuple[Callable[..., bytes], tuple[Callable[[Any], Any], ...]]] = {}

    def __call__(self, args: tuple[Any, ...]) -> bytes:
        """Raises TypeError if an argument has a type that no kernel accepts."""
        kinds: tuple[Any, ...] = tuple(map(type, args))
        if np.void in kinds:  # a struct: its layout counts as well
            kinds = tuple([a.dtype if type(a) is np.void else type(a) for a in args])
        plan = self._plans.get(kinds)
        if plan is None:
            plan = self._plans[kinds] = self._plan(args)
        pack, values = plan
        return pack(*[value(a) for value, a in zip(values, args, strict=True)])

    def _plan(self, args: tuple[Any, ...]) -> tuple[Callable[..., bytes], tuple[Callable[[Any], Any], ...]]:
        letters, at = "<", 0
        values: list[Callable[[Any], Any]] = []
        value: Callable[[Any], Any]
        for k, a in enumerate(args):
            size = alignment = 8
            if isinstance(a, np.void):
                letter, size, alignment, value = f"{a.itemsize}s", a.itemsize, alignment_of(a.dtype), bytes
            elif isinstance(a, np.generic) and a.dtype.str[1:] in LETTERS:
                letter, size, alignment, value = LETTERS[a.dtype.str[1:]], a.itemsize, a.itemsize, type(a).item
            elif a is None:
                letter, value = "Q", null
            elif isinstance(getattr(a, "ptr", None), int):
                letter, value = "Q", attrgetter("ptr")
            else:
                raise TypeError(
                    f"{self.kernel}: argument {k} is {a!r}, a {type(a).__name__}\n"
                    "  expected an array or buffer of the device, None, a NumPy scalar or a structured one"
                )
            gap = -at % alignment
            letters += f"{gap}x{letter}" if gap else letter
            at += gap + size
            values.append(value)
        return struct.Struct(letters).pack, tuple(values)


def null(a: None) -> int:
    """The null address."""
    return 0


def alignment_of(dtype: np.dtype) -> int:
    """The alignment of a C struct with these fields: that of the widest one."""
    if dtype.subdtype is not None:
        return alignment_of(dtype.subdtype[0])
    if dtype.fields is None:
        return dtype.itemsize
    return max(alignment_of(field[0]) for field in dtype.fields.values())
