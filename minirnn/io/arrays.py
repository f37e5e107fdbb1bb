"""Weight files of any program as named arrays, safetensors and npz, and torch's `save` and `load`. No pickle is opened.

`checkpoint` has the format of minirnn's own files.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections import namedtuple
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from minirnn import devices
from minirnn.engine.tensor import Tensor, tensor
from minirnn.engine.values import Values
from minirnn.io import checkpoint
from minirnn.io.atomic import atomic_write
from minirnn.io.checkpoint import encoded, first_line, own_entries, storable, verify

_DTYPES = {"BOOL": "?", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
_DTYPES |= {f"{sign}{8 * n}": f"<{sign.lower()}{n}" for sign in "IU" for n in (1, 2, 4, 8)}

_SMALL, _LARGEST_RATIO = 2**26, 200
"""The highest compression of an npz file with more unpacked bytes than `_SMALL`. Weights never compress that well."""

_DAMAGE: tuple[type[Exception], ...] = (
    *(ValueError, OSError, EOFError, KeyError, MemoryError, NotImplementedError, OverflowError, RuntimeError),
    *(RecursionError, SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What zipfile and NumPy raise for damaged files, depending on where the damage is."""


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read a safetensors or npz file, told apart by their content.

    Raises ValueError if the file is missing, of another kind, damaged, or holds pickles.

    Returns
    -------
    arrays : dict of str to ndarray
        bfloat16, which NumPy lacks, becomes float32 (every value keeps its bits).
    metadata : dict of str to str
        The metadata of the safetensors file; {} for npz.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ValueError(f"{name!r}: {error.strerror or error}\n  expected a safetensors or npz file") from error
    if data.startswith(b"PK"):
        return _read_npz(name, data), {}
    return _read_safetensors(name, data)


