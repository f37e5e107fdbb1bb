"""Damaged files: bytes changed, cut, put in and taken out, and safetensors headers that lie. All drawn from a seed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

HUGE = (-1, 0, 1, 2**31, 2**40, 2**62, 2**63, 2**64 - 1, 2**70)


def flipped(rng: np.random.Generator, data: bytes) -> bytes:
    """A few bytes changed, half of the time among the first 300, where headers are."""
    out = bytearray(data)
    end = len(out) if rng.random() < 0.5 else min(len(out), 300)
    for at in rng.integers(0, end, rng.integers(1, 9)):
        out[at] = rng.integers(0, 256)
    return bytes(out)


def cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: rng.integers(0, len(data))]


def spliced(rng: np.random.Generator, data: bytes) -> bytes:
    """A piece taken out, doubled, or replaced by noise."""
    a, b = sorted(rng.integers(0, len(data), 2))
    middle = (b"", data[a:b] * 2, rng.bytes(int(rng.integers(0, 64))))[rng.integers(0, 3)]
    return data[:a] + middle + data[b:]


def lying_size(rng: np.random.Generator, data: bytes) -> bytes:
    """Another size of the header in the first 8 bytes."""
    size = struct.unpack("<Q", data[:8])[0]
    sizes = (0, 1, size - 1, size + 1, 10**8, 10**8 + 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
    return struct.pack("<Q", int(rng.choice(np.array(sizes, np.uint64)))) + data[8:]


def lying_header(rng: np.random.Generator, data: bytes) -> bytes:
    """A safetensors file whose header says something else in one or two places."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    for _ in range(rng.integers(1, 3)):
        key = str(rng.choice(sorted(header)))
        LIES[rng.integers(0, len(LIES))](rng, header, key)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def another_value(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    header[key] = (None, [], {}, "text", 3, -1.5, True, [[[]]], {"dtype": "F32"})[rng.integers(0, 9)]


def another_dtype(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    names = ("F16", "F64", "BF16", "F8_E4M3", "C64", "I4", "U64", "BOOL", "O", "|O", "object", "", None, 7, ["F32"])
    if isinstance(header.get(key), dict):
        header[key]["dtype"] = names[rng.integers(0, len(names))]


def another_shape(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    shapes = ([n] for n in HUGE), ([2**32, 2**32], [-1, -6], [1.5], ["6"], None, "23", {}, [[2, 3]], [1] * 100)
    every = [*shapes[0], *shapes[1]]
    if isinstance(header.get(key), dict):
        header[key]["shape"] = every[rng.integers(0, len(every))]


def other_offsets(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    a, b = (HUGE[k] for k in rng.integers(0, len(HUGE), 2))
    offsets = ([a, b], [24, 0], [0, 24.5], [0], [], None, "ab", [None, None], [0, 24, 48])
    if isinstance(header.get(key), dict):
        header[key]["data_offsets"] = offsets[rng.integers(0, len(offsets))]


def another_name(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    names = ("../../outside", "/tmp/outside", "a\0b", "", "\ud800", "w" * 5000, "__metadata__", "__class__", "$(id)")
    header[names[rng.integers(0, len(names))]] = header.pop(key, None)


def deep(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    nested: Any = 1
    for _ in range(int(rng.choice([100, 900]))):
        nested = [nested]
    header[key] = nested


def other_metadata(rng: np.random.Generator, header: dict[str, Any], key: str) -> None:
    texts = (
        "",
        "{",
        "null",
        "[]",
        "3",
        "NaN",
        "[" * 100_000,
        '{"a": 1e999}',
        '{"a": ' * 5000,
        "\0",
        '{"__class__": "os"}',
    )
    metadata = header.setdefault("__metadata__", {})
    if isinstance(metadata, dict):
        entry = ("minirnn.metadata", "minirnn.checkpoint")[rng.integers(0, 2)]
        metadata[entry] = (*texts, None, 3, [], {})[rng.integers(0, len(texts) + 4)]


LIES: tuple[Callable[[np.random.Generator, dict[str, Any], str], None], ...] = (
    another_value,
    another_dtype,
    another_shape,
    other_offsets,
    another_name,
    deep,
    other_metadata,
)

BYTES = (flipped, cut, spliced)
SAFETENSORS = (*BYTES, lying_size, lying_header, lying_header, lying_header)
