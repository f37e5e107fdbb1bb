"""Messages between the judge and an answer: what is sent comes back, and what is damaged or dangerous is refused."""

from __future__ import annotations

import io
import zipfile

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


def test_pickles_and_compressed_bombs_are_refused():
    out = io.BytesIO()
    np.savez(out, a=np.array([object()], dtype=object), text=np.array("{}"))
    with pytest.raises(protocol.BadMessage):
        protocol.unpack(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.npy", bytes(1 << 24))
    with pytest.raises(protocol.BadMessage, match="compressed"):
        protocol.unpack(out.getvalue())
    with pytest.raises(TypeError):
        protocol.pack({"a": np.array([object()])})
