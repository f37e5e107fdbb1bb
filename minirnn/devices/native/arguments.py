"""What the kernels are handed: the structs of `kernels/layer.h`, number by number, and the functions' signatures."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from minirnn.devices.native import threads

INDEX, ADDRESS, INT = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
DONE, INTERRUPTED, NO_MEMORY = range(3)

NOTHING = (None, 0)
"""Rows that are not there."""


def _fields(text: str) -> list[tuple[str, Any]]:
    """Fields of a struct from words: `name` is a number, `name*` an address, `name%` Rows, `name[]` a Matrix."""
    found: list[tuple[str, Any]] = []
    for word in text.split():
        name = word.rstrip("*%[]!")
        if word.endswith("%"):
            found += [(name, ADDRESS), (f"{name}_ld", INDEX)]
        elif word.endswith("[]"):
            found += [(name, ADDRESS), (f"{name}_row", INDEX), (f"{name}_column", INDEX)]
        else:
            found.append((name, ADDRESS if word.endswith("*") else ctypes.c_double if word.endswith("!") else INDEX))
    return found


class Layer(ctypes.Structure):
    """`Layer` of the header."""

    _fields_ = _fields(
        "T B I H P reverse lengths* W[] R[] Wp[] bW* bR* wci* wcf* wco* clip! x% h0% c0%"
        " value0% value1% value2% value3% value4% value5% y% h_n% c_n%"
    )


class Gradients(ctypes.Structure):
    """`Gradients` of the header."""

    _fields_ = _fields(
        "dy% dc_each% dh_n% dc_n% da% dh0% dc0% dx% add_dx transposed dW* dR* dWp* dbW* dbR* dwci* dwcf* dwco*"
    )


class GruBlock(ctypes.Structure):
    """`GruBlock` of `gru_block.cpp`."""

    _fields_ = _fields("B I H x% h_prev% w_ru* w_c* b_ru* b_c* r% u% c% h% d_h% d_x% d_h_prev% d_c_bar% d_r_bar_u_bar%")


class Product(ctypes.Structure):
    """`Product` of `gemm.h`."""

    _fields_ = _fields("M N K A[] B[] C% add")


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes the types of the library's functions."""
    signatures = {
        "layer_forward": [INT, ctypes.POINTER(Layer), INT, INT],
        "layer_backward": [INT, ctypes.POINTER(Layer), ctypes.POINTER(Gradients), INT, INT],
        "lstm_cell_grad": [ctypes.POINTER(Layer), ctypes.POINTER(Gradients), INT, INT],
        "gru_block": [INT, ctypes.POINTER(GruBlock), INT, INT],
        "product": [ctypes.POINTER(Product), INT, INT],
    }
    for name, types in signatures.items():
        for kind in ("float", "double"):
            getattr(library, f"{name}_{kind}").argtypes = types
    library.native_about.argtypes = [INT]


def address(a: np.ndarray | None) -> int | None:
    """Where an array begins."""
    return None if a is None else a.__array_interface__["data"][0]


def rows(a: np.ndarray | None) -> tuple[int | None, int]:
    """Address and distance of the rows of an array whose rows `regular` holds."""
    if a is None:
        return None, 0
    # Along an axis of one element NumPy may have any stride, so strides say nothing of a contiguous array.
    return address(a), a.shape[-1] if a.flags.c_contiguous else a.strides[-2] // a.itemsize


def regular(a: np.ndarray) -> np.ndarray:
    """`a` (T, B, width) or (B, width), or a copy, with contiguous rows that are all at one distance."""
    if a.flags.c_contiguous:
        return a
    inside = a.strides[-1] == a.itemsize or a.shape[-1] <= 1
    outside = a.ndim < 3 or a.shape[0] <= 1 or a.strides[0] == a.shape[1] * a.strides[1]
    positive = a.strides[-2] >= a.shape[-1] * a.itemsize
    return a if inside and outside and positive and a.size else np.ascontiguousarray(a)


def matrix(a: np.ndarray | None) -> tuple[int | None, int, int]:
    """Address and distances of a matrix's rows and columns."""
    if a is None:
        return None, 0, 0
    if a.flags.c_contiguous:
        return address(a), a.shape[1], 1
    return address(a), a.strides[0] // a.itemsize, a.strides[1] // a.itemsize


def call(function: Any, *arguments: Any, work: float) -> None:
    """Run a kernel that does `work` multiply-adds, with this process's threads.

    Raises `KeyboardInterrupt` if Ctrl-C ended a long call, and `MemoryError` if there was no memory for it.
    """
    status = function(*arguments, threads.count(), threads.may_be_interrupted() if work > LONG else 0)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == NO_MEMORY:
        raise MemoryError("native: no memory for the packed weights and what lies between the steps")


LONG = 1e9
"""Multiply-adds of a call that can take so long that somebody may lose patience: some 10 ms."""
