import json
import math
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minirnn as mr
from minirnn.io import load, save
from minirnn.io.arrays import read_arrays, write_arrays
from minirnn.io.checkpoint import _CHECKSUMS_KEY as KEY
from minirnn.io.checkpoint import checksum as of_array
from minirnn.io.checkpoint import first_line
from tests.examples import CHARACTERS, examples

DTYPES = [np.bool_, np.float16, np.float32, np.float64]
DTYPES += [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def assert_same_bits(got, expected):
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    assert got.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3, 0, 2), (2, 3, 5)])
def test_every_dtype_and_shape_comes_back_bit_for_bit(tmp_path, dtype, shape):
    count = int(np.prod(shape))
    data = np.random.default_rng(6).bytes(count * np.dtype(dtype).itemsize)  # NaN payloads and denormals among them
    if dtype is np.bool_:
        data = bytes(byte & 1 for byte in data)
    array = np.frombuffer(data, dtype).reshape(shape)
    save(tmp_path / "c.safetensors", {"a": array, "b": array}, {})
    arrays, metadata = load(tmp_path / "c.safetensors")
    assert sorted(arrays) == ["a", "b"]
    assert_same_bits(arrays["a"], array)
    assert metadata == {}


@examples(50)
@given(
    st.dictionaries(
        st.text(CHARACTERS).filter(lambda name: name != "__metadata__"),
        hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)),
        max_size=5,
    )
)
def test_any_dictionary_of_arrays_comes_back(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("any") / "c.safetensors"
    save(path, arrays, {})
    again, _ = load(path)
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert_same_bits(again[name], array)


def test_views_are_stored_as_what_they_show_not_as_the_memory_under_them(tmp_path):
    base = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    views = {
        "transposed": base.T,
        "swapped": base.swapaxes(0, 1),
        "every second": base[:, ::2],
        "backwards": base[::-1],
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(base[0, 0], (7, 5)),
        "big-endian": base.astype(">f4"),
    }
    save(tmp_path / "c.safetensors", views, {})
    arrays, _ = load(tmp_path / "c.safetensors")
    for name, view in views.items():
        np.testing.assert_array_equal(arrays[name], view, err_msg=name)
        assert arrays[name].dtype == np.dtype("<f4")


def test_what_numpy_can_read_as_an_array_can_be_stored(tmp_path):
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    weights = mr.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    given = {"holder": Holder(), "scalar": np.float32(2.5), "list": [1, 2], "w": weights, "b": weights.sum()}
    save(tmp_path / "c.safetensors", given, {})
    arrays, _ = load(tmp_path / "c.safetensors")
    assert_same_bits(arrays["w"], weights.numpy())
    assert_same_bits(arrays["b"], np.array(15.0))
    np.testing.assert_array_equal(arrays["holder"], [0, 1, 2])
    assert_same_bits(arrays["scalar"], np.array(2.5, np.float32))
    np.testing.assert_array_equal(arrays["list"], [1, 2])


def test_loaded_arrays_can_be_written_to(tmp_path):
    save(tmp_path / "c.safetensors", {"a": np.zeros(3), "b": np.zeros(2)}, {})
    arrays, _ = load(tmp_path / "c.safetensors")
    arrays["a"] += 1
    arrays["b"][:] = 2
    assert load(tmp_path / "c.safetensors")[0]["a"].tolist() == [0, 0, 0]


def test_other_programs_read_the_arrays(tmp_path):
    torch_reader = pytest.importorskip("safetensors.torch")
    pytest.importorskip("torch")
    array = np.random.default_rng(6).normal(size=(3, 5)).astype(np.float32)
    save(tmp_path / "c.safetensors", {"w": array.T}, {"step": 3})
    np.testing.assert_array_equal(torch_reader.load_file(tmp_path / "c.safetensors")["w"].numpy(), array.T)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS), inner, max_size=4),
    max_leaves=8,
)


