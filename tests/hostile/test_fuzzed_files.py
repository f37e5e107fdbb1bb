"""Damaged files end in a clear error: no crash, no hang, no huge allocation."""

from __future__ import annotations

import io
import json
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import minirnn as mr
from minirnn import ops
from minirnn.arguments.user_error import UserError
from minirnn.io import convert, load, read_arrays, save, write_arrays
from minirnn.learn import course
from minirnn.train.checkpoint import damages, read_checkpoint
from minirnn.train.options import Options
from minirnn.train.training import Training
from tests.examples import FULL
from tests.hostile import damage
from tests.hostile.little_memory import little_memory, resource

TIMES = 1000 if settings.default.max_examples == FULL else 150  # the whole number with the profile `full`
__all__ = ["little_memory"]  # a fixture, for every test of this file


def test_the_limit_of_memory_holds() -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        pytest.skip("this system has no /proc to say how much memory is used")
    with pytest.raises(MemoryError):
        np.ones(2**28)


def good_arrays() -> dict[str, np.ndarray]:
    return {
        "w": np.arange(600, dtype=np.float32).reshape(20, 30),
        "b": np.arange(3.0),
        "ids": np.arange(4),
        "e": np.ones((0, 2)),
    }


def put(path: Path, data: bytes) -> None:
    """Write a new file: on some file systems writing over an old one waits for the disk."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def fuzz(
    path: Path,
    data: bytes,
    damages: tuple[Callable[[np.random.Generator, bytes], bytes], ...],
    read: Callable[[Path], Any],
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Read `TIMES` damaged versions; the numbers of those read and those refused. A failure shows the file's bytes."""
    put(path, data)
    read(path)
    refused = 0
    for k in range(TIMES):
        broken = damages[k % len(damages)](rng, data)
        put(path, broken)
        try:
            read(path)
        except ValueError as error:
            refused += 1
            lines = str(error).splitlines()
            assert path.name in lines[0] and "expected" in str(error), f"an unclear message: {error}"
            assert len(lines) <= 3 and len(str(error)) < 2000, f"a long message: {str(error)[:300]}"
        except BaseException as error:
            raise AssertionError(f"{type(error).__name__} for damage {k}, {broken[:600]!r}: {error}") from error
        assert sorted(os.listdir(path.parent)) == [path.name]
    return TIMES - refused, refused


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda path, arrays: save(path, arrays, {"step": 3, "list": [1.5, None, "text"]}), load),
        (lambda path, arrays: write_arrays(path, arrays, {"note": "text"}), read_arrays),
    ],
    ids=["checkpoint", "weights of other programs"],
)
def test_damaged_safetensors(write: Any, read: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "c.safetensors"
    write(path, good_arrays())
    readable, refused = fuzz(path, path.read_bytes(), damage.SAFETENSORS, read, rng)
    assert refused > TIMES // 2 and readable < TIMES // 20  # checksums show damage to the values themselves


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_damaged_npz_files(write: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    buffer = io.BytesIO()
    write(buffer, **good_arrays())
    _, refused = fuzz(tmp_path / "w.npz", buffer.getvalue(), damage.BYTES, read_arrays, rng)
    assert refused > TIMES // 2


def test_noise_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "noise"
    starts = (b"", b"PK\x03\x04", b"\x80\x04", b"{", struct.pack("<Q", 40) + b"{", b"\x93NUMPY\x01\x00", b"\0" * 9)
    for k in range(TIMES):
        put(path, starts[k % len(starts)] + rng.bytes(int(rng.integers(0, 200))))
        for read in (load, read_arrays):
            with pytest.raises(ValueError, match="noise.*\n  expected"):
                read(path)


# ---- each kind of false header


def safetensors(path: Path, header: Any, body: bytes = b"\0" * 24) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    put(path, struct.pack("<Q", len(text)) + text + body)
    return path


OWN = {"minirnn.checkpoint": "1", "minirnn.metadata": "{}"}
ENTRY = {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}
LIES: dict[str, Any] = {
    "a huge shape": {"w": {**ENTRY, "shape": [2**62]}},
    "a shape whose product overflows": {"w": {**ENTRY, "shape": [2**33, 2**33]}},
    "a negative shape": {"w": {**ENTRY, "shape": [-6]}},
    "another dtype for the bytes": {"w": {**ENTRY, "dtype": "F64"}},
    "a dtype of objects": {"w": {**ENTRY, "dtype": "O"}},
    "offsets beyond the end": {"w": {**ENTRY, "data_offsets": [0, 2**40]}},
    "offsets backward": {"w": {**ENTRY, "data_offsets": [24, 0]}},
    "arrays that overlap": {"v": ENTRY, "w": ENTRY},
    "a hole between arrays": {"v": {**ENTRY, "shape": [1], "data_offsets": [20, 24]}},
    "no offsets": {"w": {"dtype": "F32", "shape": [6]}},
    "an array that is a list": {"w": [1, 2]},
    "deep nesting": b'{"w":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "no JSON": b"{'w': 1}",
    "half a character": b'{"\xff": 1}',
    "a list": b"[1, 2]",
    "a number": b"7",
}


@pytest.mark.parametrize("name", LIES)
def test_a_lying_header_is_refused(name: str, tmp_path: Path) -> None:
    header = LIES[name]
    if isinstance(header, dict):
        header = {"__metadata__": OWN, **header}
    path = safetensors(tmp_path / "lie.safetensors", header)
    for read in (load, read_arrays):
        with pytest.raises(ValueError, match="lie.safetensors.*\n  expected"):
            read(path)


def test_an_honest_header_is_read(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "honest.safetensors", {"__metadata__": OWN, "w": ENTRY})
    assert load(path)[0]["w"].shape == read_arrays(path)[0]["w"].shape == (6,)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 20_000, "{", "[]", "null", "3"])
