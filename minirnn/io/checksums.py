"""Checksums of the contents of a checkpoint: a bit that changed on a disk or in a copy is noticed when it is read.

They are CRC-32, one for each array with its dtype and shape, and one for the metadata. CRC-32 finds every change of up
to 32 neighboring bits. It misses one in four billion other changes. It does not protect against someone who changes
a file on purpose.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

import numpy as np

KEY = "minirnn.checksums"
"""The entry in the metadata of a safetensors file: JSON, name -> 8 hexadecimal digits; the name of the metadata is
empty.
"""


def of_array(array: np.ndarray) -> str:
    """The checksum of an array: its dtype, its shape and its bytes, little-endian and in C order."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    head = zlib.crc32(f"{plain.dtype.name} {list(plain.shape)}".encode())
    return f"{zlib.crc32(plain.reshape(-1).view(np.uint8).data, head):08x}"


def entry(arrays: Mapping[str, np.ndarray], metadata: str) -> dict[str, str]:
    """The checksums of all arrays and of the metadata as the JSON text that is written."""
    found = {"": f"{zlib.crc32(metadata.encode()):08x}"} | {name: of_array(array) for name, array in arrays.items()}
    return {KEY: json.dumps(found, sort_keys=True)}


def verify(own: Mapping[str, str], arrays: Mapping[str, np.ndarray], metadata: str) -> None:
    """Compare everything that was read with its checksum. Files of older versions have no checksums, and pass.

    Raises
    ------
    ValueError
        Something differs; the message names it.
    """
    if KEY not in own:
        return
    told, found = json.loads(own[KEY]), json.loads(entry(arrays, metadata)[KEY])
    if not isinstance(told, dict):
        raise ValueError("its list of checksums is damaged")
    if lacking := sorted(told.keys() - found.keys()):
        raise ValueError(f"the array {lacking[0][:80]!r} is missing")
    for name, value in found.items():
        if told.get(name) != value:
            what = f"the array {name[:80]!r}" if name else "the metadata"
            raise ValueError(f"{what} is not what was written: its checksum is {value}, expected {told.get(name)}")
