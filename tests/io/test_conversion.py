"""`convert` and files: the passport, settings that contradict each other, notes, and files of other programs."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.io import convert, convert_weights, load, read_arrays, write_arrays
from tests.io.layouts.cases import KINDS, H, I, Kind, in_layout, layouts_of, start
from tests.slow import slow_unless

LSTM = Kind("lstm", None, 1, 1)


def convert_file(path: Path, to_path: Path, to: str, **settings: Any) -> Any:
    arrays, metadata = read_arrays(path)
    result = convert(arrays, to, metadata=metadata, **settings)
    write_arrays(to_path, result.arrays, result.metadata)
    return result


@pytest.mark.parametrize("kind", slow_unless(5, KINDS), ids=str)
def test_a_written_file_needs_no_explanation(rng: np.random.Generator, tmp_path: Path, kind: Kind) -> None:
    source, arrays, settings = start(rng, kind)
    np.savez(tmp_path / "in.npz", **arrays)
    for name in layouts_of(kind):
        first = convert_file(tmp_path / "in.npz", tmp_path / "a.safetensors", name, source=source, **settings)
        again = convert_file(tmp_path / "a.safetensors", tmp_path / "b.safetensors", name)
        assert again.metadata == first.metadata
        assert {k: a.tobytes() for k, a in again.arrays.items()} == {k: a.tobytes() for k, a in first.arrays.items()}


def test_the_passport_names_layout_gate_order_sizes_and_kind(rng: np.random.Generator, tmp_path: Path) -> None:
    _, arrays, _ = start(rng, Kind("gru", "reset_after", 2, 2))
    write_arrays(tmp_path / "k.safetensors", *convert(arrays, "keras")[:2])
    _, metadata = read_arrays(tmp_path / "k.safetensors")
    passport = {
        key: value
        for key, value in metadata.items()
        if key not in ("minirnn.checkpoint", "minirnn.metadata", "minirnn.checksums")
    }
    assert passport == {
        "minirnn.layout": "keras/zrh",
        "minirnn.rnn_mode": "gru",
        "minirnn.gru": "reset_after",
        "minirnn.num_layers": "2",
        "minirnn.num_units": str(H),
        "minirnn.input_size": str(I),
        "minirnn.direction": "bidirectional",
        "minirnn.num_proj": "0",
    }


def test_a_written_file_is_read_by_safetensors_and_by_load(rng: np.random.Generator, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    result = in_layout(rng, LSTM, "tf.lstm_block_cell")
    write_arrays(tmp_path / "w.safetensors", result.arrays, result.metadata)
    plain, (own, metadata) = load_file(tmp_path / "w.safetensors"), load(tmp_path / "w.safetensors")
    assert metadata == result.metadata
    for key, a in result.arrays.items():
        np.testing.assert_array_equal(plain[key], a)
        np.testing.assert_array_equal(own[key], a)


def test_a_forget_bias_given_with_a_passport_is_meant_for_the_target(rng: np.random.Generator) -> None:
    one = convert(in_layout(rng, LSTM, "torch.nn").arrays, "tf.lstm_block_cell")
    two = convert(one.arrays, "tf.lstm_block_cell", metadata=one.metadata, forget_bias=2.0)
    assert (one.metadata["minirnn.forget_bias"], two.metadata["minirnn.forget_bias"]) == ("1.0", "2.0")
    moved = one.arrays["b"] - two.arrays["b"]  # i, c, f, o
    assert moved.tolist() == [0] * 2 * H + [1] * H + [0] * H
    same = convert(one.arrays, "tf.lstm_block_cell", metadata=one.metadata)
    assert same.metadata["minirnn.forget_bias"] == "1.0"


def test_notes_tell_what_was_lost_and_how_the_result_must_be_run(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, LSTM)
    assert convert(arrays, "onnx").notes == ()
    assert "the split is lost" in convert(arrays, "keras").notes[0]
    assert convert(convert(arrays, "keras").arrays, "keras").notes == ()
    assert convert(arrays, "tf.lstm_block_cell").notes[-1] == "to be run with forget_bias 1 and cell_clip 0"
    block = convert(arrays, "tf.lstm_block_cell").arrays
    notes = convert(block, "torch.nn", source="tf.lstm_block_cell", forget_bias=1).notes
    assert notes == ("cell_clip is not known and assumed to be off (the ops clip at 3 unless told otherwise)",)


def test_the_arrays_given_are_not_changed_and_the_result_is_contiguous(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, LSTM)
    before = {key: a.copy() for key, a in arrays.items()}
    for name in layouts_of(LSTM):
        got = convert(arrays, name)
        assert all(a.flags.c_contiguous for a in got.arrays.values())
        for a in got.arrays.values():
            a += 1  # the result may share memory with the input only if that is never noticed
        for key in arrays:
            np.testing.assert_array_equal(arrays[key], before[key])


def test_hub_weights_can_be_written_by_themselves(rng: np.random.Generator) -> None:
    here = in_layout(rng, LSTM, "torch.nn")
    assert convert_weights(here.weights, "torch.nn").arrays.keys() == here.arrays.keys()
    with pytest.raises(ValueError, match="num_units is 4 in the settings\n  but 5 in the weights"):
        convert_weights(here.weights, "keras", num_units=4)


# ---- files of other programs


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "expected a safetensors or npz file"),
        (b"\x80\x04K\x01.", "a pickle, which minirnn never opens"),
        (b"weights", "expected a safetensors or npz file"),
        (struct.pack("<Q", 10**15) + b"{}", "expected a safetensors or npz file"),
        (b"PK\x03\x04 torn", "expected an npz file"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, match: str) -> None:
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(ValueError, match=match):
        read_arrays(tmp_path / "w")


def test_an_unknown_dtype_in_a_file_is_named(tmp_path: Path) -> None:
    entry = {"w": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}
    header = json.dumps(entry).encode()
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    with pytest.raises(ValueError, match="array 'w' has dtype F8_E4M3"):
        read_arrays(tmp_path / "w.safetensors")


def test_nothing_is_written_when_the_conversion_is_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", **start(rng, LSTM)[1])
    (tmp_path / "out.safetensors").write_bytes(b"older")
    with pytest.raises(ValueError, match="holds gru"):
        convert_file(tmp_path / "in.npz", tmp_path / "out.safetensors", "tf.gru_block_cell")
    assert (tmp_path / "out.safetensors").read_bytes() == b"older"


# ---- which notes there are, and which there are not


def without_recurrent_bias(arrays: dict[str, np.ndarray], layer: int) -> dict[str, np.ndarray]:
    return {key: 0 * a if key.startswith(f"bias_hh_l{layer}") else a for key, a in arrays.items()}


def test_a_split_of_biases_is_lost_where_any_layer_has_one(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 2, 1))
    assert "the split is lost" in convert(without_recurrent_bias(arrays, 0), "keras").notes[0]
    assert "the split is lost" in convert(without_recurrent_bias(arrays, 1), "keras").notes[0]
    none = without_recurrent_bias(without_recurrent_bias(arrays, 0), 1)
    assert convert(none, "keras").notes == ()
    no_biases = {key: a for key, a in arrays.items() if not key.startswith("bias")}
    assert convert(no_biases, "keras").notes == ()
    _, gru, _ = start(rng, Kind("gru", "reset_after", 1, 1))
    assert convert(gru, "keras").notes == ()  # both biases are kept
    assert convert(arrays, "torch.nn").notes == ()


def test_the_order_of_layers_is_told_unless_their_names_tell_it(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, Kind("lstm", None, 2, 1), "keras").arrays
    assert convert(arrays, "keras").notes == ()
    named = {key.replace("layer_1/", "top/"): a for key, a in arrays.items()}
    assert convert(named, "keras").notes == ("taken as the layers of one network, in this order: layer_0/, top/",)
    one = in_layout(rng, LSTM, "keras").arrays
    assert convert({f"lstm/{key}": a for key, a in one.items()}, "keras").notes == ()


def test_the_clip_is_spoken_of_for_the_cells_that_have_one_and_when_it_is_not_known(rng: np.random.Generator) -> None:
    one = convert(in_layout(rng, LSTM, "torch.nn").arrays, "tf.lstm_block_cell")
    assert convert(one.arrays, "torch.nn", metadata=one.metadata).notes == ()  # its passport tells
    known = convert(one.arrays, "torch.nn", source="tf.lstm_block_cell", forget_bias=1, cell_clip=0)
    assert known.notes == ()
    v2 = convert(one.arrays, "tf.block_lstm_v2", metadata=one.metadata)
    assert convert(v2.arrays, "torch.nn", source="tf.block_lstm_v2").notes == ()
