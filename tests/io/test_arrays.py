"""Weight files of other programs: their contents, byte by byte, and the limits."""

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from minirnn.io import read_arrays, write_arrays


def safetensors(header: dict[str, object], data: bytes) -> bytes:
    """A file as its specification has it: the size of the header, the header, the arrays."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_bfloat16_is_the_upper_half_of_a_float32(tmp_path: Path) -> None:
    entry = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}
    data = struct.pack("<4H", 0x3F80, 0xC040, 0x3FC0, 0x7F80)
    (tmp_path / "w").write_bytes(safetensors({"w": entry}, data))
    arrays, metadata = read_arrays(tmp_path / "w")
    np.testing.assert_array_equal(arrays["w"], np.array([[1.0, -3.0], [1.5, np.inf]], np.float32))
    assert arrays["w"].dtype == np.float32 and metadata == {}


def test_the_metadata_of_another_program_is_handed_on(tmp_path: Path) -> None:
    entry = {"dtype": "I16", "shape": [3], "data_offsets": [0, 6]}
    data = safetensors({"__metadata__": {"format": "pt"}, "w": entry}, struct.pack("<3h", 1, -2, 3))
    (tmp_path / "w").write_bytes(data)
    arrays, metadata = read_arrays(tmp_path / "w")
    assert (arrays["w"].tolist(), arrays["w"].dtype, metadata) == ([1, -2, 3], np.int16, {"format": "pt"})


def test_a_damaged_header_that_begins_with_the_byte_of_a_pickle_is_not_called_one(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(struct.pack("<Q", 0x80) + b"{" + b"x" * 0x7F)
    with pytest.raises(ValueError, match="expected a safetensors or npz file") as caught:
        read_arrays(tmp_path / "w")
    assert "pickle" not in str(caught.value)
    (tmp_path / "w").write_bytes(b"a text without any braces in it")
    with pytest.raises(ValueError, match="expected a safetensors or npz file") as caught:
        read_arrays(tmp_path / "w")
    assert "pickle" not in str(caught.value)


def test_an_npz_file_is_read_packed_or_not(tmp_path: Path) -> None:
    zeros, numbers = np.zeros(100_000), np.arange(3, dtype=np.float16)
    np.savez_compressed(tmp_path / "packed.npz", zeros=zeros, numbers=numbers)  # 1 kB that unpacks to 800
    np.savez(tmp_path / "plain.npz", zeros=zeros, numbers=numbers)
    for name in ("packed.npz", "plain.npz"):
        arrays, metadata = read_arrays(tmp_path / name)
        assert metadata == {} and arrays.keys() == {"zeros", "numbers"}
        np.testing.assert_array_equal(arrays["zeros"], zeros)
        assert arrays["numbers"].dtype == np.float16


def test_a_file_that_unpacks_to_far_more_than_weights_do_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", zeros=np.zeros(100_000))
    unpacked, packed = 100_000 * 8 + 128, (tmp_path / "bomb.npz").stat().st_size
    monkeypatch.setattr("minirnn.io.arrays._SMALL", unpacked)
    assert read_arrays(tmp_path / "bomb.npz")[0]["zeros"].size == 100_000
    monkeypatch.setattr("minirnn.io.arrays._SMALL", unpacked - 1)
    with pytest.raises(ValueError, match=f"{packed} bytes that unpack to {unpacked}"):
        read_arrays(tmp_path / "bomb.npz")
    np.savez(tmp_path / "plain.npz", zeros=np.zeros(200_000))  # larger still, but not packed
    assert read_arrays(tmp_path / "plain.npz")[0]["zeros"].size == 200_000


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        (
            {"w/data.pkl": b"", "w/version": b"3"},
            r"a file of torch.save, .* with safetensors.torch.save_file\(torch.load\(FILE\)\[KEY\], NAME\)",
        ),
        ({"w/version": b"3", "notes.txt": b""}, "a zip file with 'w/version' in it"),
        ({"a.npy": b"no array"}, "'a' in it is not an array"),
    ],
)
def test_a_zip_file_of_something_else_is_named(tmp_path: Path, entries: dict[str, bytes], match: str) -> None:
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as file:
        for name, data in entries.items():
            file.writestr(name, data)
    with pytest.raises(ValueError, match=f"{match}.*\n  expected an npz file of plain arrays"):
        read_arrays(tmp_path / "w.npz")


def test_python_objects_in_an_npz_file_are_called_pickles(tmp_path: Path) -> None:
    np.savez(tmp_path / "o.npz", w=np.array([None]))
    with pytest.raises(ValueError, match=r"it holds Python objects \(pickles\)"):
        read_arrays(tmp_path / "o.npz")


@pytest.mark.parametrize("metadata", [{"step": 3}, {3: "step"}])
def test_names_and_values_of_the_metadata_are_both_strings(tmp_path: Path, metadata: dict) -> None:
    with pytest.raises(TypeError, match="expected strings, both"):
        write_arrays(tmp_path / "w.safetensors", {"w": np.zeros(2)}, metadata)


def test_every_dtype_that_is_read_is_written(tmp_path: Path) -> None:
    dtypes = ["?", "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
    given = {text: np.array([[0, 1], [1, 0]], text) for text in dtypes}
    write_arrays(tmp_path / "w.safetensors", given, {})
    for text, array in read_arrays(tmp_path / "w.safetensors")[0].items():
        assert array.dtype == given[text].dtype
        np.testing.assert_array_equal(array, given[text])
