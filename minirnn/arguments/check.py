"""Checks the arguments that users pass: integers, numbers, flags, words, sizes, shapes, axes. Each function takes the
name of the op or class, with which its message begins. Tensors are read by `engine.operands`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import permutations
from typing import Any

import numpy as np

from minirnn.arguments.messages import meant, shown

# ---- one value


def flag(op: str, name: str, value: Any) -> bool:
    """A boolean attribute. Raises TypeError for anything else, including 0 and 1."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected True or False")
    return bool(value)


def number(
    op: str,
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    meaning: str = "",
    *,
    finite: bool = True,
    nan: bool = False,
) -> float:
    """A numeric attribute in ``low .. high``; None means no limit.

    Raises TypeError if it is not a number, ValueError if it is outside, NaN (unless `nan`) or, if `finite`, infinite.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected a number")
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected a number that a float can hold") from None
    if (np.isnan(found) and not nan) or (finite and np.isinf(found)):
        raise ValueError(f"{op}: {name} is {found}\n  expected a {'finite ' if finite else ''}number")
    _within(op, name, found, low, high, meaning)
    return found


def _within(op: str, name: str, value: Any, low: float | None, high: float | None, meaning: str) -> None:
    if (low is not None and value < low) or (high is not None and value > high):
        limits = f"{low} .. {high}" if high is not None else f"{low} or more"
        raise ValueError(f"{op}: {name} is {shown(value)}\n  expected {limits}{meaning}")


def is_integer(value: Any) -> bool:
    """Whether `value` is an integer of Python or NumPy, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A Tensor or array of one integer without axes as an int; anything else unchanged."""
    whole = getattr(value, "shape", None) == () and getattr(value, "dtype", np.dtype("?")).kind in "iu"
    return int(value) if whole else value


def integer(op: str, name: str, value: Any, low: int | None = None, high: int | None = None, meaning: str = "") -> int:
    """An integer (or integer scalar array) in ``low .. high``; None means no limit. Raises TypeError or ValueError."""
    if hasattr(value, "dtype") and not isinstance(value, np.generic):  # an array or a Tensor
        if value.shape != () or value.dtype.kind not in "iu":
            raise (ValueError if value.shape != () else TypeError)(
                f"{op}: {name} has shape {value.shape}, dtype {value.dtype}\n  expected one integer"
            )
        value = int(value)
    if not is_integer(value):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected an integer")
    _within(op, name, value, low, high, meaning)
    return int(value)


def choice(op: str, name: str, value: Any, known: Collection[str]) -> str:
    """A string attribute that must be one of `known`. Raises TypeError if it is not a string, else ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{op}: {name} is {shown(value)}\n  expected one of {', '.join(map(repr, known))}")
    if value not in known:
        raise ValueError(
            f"{op}: {name} is {shown(value)}\n  expected one of {', '.join(map(repr, known))}{meant(value, known)}"
        )
    return str(value)


def reduction(op: str, value: Any) -> str:
    """The reduction of a loss. Raises ValueError if it is unknown."""
    if not isinstance(value, str) or value not in ("mean", "sum", "none"):
        raise ValueError(f"{op}: reduction is {shown(value)}\n  expected 'mean', 'sum' or 'none'")
    return value


# ---- sizes and shapes


def sizes(op: str, shape: Any) -> tuple[int, ...]:
    """A shape, or a single size, as a tuple of integers. Raises TypeError for anything else."""
    many = isinstance(shape, (tuple, list, Iterable)) and getattr(shape, "shape", None) != ()
    found: tuple[Any, ...] = tuple(shape) if many else (shape,)
    for n in found:
        if n.__class__ is not int:  # a bool, an integer of NumPy or a Tensor, or something wrong
            found = tuple(map(plain, found))
            if not all(map(is_integer, found)):
                raise TypeError(f"{op}: shape is {shown(shape)}\n  expected integers")
            return tuple(int(k) for k in found)
    return found


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

    `letters` spells them (``"I+H, 4H"``), `source` names their origin, and `note` explains the axes.
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


# ---- axes, under NumPy's names and torch's


class Default(int):
    """A default axis. It can be distinguished from an equal `axis` that a caller passes together with `dim`."""


FIRST, LAST = Default(0), Default(-1)


def axis_or_dim(op: str, value: Any, dim: Any) -> Any:
    """The `axis` that was given, or `dim`, its name in torch. Raises TypeError if both are."""
    if dim is None:
        return value
    if value is None or value.__class__ is Default:
        return dim
    raise TypeError(f"{op}: got axis={shown(value)} and dim={shown(dim)}\n  expected one: dim is torch's name for axis")


def kept(op: str, keepdims: bool | None, keepdim: bool | None) -> bool:
    """`keepdims`, or `keepdim`, its name in torch; False if neither is given. Raises TypeError if both are."""
    if keepdim is None:
        return bool(keepdims)
    if keepdims is None:
        return bool(keepdim)
    raise TypeError(
        f"{op}: got keepdims={keepdims} and keepdim={keepdim}\n  expected one: keepdim is torch's name for keepdims"
    )


def axis(op: str, value: Any, ndim: int, dim: Any = None, *, scalar: bool = False) -> int:
    """A non-negative axis out of `axis` or `dim`; with `scalar` an array without axes has one, as in torch.

    Raises ValueError if there is no such axis, TypeError if it is not an integer or both are given.
    """
    k = axis_or_dim(op, value, dim)
    if scalar and ndim == 0:
        ndim = 1
    if not is_integer(k):
        k = plain(k)
    if not is_integer(k):
        raise TypeError(f"{op}: axis is {shown(k)}\n  expected an integer")
    if not -ndim <= k < ndim:
        raise ValueError(f"{op}: axis {shown(k)} of an array with {ndim} axes\n  expected {-ndim} .. {ndim - 1}")
    return int(k) % ndim


def axes(op: str, value: Any, ndim: int, dim: Any = None, *, scalar: bool = False) -> tuple[int, ...] | None:
    """Distinct non-negative axes out of `axis` or `dim`, or None for all. Raises what `axis` raises.

    With `scalar`, an array without axes accepts an axis, which has no effect.
    """
    k = axis_or_dim(op, value, dim)
    if k is None or (dim is not None and k == ()):  # torch's empty tuple means all axes, NumPy's none
        return None
    if k.__class__ is int and -ndim <= k < ndim:
        return (k % ndim,)
    found = tuple(axis(op, one, ndim, scalar=scalar) for one in (k if isinstance(k, (tuple, list)) else (k,)))
    if len(set(found)) != len(found):
        raise ValueError(f"{op}: axis {k} names an axis twice\n  expected each at most once")
    return found if ndim else ()
