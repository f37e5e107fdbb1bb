"""`save` and `load`, as in torch: dicts, lists and tuples of arrays, numbers and strings in one safetensors file.

Arrays are stored under their path, ``model.weight_ih_l0``. The entry `_STRUCTURE` of the metadata describes the
containers; a state dict, which is a dict of arrays only, has none. Nothing is pickled.

A named tuple of minirnn, such as a state with the fields h and c, is stored with its name and fields. Files of minirnn
1.0 have only their values in order, and no entry `_NAMES`.
"""

from __future__ import annotations

import os
import warnings
from collections import namedtuple
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from minirnn import devices
from minirnn.engine.tensor import Tensor, tensor
from minirnn.engine.values import Values
from minirnn.io import checkpoint

_STRUCTURE, _NAMES = "minirnn.structure", "minirnn.names"
_PLAIN = (bool, int, float, str, type(None))


def save(obj: Any, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write values that `load` returns again: ``mr.save({"epoch": 3, "model": net.state_dict()}, path)``.

    Parameters
    ----------
    obj : dict, list, tuple, Tensor, array, number, str or None
        Dicts, lists and tuples may hold any of these. So may minirnn's named tuples: states, outputs, PackedSequence.
    f : path or binary file
        A file with a path is replaced only when everything is written.

    Raises
    ------
    TypeError
        If it contains anything else. Save a module or an optimizer by its state dict.
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
        parts = [[n, _apart(v, f"{path}.{n}" if path else n, arrays)] for n, v in zip(value._fields, value, strict=True)]
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
