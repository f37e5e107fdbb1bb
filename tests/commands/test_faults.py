"""Faults around the commands end in one sentence: closed streams, damaged options, huge weights, no memory, no name.

Tests `minirnn/commands/cli.py`, with `minirnn/train/checkpoint.py` and `minirnn/train/sample.py`.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minirnn import io
from minirnn.arguments.user_error import describe
from minirnn.commands import cli, convert
from minirnn.io.atomic import naming
from minirnn.train.run import MetricsFile

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


def test_what_a_checkpoint_cannot_say_is_told_in_a_sentence(place, run, no_pictures):
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


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")


@FULL
@pytest.mark.parametrize("command, unbuffered", [("explain tanh", ""), ("explain tanh", "1"), ("--version", "")])
def test_a_full_disk_below_standard_output_is_named(command, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "minirnn", *command.split()], stdout=full, stderr=subprocess.PIPE, encoding="utf-8",
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "minirnn: standard output: No space left on device\n")


@FULL
def test_where_nothing_can_be_said_the_status_tells():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "minirnn", "nonsense"], stdout=full, stderr=full)
    assert done.returncode == 2


@FULL
def test_a_full_disk_names_the_file_whatever_writes_it(place):
    with pytest.raises(OSError, match="left on device: 'mine'"), naming("mine"), open("/dev/full", "w") as file:
        file.write("x")
    with MetricsFile(place, []) as metrics:
        metrics.file.close()
        metrics.file = open("/dev/full", "a")  # noqa: SIM115
        for write in (lambda: metrics.append([{"loss": 1.0}]), lambda: metrics.__exit__()):
            with pytest.raises(OSError, match="left on device: '/dev/full'"):
                write()


def test_of_many_files_that_were_not_copied_the_first_is_named():
    reasons = [("a", f"to/{k}", f"[Errno 28] No space left on device: 'a' -> 'to/{k}'") for k in range(40)]
    assert describe(shutil.Error(reasons)) == "to/0: No space left on device"
