"""The arguments of the kernels: the structs of `kernels/`, field by field, and the functions' signatures."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from minirnn.devices.native import threads

DONE, INTERRUPTED, NO_MEMORY = range(3)

NOTHING = (0, 0)
"""Missing rows."""
NO_MATRIX = (0, 0, 0)


class Struct:
    """A struct of the kernels: calling it with the values of its first fields returns its bytes. All others are 0.

    `fields` are words: `name` is a number, `name*` an address, `name%` Rows, `name[]` a Matrix.
    ctypes also has structs, but they are ten times as slow: with one sample, they take as long as ten steps.
    """

    def __init__(self, name: str, fields: str) -> None:
        self.name = name
        self.fields: list[str] = []
        for word in fields.split():
            plain = word.rstrip("*%[]")
            parts = ("", "_ld") if word.endswith("%") else ("", "_row", "_column") if word.endswith("[]") else ("",)
            self.fields += [plain + part for part in parts]
        self.layout = struct.Struct("q" * len(self.fields))
        self.absent = (0,) * len(self.fields)

    def __call__(self, *values: Any) -> bytes:
        return self.layout.pack(*values, *self.absent[len(values) :])


def several(name: str, count: int, kind: str) -> str:
    """The fields of an array of a struct."""
    return " ".join(f"{name}{k}{kind}" for k in range(count))


def structs_of_layer(values: int, cuts: int, products: int, masks: int) -> tuple[Struct, Struct]:
    """`Layer` and `Gradients` of a cell with these numbers of values and inner states, cuts, matrices and masks."""
    return Struct(
        "Layer",
        "T B I H P reverse lengths* W[] R[] Wp[] bW* bR* vectors* constants* x% h0% c0%"
        f" {several('values', values + cuts + 1, '%')} y% h_n% c_n% zoneout%"
        f" {several('U', products + 1, '[]')} {several('masks', masks + 1, '%')}",
    ), Struct(
        "Gradients",
        "dy% dc_each% dh_n% dc_n% da% dh0% dc0% dx% add_dx dW[] dR[] dWp* dbW* dbR* dvectors*"
        f" {several('dU', products + 1, '*')}",
    )


def structs_of_step(states: int, values: int, products: int, masks: int) -> Struct:
    """`OneStep` of a cell with these numbers of states, values, matrices and masks."""
    return Struct(
        "OneStep",
        f"B H vectors* constants* gates% {several('before', states, '%')} {several('after', states, '%')}"
        f" {several('values', values + 1, '%')} {several('masks', masks + 1, '%')} {several('U', products + 1, '[]')}"
        f" {several('d_after', states, '%')} d_gates% {several('d_before', states, '%')} d_vectors%",
    )


Product = Struct("Product", "M N K A[] B[] C% add")


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes the types of the library's functions."""
    number, struct_of = ctypes.c_int, ctypes.c_char_p
    for product in (library.product_float, library.product_double):
        product.argtypes = [struct_of, number, number]
    library.native_about.argtypes = [number]


def address(a: np.ndarray | None) -> int:
    """The address of an array, or 0."""
    if a is None:
        return 0
    memory: Any = a
    try:  # six times as fast as the array interface
        return ctypes.addressof(ctypes.c_byte.from_buffer(memory))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or with gaps
        return start(a)


def start(a: np.ndarray) -> int:
    """The address of an array that need not be contiguous."""
    found: int = a.__array_interface__["data"][0]
    return found


def rows(a: np.ndarray | None, first: int = 0) -> tuple[int, int]:
    """Address and distance of the rows of an array whose rows `regular` holds, from column `first` on."""
    if a is None:
        return NOTHING
    # Along an axis of one element NumPy may have any stride, so its strides do not show whether it is contiguous.
    if a.flags.c_contiguous:
        return address(a) + first * a.itemsize, a.shape[-1]
    return start(a) + first * a.itemsize, a.strides[-2] // a.itemsize


def regular(a: np.ndarray) -> np.ndarray:
    """`a` (T, B, width) or (B, width), or a copy, with contiguous rows at equal distances."""
    if a.flags.c_contiguous:
        return a
    inside = a.strides[-1] == a.itemsize or a.shape[-1] <= 1
    outside = a.ndim < 3 or a.shape[0] <= 1 or a.strides[0] == a.shape[1] * a.strides[1]
    positive = a.strides[-2] >= a.shape[-1] * a.itemsize
    return a if inside and outside and positive and a.size else np.ascontiguousarray(a)


def matrix(a: np.ndarray | None) -> tuple[int, int, int]:
    """Address and distances of a matrix's rows and columns."""
    if a is None:
        return 0, 0, 0
    if a.flags.c_contiguous:
        return address(a), a.shape[1], 1
    return start(a), a.strides[0] // a.itemsize, a.strides[1] // a.itemsize


def call(function: Any, *arguments: Any, work: float) -> None:
    """Run a kernel that does `work` multiply-adds, with this process's threads.

    Raises `KeyboardInterrupt` if Ctrl-C ended a long call, and `MemoryError` if there was no memory for it.
    """
    status = function(*arguments, threads.count(), threads.may_be_interrupted() if work > LONG else 0)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == NO_MEMORY:
        raise MemoryError("native: not enough memory for the packed weights and the values between the steps")


LONG = 1e9
"""Multiply-adds of a call that takes long enough to check for Ctrl-C: about 10 ms."""
