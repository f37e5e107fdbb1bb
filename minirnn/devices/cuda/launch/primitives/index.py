"""Launches of `primitives/index.cu`, and NumPy's indexing rules: slices become views, index arrays become places.

NumPy computes the places on the host, where the index arrays are anyway.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.launch.threads import BLOCK, blocks
from minirnn.devices.cuda.launcher import Launcher


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether `index` holds no index arrays, so that the result is a view."""
    return all(
        k is None or k is Ellipsis or isinstance(k, slice | int | np.integer) and not isinstance(k, bool | np.bool_)
        for k in index
    )


def part(a: CudaArray, index: tuple[Any, ...]) -> CudaArray | None:
    """``a[index]`` for integers and slices, which are the most frequent indices; None for others and for errors."""
    offset, shape, strides = 0, [], []
    for k, n, stride in zip(index, a.shape, a.element_strides):  # noqa: B905  (the index may be shorter)
        if type(k) is slice:
            steps = range(n)[k]
            start = steps.start
            shape.append(len(steps))
            strides.append(stride * steps.step)
        elif type(k) is int and -n <= k < n:
            start = k if k >= 0 else k + n
        else:
            return None
        offset += start * stride
    count = len(index)
    if count > len(a.shape):
        return None
    found = (*shape, *a.shape[count:])
    return a.seen_as(found, (*strides, *a.element_strides[count:]), 0 if 0 in found else offset)


def view(a: CudaArray, index: tuple[Any, ...]) -> CudaArray:
    """``a[index]`` for a basic index, found by indexing a NumPy array with these strides."""
    ghost = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), a.shape, a.element_strides, writeable=False)
    if not any(k is Ellipsis for k in index):
        index = (*index, Ellipsis)  # so that an index of only integers also gives a view
    seen = ghost[index]
    offset = seen.__array_interface__["data"][0] - ghost.__array_interface__["data"][0] if seen.size else 0
    return a.seen_as(seen.shape, seen.strides, offset)


def places(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray:
    """The places of the elements of ``a[index]`` in an array `a` of `shape` in C order."""
    found: Any = np.int64(0)
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        along = np.arange(shape[d], dtype=np.int64).reshape((-1,) + (1,) * (len(shape) - 1 - d)) * step
        found = found + np.broadcast_to(along, shape)[index]
        step *= shape[d]
    return np.asarray(found)


def rows_only(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray | None:
    """The non-negative rows that `index` selects, if it is one integer array for the first axis; otherwise None."""
    if len(index) != 1 or not isinstance(index[0], np.ndarray) or index[0].dtype.kind not in "iu":
        return None
    rows = index[0].astype(np.int64)
    if rows.size and not (-shape[0] <= rows.min() and rows.max() < shape[0]):
        wrong = rows[(rows < -shape[0]) | (rows >= shape[0])].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for axis 0 with size {shape[0]}")
    return np.where(rows < 0, rows + shape[0], rows)


def gather(device: Launcher, a: CudaArray, index: tuple[Any, ...]) -> CudaArray:
    """``a[index]`` for an `a` in C order and an index with index arrays."""
    rows = rows_only(a.shape, index)
    if rows is not None:
        return gather_rows(device, a, device.asarray(rows))
    place = places(a.shape, index)
    y = device.empty(place.shape, a.dtype)
    if y.size:
        run = device.kernel_of("primitives/index.cu", "gather", a.dtype)
        run(a, device.asarray(place), y, np.int64(y.size), grid=blocks(y.size), block=BLOCK)
    return y


def gather_rows(device: Launcher, a: CudaArray, rows: CudaArray) -> CudaArray:
    """``a[rows]`` for an `a` in C order and non-negative rows (int64)."""
    y = device.empty((*rows.shape, *a.shape[1:]), a.dtype)
    if y.size:
        run = device.kernel_of("primitives/index.cu", "gather_rows", a.dtype)
        run(a, rows, y, np.int64(rows.size), np.int64(prod(a.shape[1:])), grid=blocks(y.size), block=BLOCK)
    return y


def scatter_add(device: Launcher, shape: tuple[int, ...], index: tuple[Any, ...], values: CudaArray) -> CudaArray:
    """Zeros of `shape` with `values` (in C order) added at `index`, which holds index arrays.

    Raises ValueError if `values` don't broadcast to the selected shape.
    """
    y = device.full(shape, 0, values.dtype)
    rows = rows_only(shape, index)
    place, n = (places(shape, index), 1) if rows is None else (rows, prod(shape[1:]))
    chosen = place.shape if rows is None else (*place.shape, *shape[1:])
    if values.shape != chosen:  # the kernel reads an element of `values` for each element chosen
        if np.broadcast_shapes(values.shape, chosen) != chosen:
            raise ValueError(f"shape {values.shape} does not broadcast to {chosen}")
        values = device.contiguous(device.broadcast_to(values, chosen))
    if not place.size or not n:
        return y
    # The values of one place become neighbors in their old order, so that one thread adds them.
    order = np.argsort(place, axis=None, kind="stable")
    sorted_places = place.ravel()[order]
    start = np.flatnonzero(np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]]))
    target = sorted_places[start]
    start = np.append(start, place.size)
    run = device.kernel_of("primitives/index.cu", "scatter_add", values.dtype)
    run(
        values, device.asarray(target), device.asarray(start), device.asarray(order), y,
        np.int64(target.size), np.int64(n), grid=blocks(target.size * n), block=BLOCK,
    )  # fmt: skip
    return y
