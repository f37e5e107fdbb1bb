"""Checkpoints: named arrays and a few exact numbers, in one safetensors file.

safetensors (a JSON header, then raw arrays) is read by torch, JAX, Keras tools and editors alike, and holds no code:
nothing runs when a file is opened, unlike a pickle. Its metadata is text only, so minirnn puts three entries there:

    minirnn.checkpoint    version of this format, "1"
    minirnn.metadata      the caller's metadata as JSON
    minirnn.checksums     JSON, name -> checksum of each array and (with an empty name) of the metadata

`load` compares the checksums, so a bit that changed on a disk or in a copy is noticed. CRC-32 finds every change of up
to 32 neighboring bits and misses one in four billion others. It does not protect against changes on purpose.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from minirnn.arguments.host_array import values_of
from minirnn.io.atomic import atomic_write

FORMAT_VERSION = "1"
_VERSION_KEY, _METADATA_KEY, _CHECKSUMS_KEY = "minirnn.checkpoint", "minirnn.metadata", "minirnn.checksums"
_DTYPES = ("float16", "float32", "float64", "bool") + tuple(
    f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)
)
_LARGEST_HEADER = 100_000_000  # bytes; what readers of safetensors accept


def save(path: str | os.PathLike[str] | IO[bytes], arrays: Mapping[str, Any], metadata: dict[str, Any]) -> None:
    """Write a checkpoint. Even if the process is killed, either the older file or the new one is there, complete.

    Raises TypeError for an array of another dtype or metadata that JSON would change (tuples, arrays, keys that are not
    strings); ValueError if `path` can't be written, or the metadata is too large for the header of the file; OSError if
    the disk is full or failed. The older file is unchanged.

    Parameters
    ----------
    path : path or binary file
        The file, usually ``*.safetensors``. An older file is replaced at the very end. An open file is written to
        directly.
    arrays : mapping of str to array_like
        Arrays or Tensors of any shape, 0-d and empty ones included, of dtype float16/32/64, int8-64, uint8-64 or bool.
        They need not be contiguous.
    metadata : dict of str to Any
        None, bool, int, float, str, lists and str-keyed dicts of these. They are restored exactly: floats to the last
        bit (also NaN and infinities), and ints of any size.
    """
    if not isinstance(metadata, dict):
        raise TypeError(f"checkpoint: metadata is {type(metadata).__name__}\n  expected a dict")
    if not isinstance(arrays, Mapping):
        hint = "\n  likely a module: its state_dict() has the arrays" if hasattr(arrays, "state_dict") else ""
        raise TypeError(f"checkpoint: arrays is a {type(arrays).__name__}\n  expected a dict of name -> array{hint}")
    try:
        _check_metadata(metadata, "metadata")
    except RecursionError:
        raise ValueError(
            "checkpoint: metadata is nested too deeply\n  expected no list or dict inside itself"
        ) from None
    plain = {name: storable("checkpoint", name, array) for name, array in arrays.items()}
    data = encoded(plain, own_entries(metadata, plain))
    size = _header_size(data)
    if size > _LARGEST_HEADER:
        raise ValueError(
            f"checkpoint: metadata and array names take {size} bytes\n"
            f"  expected at most {_LARGEST_HEADER}: no reader accepts more\n"
            "  long lists of numbers belong in arrays"
        )
    with nullcontext(path) if hasattr(path, "write") else atomic_write(path, "wb") as file:
        file.write(data)


def encoded(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """A safetensors file. Its metadata is sorted, because safetensors writes it in any order: equal contents give equal
    bytes. The header is its length in 8 bytes and a JSON text, padded to a multiple of 8.
    """
    from safetensors.numpy import save as to_safetensors

    data = to_safetensors(arrays, metadata=metadata)
    size = _header_size(data)
    header = json.loads(data[8 : 8 + size])
    own = header.pop("__metadata__")
    text = json.dumps({"__metadata__": dict(sorted(own.items())), **header}, separators=(",", ":"), ensure_ascii=False)
    written = text.encode()
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written + data[8 + size :]


def load(path: str | os.PathLike[str] | IO[bytes]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a checkpoint that `save` wrote, from a path or from an open binary file.

    Raises ValueError if the file is missing, empty, truncated, not a safetensors file, or from another program or a
    newer minirnn, or an array does not match its checksum. The message names the file, what was found and the likely
    cause.

    Returns
    -------
    arrays : dict of str to ndarray
        Copies that own their memory and may be written to.
    metadata : dict
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    if hasattr(path, "read"):
        name, data = str(getattr(path, "name", "an open file")), path.read()
    else:
        name = os.fspath(path)
        data = read_bytes("checkpoint", name, "file written by minirnn")
    header = _read_header(name, data)

    own = header.get("__metadata__")
    if not isinstance(own, dict) or _VERSION_KEY not in own:
        raise ValueError(
            f"checkpoint {name!r}: a safetensors file without the entry {_VERSION_KEY!r}\n"
            "  expected a file written by minirnn\n"
            "  weights of another program? safetensors.numpy.load_file reads the plain arrays"
        )
    if own[_VERSION_KEY] != FORMAT_VERSION:
        raise ValueError(
            f"checkpoint {name!r}: format version {str(own[_VERSION_KEY])[:40]!r}\n"
            f"  expected version {FORMAT_VERSION!r}\n"
            "  written by a newer minirnn? it can read this file, this one can't"
        )
    try:
        arrays = {key: np.array(array) for key, array in from_safetensors(data).items()}
        verify(own, arrays, own[_METADATA_KEY])
        metadata = json.loads(own[_METADATA_KEY])
        if not isinstance(metadata, dict):
            raise TypeError(f"metadata is {type(metadata).__name__}, not dict")
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"checkpoint {name!r}: {first_line(error)}\n"
            "  expected arrays and metadata as minirnn writes them\n"
            "  the file was changed or damaged after it was written"
        ) from error
    return arrays, metadata


def own_entries(metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The three entries that minirnn puts into the metadata of a safetensors file."""
    text = json.dumps(dict(metadata), sort_keys=True)
    return {_VERSION_KEY: FORMAT_VERSION, _METADATA_KEY: text, **checksums(arrays, text)}


