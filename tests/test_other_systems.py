"""minirnn trains where Python lacks the modules of POSIX, as on Windows.

Tests `minirnn/__init__.py`, `minirnn/train/` and `minirnn/io/atomic.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minirnn

BLOCKED = ("fcntl", "resource", "termios", "tty", "pty", "grp", "pwd", "syslog", "readline")
CUSTOMIZE = f"""
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Block())
for name in {BLOCKED!r}:
    sys.modules.pop(name, None)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(CUSTOMIZE)
    root = Path(minirnn.__file__).parents[1]
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}


def run(environment: dict[str, str], folder: Path, *argv: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *argv], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_modules_are_blocked_indeed(environment: dict[str, str], tmp_path: Path) -> None:
    code = f"import importlib.util\nfor name in {BLOCKED!r}:\n    try:\n        __import__(name)\n"
    code += "    except ImportError:\n        continue\n    raise SystemExit(name)"
    run(environment, tmp_path, "-c", code)


def test_every_room_of_the_library_is_imported(environment: dict[str, str], tmp_path: Path) -> None:
    run(
        environment,
        tmp_path,
        "-c",
        "from minirnn import *; from minirnn import cli, train, verify, explain, learn, bench",
    )


def test_train_resume_sample_and_the_other_commands_work(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("the cat sees the hen.\n" * 100)  # few different characters are drawn quickly
    tiny = ["--hidden", "5", "--batch", "2", "--length", "8", "--text", "few.txt"]
    assert "validation loss" in run(environment, tmp_path, "-m", "minirnn", "train", *tiny, "--steps", "2")
    assert len(list((tmp_path / "minirnn-out").iterdir())) == 8
    assert "validation loss" in run(environment, tmp_path, "-m", "minirnn", "train", "--resume", "--steps", "3")
    assert len(run(environment, tmp_path, "-m", "minirnn", "sample", "--length", "20")) == 21
    others = ("doctor",), ("explain", "tanh"), ("explain", "CudnnRNN"), ("learn", "init", "course")
    code = f"from minirnn import cli\nfor command in {others}:\n    print(command)\n    assert cli.main(command) == 0"
    said = run(environment, tmp_path, "-c", code)
    for command, after in zip(others, (*others[1:], None), strict=True):
        assert said.partition(f"{command}\n")[2].partition(f"{after}\n")[0]