def _read_npz(name: str, data: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as z:
            unpacked = sum(entry.file_size for entry in z.zip.infolist())
            if unpacked > max(_SMALL, _LARGEST_RATIO * len(data)):
                raise ValueError(f"{len(data)} bytes that unpack to {unpacked}; numpy.savez writes without packing")
            other = [key for key in z.zip.namelist() if not key.endswith(".npy")]
            if any(key.endswith("data.pkl") for key in other):
                raise ValueError(
                    "a file of torch.save, which holds a pickle; save its weights with"
                    " safetensors.torch.save_file(torch.load(FILE)[KEY], NAME), without [KEY] if it holds nothing else"
                )
            if other:
                raise ValueError(f"a zip file with {other[0]!r} in it")
            found = {key: z[key] for key in z.files}
            plain = [key for key, array in found.items() if not isinstance(array, np.ndarray)]
            if plain:  # bytes: NumPy returns them for a member that does not begin like an array
                raise ValueError(f"{plain[0]!r} in it is not an array")
            return found
    except _DAMAGE as error:
        text = first_line(error)
        if "allow_pickle" in text:
            text = "it holds Python objects (pickles)"
        raise ValueError(f"{name!r}: {text}\n  expected an npz file of plain arrays, or safetensors") from error


def _read_safetensors(name: str, data: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    from safetensors import SafetensorError, deserialize

    try:
        views: Any = deserialize(data)  # checks sizes, offsets and JSON
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except (SafetensorError, ValueError, RecursionError) as error:
        what = "a pickle, which minirnn never opens" if data[:1] == b"\x80" and data[8:9] != b"{" else first_line(error)
        raise ValueError(f"{name!r}: {what}\n  expected a safetensors or npz file") from error
    arrays = {}
    for key, view in views:
        if view["dtype"] == "BF16":  # the upper half of a float32
            array = (np.frombuffer(view["data"], "<u2").astype("<u4") << 16).view("<f4")
        elif view["dtype"] in _DTYPES:
            array = np.frombuffer(view["data"], _DTYPES[view["dtype"]])
        else:
            raise ValueError(
                f"{name!r}: array {key[:80]!r} has dtype {view['dtype']}\n  expected F16, F32, F64 or BF16"
            )
        arrays[key] = array.reshape(view["shape"])
    own = dict(header.get("__metadata__") or {})
    try:
        verify(own, arrays, own.get("minirnn.metadata", ""))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{name!r}: {first_line(error)}\n  expected the file as minirnn wrote it\n  it was changed or damaged since"
        ) from error
    return arrays, own


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file atomically. `minirnn.io.load` can read it, with its metadata.

    Raises ValueError if `path` can't be written or is named like another kind of file.
    """
    if os.fspath(path).lower().endswith((".npz", ".npy", ".h5", ".hdf5", ".onnx", ".pt", ".pth", ".keras")):
        raise ValueError(
            f"{os.fspath(path)!r}: the file is written in the safetensors format\n  expected a name *.safetensors"
        )
    for key, text in metadata.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"write_arrays: metadata has {key!r}: {text!r}\n  expected strings, both")
    plain = {key: storable("write_arrays", key, array) for key, array in arrays.items()}
    with atomic_write(path, "wb") as file:
        file.write(encoded(plain, {**metadata, **own_entries(metadata, plain)}))


# ---- dicts, lists and tuples of arrays, numbers and strings in one file: `mr.save` and `mr.load`
#
# Arrays are stored under their path, ``model.weight_ih_l0``. The entry `_STRUCTURE` of the metadata describes the
# containers; a state dict, which is a dict of arrays only, has none. A named tuple of minirnn, such as a state with the
# fields h and c, is stored with its name and fields. Files of minirnn 1.0 have only their values in order, and no entry
# `_NAMES`.

_STRUCTURE, _NAMES = "minirnn.structure", "minirnn.lookup"
_PLAIN = (bool, int, float, str, type(None))


def save(obj: Any, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write values that `load` returns again: ``mr.save({"epoch": 3, "model": net.state_dict()}, path)``.

    Raises TypeError if it contains anything else. Save a module or an optimizer by its state dict.

    Parameters
    ----------
    obj : dict, list, tuple, Tensor, array, number, str or None
        Dicts, lists and tuples may hold any of these. So may minirnn's named tuples: states, outputs, PackedSequence.
    f : path or binary file
        A file with a path is replaced only when everything is written.
    """
    arrays: dict[str, Any] = {}
    structure = _apart(obj, "", arrays)
    flat = (
        isinstance(obj, Mapping) and list(obj) == list(arrays) and not any(isinstance(v, Tensor) for v in obj.values())
    )
    checkpoint.save(f, arrays, {} if flat else {_STRUCTURE: structure, _NAMES: True})


def load(f: str | os.PathLike[str] | IO[bytes], map_location: Any = None, weights_only: bool = True) -> Any:
    """What `save` wrote. Tensors go to the device `map_location`, if one is given; `weights_only` exists for
    compatibility with torch.
    """
    arrays, metadata = checkpoint.load(f)
    values = {name: array.view(Values) for name, array in arrays.items()}
    if _STRUCTURE not in metadata:
        return values
    place = devices.get(map_location) if isinstance(map_location, (str, devices.Device)) else None
    if _NAMES not in metadata and (where := _pair_in(metadata[_STRUCTURE], values)) is not None:
        warnings.warn(
            f"load: the file has a pair without names{where}, as minirnn 1.0 stored the state of an LSTM\n"
            "  expected named states; write LSTMHidden(*pair) if h is first, LSTMState(*pair) if c is",
            stacklevel=2,
        )
    return _together(metadata[_STRUCTURE], values, place)


def _apart(value: Any, path: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """A description of `value` for JSON; arrays go to `arrays` under their path."""
    if type(value) in _PLAIN:
        return {"plain": value}
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        name = path or "value"
        while name in arrays:  # {"a": {"b": x}, "a.b": y}
            name += "'"
        arrays[name] = value
        kind = "tensor" if isinstance(value, Tensor) else "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: name}
    if isinstance(value, Mapping):
        return {
            "dict": [
                [_apart(k, path, {}), _apart(v, f"{path}.{k}" if path else str(k), arrays)] for k, v in value.items()
            ]
        }
    if isinstance(value, tuple) and hasattr(value, "_fields") and type(value).__module__.startswith("minirnn."):
        parts = [
            [n, _apart(v, f"{path}.{n}" if path else n, arrays)]
            for n, v in dict(zip(value._fields, value, strict=True)).items()
        ]
        return {"named": [type(value).__name__, parts]}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        inside = [_apart(v, f"{path}.{k}" if path else str(k), arrays) for k, v in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": inside}
    where = f" at {path!r}" if path else ""
    raise TypeError(
        f"save: got a {type(value).__name__}{where}\n"
        "  expected arrays, numbers and texts, or dicts, lists and tuples of them: nothing is pickled"
        + ("\n  likely tuple(value) or value._asdict() is meant" if hasattr(value, "_fields") else "")
        + ("\n  likely its state_dict() is meant" if hasattr(value, "state_dict") else "")
    )


def _together(node: dict[str, Any], values: dict[str, Any], place: Any) -> Any:
    ((kind, what),) = node.items()
    if kind == "plain":
        return what
    if kind == "dict":
        return {_together(k, values, place): _together(v, values, place) for k, v in what}
    if kind in ("list", "tuple"):
        inside = [_together(v, values, place) for v in what]
        return inside if kind == "list" else tuple(inside)
    if kind == "named":
        name, parts = what
        fields = tuple(field for field, _ in parts)
        return _type_of(name, fields)(*[_together(v, values, place) for _, v in parts])
    if kind == "tensor":
        return tensor(values[what], device=place)
    return values[what][()] if kind == "scalar" else values[what]


def _type_of(name: str, fields: tuple[str, ...]) -> Any:
    """The named tuple of minirnn with this name and fields; for the states of an own layer, a new one."""
    for known in tuple.__subclasses__():
        if known.__name__ == name and known.__module__.startswith("minirnn.") and known.__dict__["_fields"] == fields:
            return known
    return namedtuple(name, fields)


def _pair_in(node: dict[str, Any], values: dict[str, Any], path: str = "") -> str | None:
    """Where the first tuple of two arrays of one shape is, as text for a message; None if there is none."""
    ((kind, what),) = node.items()
    if kind == "tuple" and len(what) == 2:
        shapes = [values[array].shape for v in what for of, array in v.items() if of in ("tensor", "array")]
        if len(shapes) == 2 and shapes[0] == shapes[1]:
            return f" at {path!r}" if path else ""
    if kind not in ("dict", "list", "tuple"):
        return None
    for k, v in [(k.get("plain"), v) for k, v in what] if kind == "dict" else enumerate(what):
        if (found := _pair_in(v, values, f"{path}.{k}" if path else str(k))) is not None:
            return found
    return None