def same_types(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return all(same_types(a[key], b[key]) for key in a)
    return not isinstance(a, list) or all(map(same_types, a, b))


@examples(60)
@given(st.dictionaries(st.text(CHARACTERS), JSON, max_size=5))
def test_metadata_comes_back_equal_and_of_the_same_types(tmp_path_factory, metadata):
    path = tmp_path_factory.mktemp("meta") / "c.safetensors"
    save(path, {}, metadata)
    _, again = load(path)
    assert again == metadata
    assert same_types(again, metadata)


def test_integers_of_any_size_and_floats_of_any_kind_come_back(tmp_path):
    state = np.random.default_rng(6).bit_generator.state  # 128-bit integers
    metadata = {"rng": state, "floats": [0.1, 1 / 3, 5e-324, -0.0, math.inf, -math.inf, math.nan], "step": 2**70}
    save(tmp_path / "c.safetensors", {}, metadata)
    _, again = load(tmp_path / "c.safetensors")
    assert again["rng"] == state
    assert again["step"] == 2**70
    assert list(map(repr, again["floats"])) == list(map(repr, metadata["floats"]))


def test_metadata_that_json_would_change_is_refused_by_its_place(tmp_path):
    with pytest.raises(TypeError, match=r"metadata\['a'\]\[1\]\['b'\] is ndarray"):
        save(tmp_path / "c.safetensors", {}, {"a": [1, {"b": np.arange(3)}]})
    assert os.listdir(tmp_path) == []


@pytest.fixture
def whole(tmp_path):
    """The bytes of a checkpoint."""
    path = tmp_path / "whole.safetensors"
    save(path, {"w": np.arange(6.0).reshape(2, 3), "b": np.arange(3)}, {"step": 12})
    data = path.read_bytes()
    path.unlink()
    return data


def test_a_file_cut_off_anywhere_is_refused(tmp_path, whole):
    path = tmp_path / "cut.safetensors"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"checkpoint '.*cut.safetensors': ") as caught:
            load(path)
        message = str(caught.value)
        assert len(message.splitlines()) == 3
        assert "truncated" in message or "interrupted" in message


def test_bytes_behind_the_arrays_are_refused(tmp_path, whole):
    (tmp_path / "long.safetensors").write_bytes(whole + b"x")
    with pytest.raises(ValueError, match="long.safetensors'.*\n.*\n.*changed or damaged"):
        load(tmp_path / "long.safetensors")


def test_a_safetensors_file_of_another_program_is_told_from_a_damaged_one(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.zeros(3)}, tmp_path / "other.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="without the entry 'minirnn.checkpoint'\n.*\n.*another program"):
        load(tmp_path / "other.safetensors")
    save_file({"w": np.zeros(3)}, tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match="without the entry"):
        load(tmp_path / "none.safetensors")


def test_a_newer_format_is_named(tmp_path):
    from safetensors.numpy import save_file

    metadata = {"minirnn.checkpoint": "2", "minirnn.metadata": "{}"}
    save_file({"w": np.zeros(3)}, tmp_path / "new.safetensors", metadata=metadata)
    with pytest.raises(ValueError, match="format version '2'\n  expected version '1'\n.*newer minirnn"):
        load(tmp_path / "new.safetensors")


def test_the_metadata_is_plain_json_for_other_readers(tmp_path):
    from safetensors import safe_open

    save(tmp_path / "c.safetensors", {"a": np.zeros(3)}, {"step": 7, "text": "größe"})
    with safe_open(tmp_path / "c.safetensors", "np") as file:
        metadata = file.metadata()
    assert metadata["minirnn.checkpoint"] == "1"
    assert json.loads(metadata["minirnn.metadata"]) == {"step": 7, "text": "größe"}


