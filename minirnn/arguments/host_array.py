"""Converts whatever may become a Tensor (numbers, nested lists, arrays) to a NumPy array of a known dtype."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.lookup.pointers import pointer

DTYPES = frozenset(np.dtype(t) for t in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
"""The dtypes a Tensor may have."""

_NAMES = frozenset(dtype.name for dtype in DTYPES)
_OTHERS = re.compile(r"torch\.\w+|b?float\d+\w*|c(half|float|double)|complex\d+|q?u?int\d+\w*|bits\w*")
"""Names of dtypes that torch or NumPy has."""


class _Default:
    dtype = np.dtype("float32")


default = _Default()
"""The dtype of floats without one. `set_default_dtype` changes it."""


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def common_dtype(*arrays: Any, divides: bool = False) -> np.dtype[Any]:
    """The dtype of the result of an operation on several arrays, by torch's rule. Floats take precedence over integers,
    and integers over bools. Among arrays of one kind, those without axes do not count if another has axes. The quotient
    of integers has the default dtype.
    """
    top = max(_RANK[a.dtype.kind] for a in arrays)
    if divides and top < 2:
        return default.dtype
    counted = [a for a in arrays if _RANK[a.dtype.kind] == top]
    return np.result_type(*([a.dtype for a in counted if a.shape] or [a.dtype for a in counted]))


def host_array(data: Any, dtype: Any = None) -> np.ndarray:
    """`data` as a NumPy array: arrays keep their dtype, Python floats get the default dtype.

    Raises TypeError if the dtype is not that of numbers or bools, and ValueError if a list is ragged, or a string is
    not a number.
    """
    if dtype is not None:
        with suppress(TypeError, ValueError):  # which dtype_of reports
            dtype = np.dtype(dtype).newbyteorder("=")
        dtype = dtype_of("tensor", dtype)
    typed = hasattr(data, "dtype")
    try:
        array = np.asarray(data)
        if dtype is not None:
            array = array.astype(dtype, copy=False)
    except (ValueError, TypeError, OverflowError) as error:
        ragged = "inhomogeneous" in str(error)
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"tensor: cannot make an array of {type(data).__name__}"
            + ("\n" if ragged else f": {error}\n")
            + f"  expected a number, a nested list of numbers or an array{' of ' + str(dtype) if dtype else ''}"
            + ("\n  likely a ragged list: lists inside it have different lengths" if ragged else "")
        ) from None
    if dtype is None and array.dtype == np.float64 and not typed:
        first = data
        while isinstance(first, (list, tuple)) and first:
            first = first[0]
        if not hasattr(first, "dtype"):  # Python floats, not a list of NumPy float64
            array = array.astype(default.dtype)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in DTYPES:
        raise _refused("tensor", array.dtype, "\n  likely a ragged or mixed list" if array.dtype == object else "")
    return array


def values_of(value: Any) -> np.ndarray:
    """``np.asarray(value)`` for code that needs only the values. It also accepts a Tensor that requires gradients."""
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def dtype_of(what: str, dtype: Any) -> np.dtype[Any]:
    """`dtype` as one that a Tensor may have. Raises TypeError for any other, and for None."""
    try:
        found = np.dtype(dtype) if dtype is not None else None
    except (TypeError, ValueError):
        found = None
    if found not in DTYPES:
        raise _refused(what, dtype if found is None else found)
    return found


def _refused(what: str, dtype: Any, likely: str = "") -> TypeError:
    """The error for a dtype that no Tensor has. For one of torch it says what to use instead."""
    name = str(dtype).removeprefix("torch.")
    if name in _NAMES:  # torch's own object, or its name
        likely = f"\n  likely mr.{name} is meant"
    there = pointer(name) if _OTHERS.fullmatch(name) and name not in _NAMES else ""
    given = dtype if isinstance(dtype, np.dtype) else shown(dtype)
    return TypeError(f"{what}: got dtype {given}\n  expected float16/32/64, an integer type or bool{there or likely}")


def is_dtype(value: Any) -> bool:
    """Whether an argument of ``to`` is a dtype, also one that no Tensor has, and not a device."""
    if isinstance(value, str):
        return value in _NAMES or bool(_OTHERS.fullmatch(value))
    return isinstance(value, (type, np.dtype)) or type(value).__name__ == "dtype"  # the last is torch's


def float_dtype(what: str, dtype: Any) -> np.dtype[Any]:
    """`dtype` as one that parameters may have. Raises TypeError if it is not floating."""
    found = dtype_of(what, dtype)
    if found.kind != "f":
        raise TypeError(f"{what}: dtype is {found}\n  expected float16, float32 or float64")
    return found


def integers(what: str, data: Any, expected: str = "integers") -> np.ndarray:
    """`data` (indices, lengths, classes) as an int64 array. Raises TypeError for other dtypes, ValueError if ragged.

    Integers of any width are accepted. In int64 their differences are right, unlike those of unsigned ones.
    `what` names the function and its argument, `expected` says what it must be.
    """
    if isinstance(data, (list, tuple)) and not data:  # without numbers, NumPy chooses float64
        return np.zeros((0,), np.int64)
    return _of_kind(what, data, "iu", expected).astype(np.int64, copy=False)


def floats(what: str, data: Any) -> np.ndarray:
    """`data` (masks, stored weights) as a floating array. Raises what `integers` raises."""
    return _of_kind(what, data, "f", "a floating dtype")


def numbers(what: str, data: Any) -> np.ndarray:
    """`data` (masks of 0 and 1) as a float64 array, whether numbers or bools. Raises what `integers` raises."""
    return _of_kind(what, data, "fiub", "numbers").astype(np.float64)


def whole(what: str, data: Any) -> np.ndarray:
    """`data` (a stored buffer) as an array of integers or bools. Raises what `integers` raises."""
    return _of_kind(what, data, "iub", "an integer dtype or bool")


def _of_kind(what: str, data: Any, kinds: str, expected: str) -> np.ndarray:
    try:
        array = values_of(data)
    except ValueError:
        raise ValueError(f"{what} is a ragged list\n  expected {expected}") from None
    if array.dtype.kind not in kinds:
        raise TypeError(f"{what} has dtype {array.dtype}\n  expected {expected}")
    return array