def first_line(error: BaseException) -> str:
    """The first line of an error's message, shortened: some errors quote a whole damaged file."""
    lines = str(error).splitlines()
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in lines[0][:200]) if lines else type(error).__name__


def as_array(function: str, name: str, value: Any) -> np.ndarray:
    """Convert `value` to a NumPy array. A ragged list raises a ValueError that names it."""
    try:
        return values_of(value)
    except ValueError:
        raise ValueError(f"{function}: array {name!r} is a ragged list\n  expected an array") from None


def storable(function: str, name: str, array: Any) -> np.ndarray:
    """The values of an array as safetensors stores them. Raises TypeError or ValueError for what it cannot store."""
    if not isinstance(name, str) or name == "__metadata__":
        raise TypeError(f"{function}: an array is named {name!r}\n  expected a string other than '__metadata__'")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{function}: an array is named {name!r} ({error.reason})\n  expected text") from None
    values = as_array(function, name, array)
    if values.dtype.name not in _DTYPES:
        raise TypeError(
            f"{function}: array {name!r} has dtype {values.dtype}\n  expected one of {', '.join(_DTYPES)}\n"
            "  text, settings and lists belong in the metadata"
        )
    # safetensors copies memory in its physical order and ignores strides, so a transposed view would be stored
    # scrambled.
    return np.asarray(values, dtype=values.dtype.newbyteorder("<"), order="C")