def test_the_largest_header_is_written_and_one_byte_more_is_not(tmp_path, monkeypatch):
    save(tmp_path / "c.safetensors", {"a": np.zeros(2)}, {"text": "x" * 100})
    size = int.from_bytes((tmp_path / "c.safetensors").read_bytes()[:8], "little")
    monkeypatch.setattr("minirnn.io.checkpoint._LARGEST_HEADER", size)
    save(tmp_path / "c.safetensors", {"a": np.zeros(2)}, {"text": "x" * 100})
    monkeypatch.setattr("minirnn.io.checkpoint._LARGEST_HEADER", size - 1)
    with pytest.raises(ValueError, match=f"take {size} bytes"):
        save(tmp_path / "c.safetensors", {"a": np.zeros(2)}, {"text": "x" * 100})


def test_a_header_whose_size_looks_like_a_pickle_is_read(tmp_path):
    for length in range(0, 264, 8):  # headers are padded to multiples of 8 bytes
        save(tmp_path / "c.safetensors", {}, {"text": "x" * length})
        if (tmp_path / "c.safetensors").read_bytes()[0] == 0x80:
            break
    else:
        pytest.fail("no header has a size whose lowest byte is that of a pickle")
    assert load(tmp_path / "c.safetensors")[1] == {"text": "x" * length}


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"12345678", "8 bytes, its header alone needs more"),
        (bytes(8), "8 bytes, its header alone needs more"),
        (b"123456789", "it starts with b'123456789'"),
        (struct.pack("<Q", 0) + b"{", "9 bytes, its header alone needs more"),
        (b"\x80\x04K\x01.", "a pickle"),
        (b"PK\x03\x04", "a zip file"),
    ],
)
def test_the_shortest_files_that_are_no_checkpoints_are_named(tmp_path, data, what):
    (tmp_path / "short").write_bytes(data)
    with pytest.raises(ValueError, match=f"short': {what}"):
        load(tmp_path / "short")


def test_what_an_error_says_is_cut_to_a_line_of_200_letters():
    assert first_line(ValueError("x" * 300 + "\nmore")) == "x" * 200
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(ValueError("")) == "ValueError"


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
    save(tmp_path / "m.safetensors", arrays, {"step": 7, "lr": 0.1})
    return tmp_path / "m.safetensors"


def test_every_flipped_bit_is_noticed(path, rng):
    data = path.read_bytes()
    before, options = load(path)
    for place in rng.choice(8 * len(data), FLIPS, replace=False):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            arrays, metadata = load(path)
        except ValueError as error:
            assert "m.safetensors" in str(error) and len(str(error).splitlines()) <= 3
            continue
        # A change of the key or of a blank has no effect.
        assert metadata == options and arrays.keys() == before.keys()
        for name in arrays:
            np.testing.assert_array_equal(arrays[name], before[name])


def test_an_array_that_changed_is_named(path):
    data = bytearray(path.read_bytes())
    arrays, _ = load(path)
    data[data.index(arrays["b"].tobytes()) + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="the array 'b' is not what was written") as caught:
        load(path)
    assert "changed or damaged after it was written" in str(caught.value)


def test_files_without_checksums_are_read(path):
    data = path.read_bytes()
    path.write_bytes(data.replace(KEY.encode(), b"minirnn.otherwise"))
    assert load(path)[1] == {"step": 7, "lr": 0.1}


def test_converted_weights_also_have_them(tmp_path, rng):
    write_arrays(tmp_path / "w.safetensors", {"W": rng.normal(size=(2, 3)).T}, {"from": "torch"})
    _, metadata = read_arrays(tmp_path / "w.safetensors")
    assert set(json.loads(metadata[KEY])) == {"", "W"}
    load(tmp_path / "w.safetensors")


def test_the_checksum_is_that_of_zlib():
    array = np.arange(6, dtype=">i4").reshape(2, 3)
    expected = zlib.crc32(b"int32 [2, 3]" + np.arange(6, dtype="<i4").tobytes())
    assert of_array(array) == of_array(array.T.copy().T) == f"{expected:08x}" != of_array(array.reshape(3, 2))