def test_metadata_that_is_not_a_dict_or_is_nested_endlessly_is_rejected(text: str, tmp_path: Path) -> None:
    path = safetensors(tmp_path / "m.safetensors", {"__metadata__": {**OWN, "minirnn.metadata": text}, "w": ENTRY})
    with pytest.raises(ValueError, match="m.safetensors.*\n  expected"):
        load(path)


def test_names_inside_a_file_lead_nowhere_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    names = ("../outside", str(tmp_path / "absolute"), "a/../../outside")
    path = tmp_path / "in" / "names.safetensors"
    save(path, {name: np.ones(2) for name in names}, {})
    assert load(path)[0].keys() == set(names)
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.ones(2) for name in names})
    (tmp_path / "in" / "names.npz").write_bytes(buffer.getvalue())
    assert read_arrays(tmp_path / "in" / "names.npz")[0].keys() == set(names)
    assert os.listdir(tmp_path) == ["in"]
    assert sorted(os.listdir(tmp_path / "in")) == ["names.npz", "names.safetensors"]


# ---- changed contents of a good file


TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))


def mutated_arrays(rng: np.random.Generator, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One array dropped, or of another shape, dtype or value."""
    key = str(rng.choice(sorted(arrays)))
    a = arrays[key]
    others = (a[None], a.ravel()[:-1], a.astype(np.int64), a.astype(bool), a * np.nan, a.T, a.ravel(), np.zeros((0, 3)))
    rest = {k: v for k, v in arrays.items() if k != key}
    return rest if rng.random() < 0.2 else {**rest, key: others[rng.integers(0, len(others))]}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_a_checkpoint_of_training_with_something_else_inside_is_refused_or_resumed(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # of no interest here, and slow
    path = tmp_path / "c.safetensors"
    training = Training(Options(hidden=4, batch=2, length=5, layers=2), TEXT)
    training.start()
    training.advance()
    training.save(path)
    arrays, metadata = load(path)
    refused = 0
    for _ in range(TIMES // 2):
        save(path, mutated_arrays(rng, arrays) if rng.random() < 0.3 else arrays, damage.mutated(rng, metadata))
        try:
            found = read_checkpoint(path)
            with damages(path):
                training.restore(*found)
        except UserError:
            refused += 1
    assert TIMES // 8 < refused < TIMES // 2


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_a_passport_that_lies_is_refused_or_believed(rng: np.random.Generator) -> None:
    weights = mr.nn.LSTM(3, 5, num_layers=2).state_dict()
    good = convert(weights, "tf.canonical")
    refused = 0
    for _ in range(TIMES // 2):
        passport = {
            k: v if isinstance(v, str) else json.dumps(v) for k, v in damage.mutated(rng, good.metadata).items()
        }
        arrays = mutated_arrays(rng, good.arrays) if rng.random() < 0.5 else good.arrays
        try:
            convert(arrays, "torch.nn", metadata=passport)
        except (ValueError, TypeError) as error:
            refused += 1
            assert len(str(error).splitlines()) <= 4
    assert TIMES // 8 < refused < TIMES // 2


def test_a_reserve_space_from_a_file_that_was_changed_is_refused_or_used_and_never_harms(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    T, B, I, H, L = 5, 2, 3, 4, 2
    path = tmp_path / "reserve.safetensors"
    size = ops.cudnn_rnn_params_size(L, H, I)
    inputs = [rng.standard_normal(s) for s in ((T, B, I), (L, B, H), (L, B, H), (size,))]
    y = ops.cudnn_rnn(*inputs, dropout=0.5)
    save(path, y._asdict(), {})
    good = path.read_bytes()

    def use(file: Path) -> None:
        arrays, _ = load(file)
        try:
            outs = [arrays[name] for name in ("output", "output_h", "output_c")]
            found = ops.cudnn_rnn_backprop(*inputs, *outs, *outs, arrays["reserve_space"], dropout=0.5)
            assert [g.shape for g in found] == [x.shape for x in inputs]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{file.name}: {type(error).__name__}\n  expected what was saved") from error

    with np.errstate(all="ignore"):
        read, refused = fuzz(path, good, damage.SAFETENSORS, use, rng)
    assert read > 0 and refused > TIMES // 2


# ---- the files of a course


@pytest.mark.slow
def test_a_damaged_course_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "course.toml"
    good = (Path(course.HERE) / "course.toml").read_bytes()
    values = list(re.finditer(rb"= (.*)", good))
    others = (b"-1", b"9" * 30, b'"x"', b"[]", b"{}", b"nan", b"1.5", b"true", b'"../../outside"', b"1979-05-27")
    refused = 0
    for k in range(TIMES):
        at = values[rng.integers(0, len(values))]
        changed = good[: at.start(1)] + others[rng.integers(0, len(others))] + good[at.end(1) :]
        put(path, changed if k % 2 else damage.BYTES[k // 2 % 3](rng, good))
        try:
            course.load(tmp_path)
        except course.CourseError:
            refused += 1
    assert TIMES // 2 < refused < TIMES
