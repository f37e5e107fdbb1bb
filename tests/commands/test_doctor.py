"""``minirnn doctor``: its report, and its exit status."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

import minirnn as mr
from minirnn import __version__
from minirnn.commands import cli
from minirnn.devices.cuda.driver import CompileError


def test_the_text_report_ends_with_one_command_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("Next, try: ")
    assert ["cpu", "works", "(default)"] in [line.split() for line in lines]
    assert {"cpu", "cuda-sim", "cuda"} <= {line.split()[0] for line in lines if line.startswith("  ")}
    told = [line.split()[:2] for line in lines]
    assert ["minirnn", __version__] in told and ["Python", platform.python_version()] in told
    assert ["numpy", np.__version__] in told


@pytest.mark.slow
def test_torch_is_not_imported() -> None:
    code = "import sys; from minirnn.commands.cli import main; main(['doctor']); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_broken_cpu_device_is_reported_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": "no BLAS\n  install one"})
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no BLAS; install one" in out
    assert "pip install" in out.splitlines()[-1]


def test_a_simulator_that_cannot_compile_is_told_in_a_few_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(type(mr.devices.get("cpu"))):  # type: ignore[misc]
        name = "cuda-sim"

        def asarray(self, host: np.ndarray) -> np.ndarray:
            raise CompileError("arithmetic.cu does not compile\n" + "\n".join(f"line {k}" for k in range(50)))

    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": None, "cuda-sim": None})
    monkeypatch.setattr(mr.devices.registry, "_made", {**mr.devices.registry._made, "cuda-sim": Broken()})
    assert cli.main(["doctor"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["cuda-sim"])
    assert "CompileError: arithmetic.cu does not compile; line 0" in line
    assert "line 20" not in line
