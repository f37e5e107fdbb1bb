"""The host's C++ compiler: it makes one library of several files, may be missing, and may have a wrapper."""

import ctypes
import sys
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError
from tests.devices.process import UNAVAILABLE, say, script

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


@pytest.mark.parametrize("name", ["native", "cuda-sim"])
def test_without_a_compiler_the_error_names_the_command_that_installs_one(name: str, tmp_path: Path) -> None:
    script(tmp_path / "apt-get", "")
    said = say(UNAVAILABLE.format(name=name), PATH=str(tmp_path), CXX=None)
    assert f"{name} needs a C++ compiler (g++ or clang++) and found none; the cpu device needs none" in said
    assert sys.platform == "darwin" or "to get it: sudo apt-get install g++" in said


def test_a_cxx_is_a_command_with_arguments_and_one_that_names_nothing_is_blamed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    used = compiler.find("native")
    monkeypatch.setenv("CXX", f"env LC_ALL=C {' '.join(used.command)} -pipe")
    wrapped = compiler.find("native")
    assert wrapped.command == ("env", "LC_ALL=C", *used.command, "-pipe") and wrapped.name == used.name
    wrapped.library(["-fPIC"], written(tmp_path, one="int one() { return 1; }"), tmp_path / "one.so", ["-shared"])
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    with pytest.raises(
        mr.devices.DeviceUnavailable, match=r"unset CXX  \(it names no-such-compiler -O1, which does not"
    ):
        compiler.find("native")
