"""Messages between the judge and an answer arrive unchanged, and damaged or dangerous ones are rejected."""

import json
import struct

import numpy as np
import pytest

from minirnn.learn.sandbox import protocol


def test_messages_survive_the_pipe():
    message = {"a": np.arange(6).reshape(2, 3), "b": [1, (2.5, None)], "c": "text", "d": np.float32(2)}
    back = protocol.unpack(protocol.pack(message))
    assert back["b"] == [1, (2.5, None)] and back["c"] == "text" and back["d"].dtype == np.float32
    np.testing.assert_array_equal(back["a"], message["a"])


def test_damaged_messages_are_refused(rng):
    data = protocol.pack({"a": rng.normal(size=(3, 4)), "b": "text"})
    for _ in range(300):
        damaged = bytearray(data[: rng.integers(1, len(data))] if rng.random() < 0.3 else data)
        for k in rng.integers(0, len(damaged), size=3):
            damaged[k] = rng.integers(256)
        try:
            protocol.unpack(bytes(damaged))
        except protocol.BadMessage:
            continue


def test_all_kinds_of_arrays_survive(rng):
    arrays = [np.asfortranarray(rng.normal(size=(3, 4)))[::2], np.zeros((0, 3)), np.array(2), np.array(["ab", "c"]),
              np.ones(2, np.float16), np.array([1j]), np.array(["2027-02-01"], "M8[D]"), np.array([True]),
              np.arange(3, dtype=">i2")]  # fmt: skip
    for array, back in zip(arrays, protocol.unpack(protocol.pack({"a": arrays}))["a"], strict=True):
        assert back.dtype == array.dtype and back.shape == array.shape and back.flags.writeable
        np.testing.assert_array_equal(back, array)


def forged(kinds, numbers=b"", plain=None, text=None):
    text = (
        json.dumps([{"a": {"array": 0, "scalar": False}} if plain is None else plain, kinds]) if text is None else text
    )
    return struct.pack("<I", len(text)) + text.encode() + numbers


@pytest.mark.parametrize(
    "data",
    [
        forged([["|O", [1]]], bytes(8)),
        forged([["|O8", [1]]], bytes(8)),
        forged([["f8,O", [1]]], bytes(16)),
        forged([["<f8", [1 << 62, 4]]], bytes(8)),
        forged([["<f8", [-1]]], bytes(8)),
        forged([["<f8", [True]]], bytes(8)),
        forged([["<f8", [0, 1 << 70]]]),
        forged([["<f8", [1] * 100]], bytes(8)),
        forged([["|S0", [1 << 60]]]),
        forged([["<f8", [1]]], bytes(9)),
        forged([["<f8", [1]]], bytes(7)),
        forged([["<f8", [1]]], bytes(8), plain=[1]),
        forged([["<f8", [1]]], bytes(8), plain={"dict": {"a": {"array": 7, "scalar": False}}}),
        forged([], text="[" * 100_000),
        forged([], text="[{}, 3]"),
        forged([], text="x" * (protocol.MOST_TEXT + 1)),
        struct.pack("<I", 1 << 31) + b"{}",
        b"\x93NUMPY",
        b"",
    ],
)  # fmt: skip
def test_forged_messages_are_refused(data):
    with pytest.raises(protocol.BadMessage):
        protocol.unpack(data)


def test_objects_are_not_sent():
    for value in (np.array([object()]), object(), np.array([(1, None)], "i4,O")):
        with pytest.raises(TypeError):
            protocol.pack({"a": value})
