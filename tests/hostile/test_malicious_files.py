"""Malicious files: their code never runs, their names lead nowhere, and they take no more memory than their size."""

import io
import os
import pickle
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.io import load, read_arrays
from tests.hostile.little_memory import little_memory

__all__ = ["little_memory"]  # a fixture, for every test of this file


def npy(shape: str, dtype: str = "<f4", body: bytes = b"\0" * 24) -> bytes:
    """A .npy file with an arbitrary header."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


@pytest.mark.parametrize(
    "content",
    [
        npy("(10**12,)".replace("10**12", str(10**12))),
        npy(f"({2**62}, {2**62})"),
        npy("(-6,)"),
        npy("(7,)"),
        npy("(6,)", "|O"),
        npy("(6,)", "<U1000000000"),
        npy("('a',)"),
        npy("__import__('os').system('true')"),
        npy("(" * 5000 + ")" * 5000),
        b"",
        b"\x93NUMPY\x09\x00",
    ],
    ids=["huge", "overflow", "negative", "short", "objects", "wide text", "text", "code", "deep", "empty", "version 9"],
)
def test_an_array_in_a_zip_that_lies_about_itself_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lie.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", content)
    with pytest.raises(ValueError, match="lie.npz.*\n  expected"):
        read_arrays(path)


# ---- code in files


class Payload:
    """A pickle of this makes a file when it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (os.fspath(self.mark),)


def objects_npy(mark: Path) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload(mark)], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def in_zip(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_opened(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    pickled = pickle.dumps(Payload(mark), protocol)
    pickle.loads(pickled)
    assert mark.exists(), "control: this pickle does nothing"
    mark.rmdir()
    path = tmp_path / "p"
    for content in (
        pickled,
        in_zip("archive/data.pkl", pickled),  # torch.save
        in_zip("w.npy", objects_npy(mark)),
        objects_npy(mark),
        struct.pack("<Q", len(pickled)) + pickled,
    ):
        path.write_bytes(content)
        for read in (load, read_arrays):
            with pytest.raises(ValueError, match="expected"):
                read(path)
    assert os.listdir(tmp_path) == ["p"]


def test_no_module_lets_numpy_open_pickles() -> None:
    """ruff forbids the modules that run code from files (`banned-api` in pyproject.toml)."""
    package = Path(mr.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert not [name for name, text in texts.items() if re.search(r"allow_pickle=(?!False)", text)]
