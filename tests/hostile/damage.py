"""Damaged files: bytes changed, cut, inserted and removed, and false safetensors headers. All drawn from a seed."""

import json
import struct
from typing import Any

import numpy as np

VALUES = (None, True, -1, 0, 2**70, 1e300, float("nan"), "", "text", "\0", [], [1, 2], {}, {"a": 1}, [[]])
"""Wrong values in JSON."""

HUGE = (-1, 1, 2**31, 2**40, 2**62, 2**63, 2**64 - 1)
NAMES = (
    "F16",
    "F64",
    "BF16",
    "F8_E4M3",
    "C64",
    "BOOL",
    "O",
    "../../outside",
    "a\0b",
    "\ud800",
    "w" * 5000,
    "__metadata__",
)
LISTS = ([2**32, 2**32], [-1, -6], [1.5], ["6"], [1] * 100, [24, 0], [0, 24.5], [0, 24, 48], [[2, 3]])
LIES = (*VALUES, *HUGE, *NAMES, *LISTS, "[" * 100_000, '{"a": 1e999}', {"dtype": "F32"})
"""The same for the header of a safetensors file."""


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
    """A piece removed, doubled, or replaced by noise."""
    a, b = sorted(rng.integers(0, len(data), 2))
    middle = (b"", data[a:b] * 2, rng.bytes(int(rng.integers(0, 64))))[rng.integers(0, 3)]
    return data[:a] + middle + data[b:]


def lying_size(rng: np.random.Generator, data: bytes) -> bytes:
    """Another size of the header in the first 8 bytes."""
    size = struct.unpack("<Q", data[:8])[0]
    sizes = (0, 1, size - 1, size + 1, 10**8, 10**8 + 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
    return struct.pack("<Q", int(rng.choice(np.array(sizes, np.uint64)))) + data[8:]


def lying_header(rng: np.random.Generator, data: bytes) -> bytes:
    """A safetensors file whose header is changed in one or two places."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    for _ in range(rng.integers(1, 3)):
        header = mutated(rng, header, LIES)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def mutated(rng: np.random.Generator, value: Any, others: tuple[Any, ...] = VALUES, depth: int = 0) -> Any:
    """JSON with one value somewhere replaced by one of `others`, or dropped."""
    if depth and (not isinstance(value, (dict, list)) or not value or rng.random() < 0.2):
        return others[rng.integers(0, len(others))]
    if isinstance(value, dict):
        key = str(rng.choice(sorted(value)))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutated(rng, value[key], others, depth + 1)}
    k = int(rng.integers(0, len(value)))
    return [*value[:k], mutated(rng, value[k], others, depth + 1), *value[k + 1 :]]


BYTES = (flipped, cut, spliced)
SAFETENSORS = (*BYTES, lying_size, lying_header, lying_header, lying_header)
