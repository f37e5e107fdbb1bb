"""Messages between the process that judges and the one that computes: a JSON text, then the numbers of its arrays.

Both sides use this file, including a process that has imported nothing else of minirnn, so it needs only NumPy.
Messages are not trusted: their size is limited, and arrays hold numbers but never objects. (An npz file would work too,
but takes ten times as long, which would dominate a small case.)
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

dumps, loads, frombuffer, dtype_of = json.dumps, json.loads, np.frombuffer, np.dtype
"""Saved now, because an answer may patch them."""
MOST_BYTES, MOST_TEXT = 64 << 20, 4 << 20
PLAIN = (str, bool, int, float, type(None))
SIZE = struct.Struct("<I")
KIND = re.compile(r"[<>|=][biufcmMSUV]\d+(\[\d*\w+\])?")
"""NumPy's notation for dtypes without objects."""


class BadMessage(ValueError):
    """The received data is not a message."""


def pack(message: dict[str, Any]) -> bytes:
    """Encode a dict of plain values, arrays, and lists of arrays as bytes."""
    arrays: list[np.ndarray] = []
    plain = _to_plain(message, arrays)
    text = dumps([plain, [[array.dtype.str, array.shape] for array in arrays]]).encode()
    return b"".join([SIZE.pack(len(text)), text, *(array.tobytes() for array in arrays)])


def unpack(data: bytes) -> dict[str, Any]:
    """Decode the message that `pack` made.

    Raises
    ------
    BadMessage
        If it is not such a message.
    """
    try:
        (size,) = SIZE.unpack_from(data)
        at = SIZE.size + size
        if size > MOST_TEXT or at > len(data):
            raise BadMessage(f"a text of {size} bytes")
        plain, kinds = loads(data[SIZE.size : at])
        arrays: list[np.ndarray] = []
        for kind, shape in kinds:
            arrays.append(_array(data, at, kind, shape))
            at += arrays[-1].nbytes
        if at != len(data):
            raise BadMessage(f"{len(data) - at} bytes are left")
        message = _from_plain(plain, arrays)
    except BadMessage:
        raise
    except Exception as error:  # any exception that a hostile text can raise in NumPy or json
        raise BadMessage(f"{type(error).__name__}: {error}") from error
    if not isinstance(message, dict):
        raise BadMessage("not a dict")
    return message


def _array(data: bytes, at: int, kind: str, shape: list[int]) -> np.ndarray:
    """The array of a given dtype and shape whose numbers begin at `at`."""
    if not KIND.fullmatch(kind) or not all(type(n) is int and n >= 0 for n in shape):
        raise BadMessage(f"an array of {kind!r}")
    dtype, count = dtype_of(kind), math.prod(shape)
    if dtype.hasobject or at + count * dtype.itemsize > len(data):
        raise BadMessage(f"an array of {count} numbers")
    return np.empty(shape, dtype) if count == 0 else frombuffer(data, dtype, count, at).reshape(shape).copy()


def send(descriptor: int, message: dict[str, Any], wait: Callable[[], None] = lambda: None) -> None:
    """Write a message. `wait` is called before each write. A nonblocking pipe is written in pieces."""
    data = pack(message)
    rest = memoryview(SIZE.pack(len(data)) + data)
    while rest:
        wait()
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int, wait: Callable[[], None] = lambda: None) -> dict[str, Any] | None:
    """The next message; None when the other side has closed the pipe. `wait` is called before each read."""
    head = _exactly(descriptor, 4, wait)
    if head is None:
        return None
    (size,) = SIZE.unpack(head)
    if size > MOST_BYTES:
        raise BadMessage(f"{size} bytes")
    data = _exactly(descriptor, size, wait)
    return None if data is None else unpack(data)


def _exactly(descriptor: int, size: int, wait: Callable[[], None]) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        wait()
        part = os.read(descriptor, min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _to_plain(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise TypeError("cannot send an array of Python objects")
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1, "scalar": isinstance(value, np.generic)}
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list | tuple):
        return {"list": [_to_plain(v, arrays) for v in value], "tuple": isinstance(value, tuple)}
    if isinstance(value, dict):
        return {"dict": {str(k): _to_plain(v, arrays) for k, v in value.items()}}
    raise TypeError(f"cannot send a {type(value).__name__}")


def _from_plain(value: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return array[()] if value["scalar"] else array
    if "list" in value:
        items = [_from_plain(v, arrays) for v in value["list"]]
        return tuple(items) if value["tuple"] else items
    return {k: _from_plain(v, arrays) for k, v in value["dict"].items()}
