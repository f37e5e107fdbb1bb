"""The primitives of `devices/base.py` in NumPy."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from minirnn.devices import host_math
from minirnn.devices.base import OPTIONAL
from minirnn.devices.cpu import elementwise, workspace

LARGE = workspace.MIN_BLOCK // 4
"""Size of a result from which fresh memory costs more than the extra Python call."""

FALSE_ALARM = 5
"""Columns of float32 that OpenBLAS, with AVX-512, multiplies by a vector together with whatever a register holds: its
result is right, but NumPy may warn of an invalid value, once in many thousand products (`sgemv_t` of SkylakeX)."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def without_false_alarms(kernel: Kernel) -> Kernel:
    """A decorator of kernels in which such a product may occur. NaN stays NaN, as on other devices.

    The kernel runs in its own context, with its own NumPy settings. `np.errstate` would have to put
    them back, and a Ctrl-C may come before it does.
    """

    @wraps(kernel)
    def run(*arguments: Any, **options: Any) -> Any:
        context = copy_context()
        context.run(np.seterr, invalid="ignore")
        return context.run(kernel, *arguments, **options)

    return cast(Kernel, run)


product_without_alarms = without_false_alarms(np.matmul)


class Primitives:
    """Every name of `minirnn.devices.base.PRIMITIVES`, by NumPy's own function where possible.

    Those of `OPTIONAL` are functions of `host_math`.
    """

    # Python's operators instead of ufuncs: the results are equal, and NumPy scalars (shape ()) are much faster.
    add = staticmethod(operator.add)
    subtract = staticmethod(operator.sub)
    multiply = staticmethod(operator.mul)
    divide = staticmethod(operator.truediv)
    negative = staticmethod(operator.neg)
    equal = staticmethod(operator.eq)
    not_equal = staticmethod(operator.ne)
    less = staticmethod(operator.lt)
    less_equal = staticmethod(operator.le)
    greater = staticmethod(operator.gt)
    greater_equal = staticmethod(operator.ge)
    power = staticmethod(operator.pow)
    absolute = staticmethod(np.absolute)
    sign = staticmethod(np.sign)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)
    tanh = staticmethod(np.tanh)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    where = staticmethod(elementwise.where)
    sigmoid = staticmethod(elementwise.sigmoid)
    relu = staticmethod(elementwise.relu)
    normal_cdf = staticmethod(elementwise.normal_cdf)
    clip = staticmethod(np.clip)
    transpose = staticmethod(np.transpose)
    broadcast_to = staticmethod(np.broadcast_to)
    getitem = staticmethod(operator.getitem)

    @staticmethod
    def asarray(host: Any) -> Any:
        """A copy of `host`, so that no other code can change it. Shape () becomes a NumPy scalar, which is faster."""
        a = np.array(host)
        return a if a.ndim else a[()]

    @staticmethod
    def to_numpy(a: Any) -> Any:
        return np.asarray(a)

    @staticmethod
    def cast(a: Any, dtype: Any) -> Any:
        return a.astype(dtype, copy=False)

    @staticmethod
    def full(shape: Sequence[int], value: Any, dtype: Any) -> Any:
        if not shape:
            return np.dtype(dtype).type(value)
        if value.__class__ is int and not value:
            return np.zeros(tuple(shape), dtype)  # np.full takes ten times as long for a small array
        return np.full(tuple(shape), value, dtype)

    @staticmethod
    def concatenate(arrays: Sequence[Any], axis: int) -> Any:
        """NumPy's function, except that one long row is written to recycled memory, whose pages already exist."""
        if arrays[0].ndim == 1 and len({a.dtype for a in arrays}) == 1:
            size = sum(a.size for a in arrays)
            if size >= LARGE:
                return np.concatenate(arrays, axis, out=workspace.empty((size,), arrays[0].dtype))
        return np.concatenate(arrays, axis)

    @staticmethod
    def matmul(a: Any, b: Any) -> Any:
        """NumPy's function, except that a large product of two matrices is written to recycled memory, whose pages
        already exist.
        """
        if a.ndim == 2 and b.ndim == 2 and a.shape[0] * b.shape[1] >= LARGE and a.dtype == b.dtype:
            return np.matmul(a, b, out=workspace.empty((a.shape[0], b.shape[1]), a.dtype))
        if a.shape[-1] == FALSE_ALARM:
            return product_without_alarms(a, b)
        return np.matmul(a, b)

    @staticmethod
    def sum(a: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
        return np.sum(a, axis=axis, keepdims=keepdims)

    @staticmethod
    def max(a: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
        return np.max(a, axis=axis, keepdims=keepdims)

    @staticmethod
    def argmax(a: Any, axis: int) -> Any:
        return np.argmax(a, axis=axis)

    @staticmethod
    def softmax(a: Any, axis: int) -> Any:
        if not a.size:
            return a
        e = np.exp(a - np.max(a, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    @staticmethod
    def log_softmax(a: Any, axis: int) -> Any:
        if not a.size:
            return a
        shifted = a - np.max(a, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    @staticmethod
    def reshape(a: Any, shape: Sequence[int]) -> Any:
        return a.reshape(tuple(shape))

    @staticmethod
    def scatter_add(shape: Sequence[int], index: tuple[Any, ...], values: Any) -> Any:
        out = np.zeros(tuple(shape), values.dtype)
        if index and all(isinstance(k, np.ndarray) and k.dtype.kind in "iu" for k in index):
            return _added_at(out, index, values)
        if any(isinstance(k, np.ndarray) for k in index):
            np.add.at(out, index, values)  # the same place may occur more than once
        else:
            out[index] = values
        return out


for _name in OPTIONAL:
    setattr(Primitives, _name, staticmethod(getattr(host_math, _name)))


def _added_at(out: np.ndarray, index: tuple[np.ndarray, ...], values: Any) -> np.ndarray:
    """``np.add.at(out, index, values)`` into zeros, by the flat indices of elements: with one index this is much
    faster.
    """
    sizes = out.shape[: len(index)]
    if any(k.size and (k.min() < -n or k.max() >= n) for k, n in zip(index, sizes, strict=False)) or not out.size:
        np.add.at(out, index, values)  # raises if the index is wrong
        return out
    places: Any = 0
    for k, n in zip(index, sizes, strict=False):
        places = places * n + (k % n if k.size and k.min() < 0 else k)
    row = out.shape[len(index) :]
    width = math.prod(row)
    values = np.broadcast_to(values, places.shape + row).reshape(-1)
    # float16 is summed in float32 and rounded once, so that a sum of a thousand rows is still accurate
    total = np.zeros(out.size, np.float32 if out.dtype == np.float16 else out.dtype)
    if width > 1:
        places = places[..., None] * width + np.arange(width)
    np.add.at(total, places.reshape(-1), values)
    return total.reshape(out.shape).astype(out.dtype, copy=False)
