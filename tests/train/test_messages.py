"""The line about the device `native` at the end of a run on `cpu`. Tests `minirnn/train/messages.py`."""

import os
import subprocess
from pathlib import Path

import pytest

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


def test_a_run_on_cpu_ends_with_what_native_would_gain(
    train: Train, no_pictures: None, a_compiler: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "2") == 0
    said = capsys.readouterr().out
    assert said.endswith(f"\n{native_tip(Options())}\n") and said.count("--device native") == 1
    assert train("--steps", "2", "--quiet", out="quiet") == 0
    assert "native" not in capsys.readouterr().out


def test_what_was_measured_of_a_built_in_cell_is_said_and_nothing_of_another(a_compiler: None) -> None:
    for cell in CELLS:
        assert native_tip(Options(cell=cell)) == LINE.format(share=NATIVE_SHARE[cell])
    assert native_tip(Options(cell="mgu.py:mgu")) == "tip: --device native is faster. g++ 99.1 compiles it once."


def test_nothing_is_said_where_it_would_not_help(a_compiler: None) -> None:
    assert native_tip(Options(zoneout=0.1)) is native_tip(Options(shards=3)) is None
    for device in ("native", "cuda", "cuda-sim"):
        assert native_tip(Options(device=device)) is None


def test_a_process_whose_compiler_does_not_work_says_nothing(text: Path, tmp_path: Path) -> None:
    command = [*UNDRAWN, *TINY, "--text", str(text), "--steps", "1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "CXX": str(tmp_path / "no-such-compiler"), "PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "native" not in done.stdout
