"""Malicious files: their code never runs, their names lead nowhere, and they take no more memory than their size."""

from __future__ import annotations

import ast
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


UNSAFE = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "dbm"}
SUSPICIOUS = re.compile("|".join((*UNSAFE, r"load\(", "__import__", "import_module")))


def unsafe_lines(source: str) -> list[str]:
    """Statements that could run code from a file: imports of pickle and similar modules, np.load that may use it."""
    found: list[str] = []
    if not SUSPICIOUS.search(source):  # skip most modules, because parsing them takes seconds
        return found
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found += [f"line {node.lineno}: {n}" for n in names if n.split(".")[0] in UNSAFE]
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function in ("__import__", "importlib.import_module") and node.args:
                named = ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else ""
                found += [f"line {node.lineno}: {function}"] if named in UNSAFE else []
            allowed = next((k.value for k in node.keywords if k.arg == "allow_pickle"), None)
            safe = isinstance(allowed, ast.Constant) and allowed.value is False
            if not safe and (allowed is not None or function in ("np.load", "numpy.load", "torch.load")):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_no_module_opens_pickles() -> None:
    package = Path(mr.__file__).parent
    found = {
        str(path.relative_to(package)): lines
        for path in sorted(package.rglob("*.py"))
        if (lines := unsafe_lines(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import os, marshal as m",
        "from shelve import open",
        "def f():\n    from dill.source import x",
        "__import__('pickle')",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "np.lib.format.read_array(f, allow_pickle=True)",
        "torch.load(path)",
    ],
)
def test_the_search_for_pickles_finds_them(source: str) -> None:
    assert unsafe_lines(source)


def test_the_search_for_pickles_lets_others_pass() -> None:
    assert not unsafe_lines("import json\nnp.load(path, allow_pickle=False)\nnp.save(path, a, allow_pickle=False)")
