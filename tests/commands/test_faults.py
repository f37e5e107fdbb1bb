"""Faults around the commands end in one sentence: closed streams, damaged options, huge weights, no memory, no name.

Tests `minirnn/cli.py`, with `minirnn/train/saved.py` and `minirnn/train/sample.py`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minirnn import cli, io
from minirnn.commands import convert

TRAIN = ["train", "--steps", "2", "--hidden", "6", "--length", "4", "--batch", "3", "--text", "text.txt"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("what is said again and again is learned. " * 40)
    return tmp_path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = cli.main([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, err

    return run


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_stop_no_training(place, closed):
    command = shlex.join([sys.executable, "-m", "minirnn", *TRAIN, "--out", "run"])
    done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, encoding="utf-8")
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0 and Path("run/checkpoint.safetensors").exists(), done.stderr
    assert Path("run/sample.txt").read_text()


def changed(change):
    """The checkpoint after `change`, written again."""
    path = "run/checkpoint.safetensors"
    arrays, metadata = io.load(path)
    change(arrays, metadata)
    io.save(path, arrays, metadata)


def test_what_a_checkpoint_cannot_say_is_told_in_a_sentence(place, run):
    assert run(*TRAIN, "--out", "run", "--quiet")[0] == 0
    before = Path("run/checkpoint.safetensors").read_bytes()
    for option, value in {"optimizer": -1, "cell": 3, "hidden": "6", "layers": None, "lr": []}.items():
        changed(lambda arrays, metadata: metadata["options"].update({option: value}))  # noqa: B023
        status, said = run("train", "--resume", "--steps", "3", "--out", "run", "--quiet")
        assert status == 2 and "checkpoint" in said, (option, said)
        Path("run/checkpoint.safetensors").write_bytes(before)

    def huge(arrays, metadata):
        for name in arrays:
            if name.startswith("model.") and arrays[name].ndim == 2:
                arrays[name] = np.full_like(arrays[name], 3e38)

    changed(huge)
    for temperature in ("1", "0"):
        status, said = run("sample", "--checkpoint", "run", "--temperature", temperature)
        assert status == 2 and "its weights are too large" in said
    changed(lambda arrays, metadata: arrays.update({"model.\x1b[2J": np.zeros(3)}))
    status, said = run("sample", "--checkpoint", "run")
    assert status == 2 and "\x1b" not in said


def test_an_empty_string_is_not_a_name(place, run):
    with pytest.raises(SystemExit):
        run(*TRAIN, "--out", "")
    assert sorted(path.name for path in place.iterdir()) == ["text.txt"]


def test_too_little_memory_is_said(place, run, monkeypatch):
    def too_large(args):
        raise MemoryError("Unable to allocate 3.00 GiB")

    monkeypatch.setattr(convert, "run", too_large)
    status, said = run("convert", "w.npz", "out.safetensors", "--to", "torch.lstm")
    assert status == 2 and "not enough memory: Unable to allocate 3.00 GiB" in said
