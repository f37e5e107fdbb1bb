"""The line about the device `native` at the end of a run on `cpu`. Tests `minirnn/train/messages.py`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from minirnn.devices import DeviceUnavailable
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import Compiler
from minirnn.train.messages import NATIVE_SHARE, native_tip
from minirnn.train.options import CELLS, Options
from tests.train.runs import TINY, UNDRAWN, Train

LINE = (
    "tip: --device native is faster (with 256 units {share}x the time per step, measured on two cores). "
    "g++ 99.1 compiles it once."
)


@pytest.fixture
def a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "find", lambda device: Compiler(("g++",), "g++ (GCC) 99.1"))


def said(train: Train, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert train("--steps", "2", *options) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("cell", CELLS)
def test_a_run_on_cpu_ends_with_what_native_would_gain(
    cell: str, train: Train, no_pictures: None, a_compiler: None, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = said(train, capsys, "--cell", cell)
    assert lines[-1] == LINE.format(share=NATIVE_SHARE[cell])
    assert sum("native" in line for line in lines) == 1


@pytest.mark.parametrize("options", [("--quiet",), ("--zoneout", "0.1"), ("--shards", "3")], ids=" ".join)
def test_nothing_is_said_where_it_would_not_help(
    options: tuple[str, ...], train: Train, no_pictures: None, a_compiler: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not any("native" in line for line in said(train, capsys, *options))


def test_nothing_measured_is_said_of_another_cell(a_compiler: None) -> None:
    said = native_tip(Options(cell="mgu.py:mgu"))
    assert said == "tip: --device native is faster. g++ 99.1 compiles it once."


def test_nothing_is_said_on_another_device(a_compiler: None) -> None:
    for device in ("native", "cuda", "cuda-sim"):
        assert native_tip(Options(device=device)) is None


def test_nothing_is_said_without_a_compiler(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(device: str) -> Compiler:
        raise DeviceUnavailable(f"{device} needs a C++ compiler")

    monkeypatch.setattr(compiler, "find", none)
    assert not any("native" in line for line in said(train, capsys))


def test_a_process_whose_compiler_does_not_work_says_nothing(text: Path, tmp_path: Path) -> None:
    command = [*UNDRAWN, *TINY, "--text", str(text), "--steps", "1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "CXX": str(tmp_path / "no-such-compiler"), "PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "native" not in done.stdout