def _check_metadata(value: Any, where: str) -> None:
    """Raise TypeError for values that json.dumps accepts but json.loads would not return."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(
                    f"checkpoint: {where} has the key {key!r}\n  expected strings\n  JSON has no other keys"
                )
            _check_metadata(item, f"{where}[{key!r}]")
    elif isinstance(value, list):
        for k, item in enumerate(value):
            _check_metadata(item, f"{where}[{k}]")
    elif not isinstance(value, str | int | float | None):
        hint = "pass a list" if isinstance(value, tuple) else "numbers: .tolist() or .item(); large ones: in `arrays`"
        raise TypeError(
            f"checkpoint: {where} is {type(value).__name__}\n"
            f"  expected None, bool, int, float, str, or lists and dicts of these\n  {hint}"
        )


def _header_size(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _read_header(name: str, data: bytes) -> dict[str, Any]:
    """Return the JSON header of a safetensors file; raise ValueError if it has none, or if arrays are cut off.

    The file has 8 bytes with the size n of the header, little-endian; n bytes of JSON, ``{"__metadata__": {...},
    array: {"dtype", "shape", "data_offsets": [begin, end]}, ...}``; and the arrays.
    """
    if not data:
        raise _damaged(name, "0 bytes", "an interrupted copy or download, or a full disk")
    for magic, what in ((b"PK\x03\x04", "a zip file, as torch.save and numpy.savez write"), (b"\x80", "a pickle")):
        if data.startswith(magic) and data[8:9] != b"{":
            raise _damaged(name, what, "minirnn never opens pickles; convert the weights to safetensors")
    if data[8:9] != b"{" and len(data) > 8:
        raise _damaged(name, f"it starts with {data[:9]!r}", "a file of another kind")
    size = _header_size(data)
    if len(data) < 8 + size or size == 0:
        raise _damaged(
            name, f"{len(data)} bytes, its header alone needs more", "truncated: an interrupted copy or a full disk"
        )
    try:
        header = json.loads(data[8 : 8 + size])
        ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        needed = 8 + size + max(ends, default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise _damaged(
            name, f"its header is not a safetensors header ({first_line(error)})", "a file of another kind, or damaged"
        ) from error
    if len(data) < needed:
        raise _damaged(name, f"{len(data)} bytes of {needed}", "truncated: an interrupted copy or a full disk")
    return header


def _damaged(name: str, found: str, cause: str) -> ValueError:
    return ValueError(f"checkpoint {name!r}: {found}\n  expected a safetensors file written by minirnn\n  {cause}")


# ---- files and checksums


def read_bytes(what: str, path: str | os.PathLike[str], kind: str) -> bytes:
    """The content of a regular file, or ValueError. `what` begins its message, and `kind` says what is expected.

    The file is not mapped: a mapped file that shrinks kills the process that reads it.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise ValueError(f"{what} {name!r}: no such file\n  expected a {kind}\n  check the spelling")
    if not os.path.isfile(name):
        found = "a folder" if os.path.isdir(name) else "not a regular file (a device or a pipe)"
        raise ValueError(f"{what} {name!r}: this is {found}\n  expected one {kind}")
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{what} {name!r}: can't be read ({error.strerror or error})\n  expected a readable {kind}"
        ) from error


def checksum(array: np.ndarray) -> str:
    """The checksum of an array: its dtype, its shape and its bytes, little-endian and in C order."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    head = zlib.crc32(f"{plain.dtype.name} {list(plain.shape)}".encode())
    return f"{zlib.crc32(plain.reshape(-1).view(np.uint8).data, head):08x}"


def checksums(arrays: Mapping[str, np.ndarray], metadata: str) -> dict[str, str]:
    """The checksums of all arrays and of the metadata as the JSON text that is written."""
    found = {"": f"{zlib.crc32(metadata.encode()):08x}"} | {name: checksum(array) for name, array in arrays.items()}
    return {_CHECKSUMS_KEY: json.dumps(found, sort_keys=True)}


def verify(own: Mapping[str, str], arrays: Mapping[str, np.ndarray], metadata: str) -> None:
    """Compare everything that was read with its checksum, or raise ValueError. Files without checksums pass."""
    if _CHECKSUMS_KEY not in own:
        return
    told, found = json.loads(own[_CHECKSUMS_KEY]), json.loads(checksums(arrays, metadata)[_CHECKSUMS_KEY])
    if not isinstance(told, dict):
        raise ValueError("its list of checksums is damaged")
    if lacking := sorted(told.keys() - found.keys()):
        raise ValueError(f"the array {lacking[0][:80]!r} is missing")
    for name, value in found.items():
        if told.get(name) != value:
            what = f"the array {name[:80]!r}" if name else "the metadata"
            raise ValueError(f"{what} is not what was written: its checksum is {value}, expected {told.get(name)}")
