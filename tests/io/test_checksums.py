"""Any bit that changed after a checkpoint was written is noticed.

Tests `minirnn/io/checkpoint.py`.
"""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from minirnn import io
from minirnn.io.arrays import read_arrays, write_arrays
from minirnn.io.checkpoint import _CHECKSUMS_KEY as KEY
from minirnn.io.checkpoint import checksum as of_array

FLIPS = 400


@pytest.fixture
def path(tmp_path, rng):
    arrays = {
        "W": rng.normal(size=(3, 5)).astype("f4"),
        "b": rng.normal(size=7),
        "half": rng.normal(size=(2, 4)).astype("f2"),
        "empty": np.zeros((0, 3)),
        "0-d": np.array(3, "i8"),
        "ok": np.array([True, False]),
    }
    io.save(tmp_path / "m.safetensors", arrays, {"step": 7, "lr": 0.1})
    return tmp_path / "m.safetensors"


def test_every_flipped_bit_is_noticed(path, rng):
    data = path.read_bytes()
    before, options = io.load(path)
    for place in rng.choice(8 * len(data), FLIPS, replace=False):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            arrays, metadata = io.load(path)
        except ValueError as error:
            assert "m.safetensors" in str(error) and len(str(error).splitlines()) <= 3
            continue
        # A change of the key or of a blank has no effect.
        assert metadata == options and arrays.keys() == before.keys()
        for name in arrays:
            np.testing.assert_array_equal(arrays[name], before[name])


def test_an_array_that_changed_is_named(path):
    data = bytearray(path.read_bytes())
    arrays, _ = io.load(path)
    data[data.index(arrays["b"].tobytes()) + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="the array 'b' is not what was written") as caught:
        io.load(path)
    assert "changed or damaged after it was written" in str(caught.value)


def test_files_without_checksums_are_read(path):
    data = path.read_bytes()
    path.write_bytes(data.replace(KEY.encode(), b"minirnn.otherwise"))
    assert io.load(path)[1] == {"step": 7, "lr": 0.1}


def test_converted_weights_also_have_them(tmp_path, rng):
    write_arrays(tmp_path / "w.safetensors", {"W": rng.normal(size=(2, 3)).T}, {"from": "torch"})
    _, metadata = read_arrays(tmp_path / "w.safetensors")
    assert set(json.loads(metadata[KEY])) == {"", "W"}
    io.load(tmp_path / "w.safetensors")


def test_the_checksum_is_that_of_zlib():
    array = np.arange(6, dtype=">i4").reshape(2, 3)
    expected = zlib.crc32(b"int32 [2, 3]" + np.arange(6, dtype="<i4").tobytes())
    assert of_array(array) == of_array(array.T.copy().T) == f"{expected:08x}" != of_array(array.reshape(3, 2))
