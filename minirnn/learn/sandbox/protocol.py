"""Messages between the process that judges and the one that computes: a JSON text and arrays, as npz without pickle.

Both sides use this file, also a process that has imported nothing else of minirnn; so it needs NumPy alone. What
arrives is not trusted: its size is limited, compressed members (which could grow a thousandfold) and object arrays are
refused.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

savez, load, dumps, loads = np.savez, np.load, json.dumps, json.loads  # as they are now: an answer may patch them
MOST_BYTES = 64 << 20
PLAIN = (str, bool, int, float, type(None))


class BadMessage(ValueError):
    """What arrived is not a message."""


def pack(message: dict[str, Any]) -> bytes:
    """A dict of plain values, arrays, and lists of them, as bytes."""
    arrays: list[np.ndarray] = []
    text = dumps(_to_plain(message, arrays))
    buffer = io.BytesIO()
    savez(buffer, **{f"a{k}": a for k, a in enumerate(arrays)}, text=np.array(text))  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, Any]:
    """The message that `pack` made.

    Raises
    ------
    BadMessage
        If it is anything else.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(m.compress_type != zipfile.ZIP_STORED for m in archive.infolist()):
                raise BadMessage("a compressed member")
        with load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        message = _from_plain(loads(str(arrays.pop("text"))), arrays)
    except BadMessage:
        raise
    except Exception as error:  # whatever a hostile archive makes NumPy, zipfile or json raise
        raise BadMessage(f"{type(error).__name__}: {error}") from error
    if not isinstance(message, dict):
        raise BadMessage("not a dict")
    return message


def send(descriptor: int, message: dict[str, Any], wait: Callable[[], None] = lambda: None) -> None:
    """Write a message. `wait` is called before each write; a pipe that does not block is written to piece by piece."""
    data = pack(message)
    rest = memoryview(struct.pack("<I", len(data)) + data)
    while rest:
        wait()
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int, wait: Callable[[], None] = lambda: None) -> dict[str, Any] | None:
    """The next message; None when the other side has closed the pipe. `wait` is called before each read."""
    head = _exactly(descriptor, 4, wait)
    if head is None:
        return None
    (size,) = struct.unpack("<I", head)
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


def _from_plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[f"a{value['array']}"]
        return array[()] if value["scalar"] else array
    if "list" in value:
        items = [_from_plain(v, arrays) for v in value["list"]]
        return tuple(items) if value["tuple"] else items
    return {k: _from_plain(v, arrays) for k, v in value["dict"].items()}
