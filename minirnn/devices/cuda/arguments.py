"""Kernel arguments as bytes: the parameter list of a ``__global__`` function, aligned as the C++ compiler aligns it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


Packing = tuple[Callable[..., bytes], tuple[Callable[[Any], Any], ...], list[int]]
"""How arguments of some kinds are packed, what gives their values, and the places of the addresses in the bytes."""


class Packer:
    """Packs the argument lists of one kernel. The kinds of arguments are determined once.

    Arguments are those of `driver.Kernel`: objects with ``ptr``, None, NumPy scalars, and NumPy structured scalars laid
    out as in C (``np.dtype(..., align=True)``).
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self._plans: dict[tuple[Any, ...], Packing] = {}

    def __call__(self, args: tuple[Any, ...]) -> bytes:
        """Raises TypeError if an argument has a type that no kernel accepts."""
        pack, values, _ = self._known(args)
        return pack(*[value(a) for value, a in zip(values, args, strict=True)])

    def with_other_addresses(self, args: tuple[Any, ...]) -> Callable[[Sequence[int]], bytes]:
        """The bytes of these arguments as a function of the addresses in them (`addresses`)."""
        template, (_, _, places) = self(args), self._known(args)
        pieces = [
            template[start:end] for start, end in zip([0, *[p + 8 for p in places]], [*places, None], strict=True)
        ]
        pack = struct.Struct("<" + "Q".join(f"{len(piece)}s" for piece in pieces)).pack
        constants: list[Any] = [part for piece in pieces for part in (piece, 0)][:-1]

        def packed(at: Sequence[int]) -> bytes:
            parts = constants[:]
            parts[1::2] = at
            return pack(*parts)

        return packed

    def _known(self, args: tuple[Any, ...]) -> Packing:
        kinds: tuple[Any, ...] = tuple(map(type, args))
        if np.void in kinds:  # a struct: its layout counts as well
            kinds = tuple([a.dtype if type(a) is np.void else type(a) for a in args])
        plan = self._plans.get(kinds)
        if plan is None:
            plan = self._plans[kinds] = self._plan(args)
        return plan

    def _plan(self, args: tuple[Any, ...]) -> Packing:
        letters, at = "<", 0
        places: list[int] = []
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
            if isinstance(a, np.void):
                places += [at + gap + place for place in places_of_pointers(a.dtype)]
            elif hasattr(a, "ptr"):
                places.append(at + gap)
            at += gap + size
            values.append(value)
        return struct.Struct(letters).pack, tuple(values), places


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


# ---- the addresses in arguments: objects with ``ptr``, and in a struct the fields of uint64. Sizes are int64


@dataclass(frozen=True)
class Pointer:
    """An address as an argument."""

    ptr: int


def pointers_in(dtype: np.dtype) -> list[str]:
    """The fields of a struct that hold addresses."""
    return [name for name in dtype.names or () if dtype[name].base == np.uint64]


def places_of_pointers(dtype: np.dtype) -> list[int]:
    """The places of the addresses in a struct, in bytes."""
    fields: Any = dtype.fields
    return [fields[name][1] + 8 * k for name in pointers_in(dtype) for k in range(dtype[name].itemsize // 8)]


def addresses(arg: Any) -> list[int]:
    """All addresses in an argument of a kernel."""
    if hasattr(arg, "ptr"):
        return [arg.ptr]
    if not isinstance(arg, np.void):
        return []
    return [int(ptr) for name in pointers_in(arg.dtype) for ptr in np.ravel(arg[name])]


def moved(arg: Any, to: Callable[[int], int]) -> Any:
    """The argument with the address ``to(address)`` for each address in it."""
    if hasattr(arg, "ptr"):
        return Pointer(to(arg.ptr))
    if not isinstance(arg, np.void) or not pointers_in(arg.dtype):
        return arg
    struct = arg.copy()
    for name in pointers_in(arg.dtype):
        struct[name] = np.vectorize(to, otypes=[np.uint64])(arg[name])
    return struct
