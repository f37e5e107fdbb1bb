"""The host's C++ compiler makes one library of several files."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError

pytestmark = pytest.mark.skipif(mr.devices.available()["native"] is not None, reason="no C++ compiler that works")


def written(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / f"{name}.cpp" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths


def test_files_that_need_each_other_become_one_library(tmp_path: Path) -> None:
    one = 'int of_two(); extern "C" int sum() { return 40 + of_two(); }'
    sources = written(tmp_path, one=one, two="int of_two() { return NUMBER; }")
    made = tmp_path / "both.so"
    compiler.find("native").library(["-fPIC", "-DNUMBER=2"], sources, made, ["-shared"])
    assert ctypes.CDLL(str(made)).sum() == 42


def test_a_file_that_is_refused_is_quoted_and_nothing_is_made(tmp_path: Path) -> None:
    sources = written(tmp_path, one="int one() { return 1; }", two="int two( {")
    with pytest.raises(CompileError, match="two.cpp:1"):
        compiler.find("native").library(["-fPIC"], sources, tmp_path / "both.so", ["-shared"])
    assert not (tmp_path / "both.so").exists()
