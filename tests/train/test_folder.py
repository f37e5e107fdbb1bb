"""The output folder holds one run, written by one process at a time.

Tests `minirnn/train/run.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.train import run, training
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.messages import FILES
from minirnn.train.run import check_writable, opened
from tests.train.runs import Train, complaint, lines_of, outcome, watch_losses


def test_metrics_can_be_read_while_training(train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, int] = {}

    def watch(step: int, loss: mr.Tensor) -> mr.Tensor:
        seen.setdefault(step, len(lines_of(Path("out"))))
        return loss

    watch_losses(monkeypatch, watch)
    assert train("--steps", "25") == 0
    assert seen == {step: 1 + (step - 1) // 10 for step in range(1, 26)}


def test_an_output_place_that_cannot_be_used_is_named(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("mine")
    assert train("--steps", "1", out="file") == 2
    assert "--out file is a file" in complaint(capsys)
    assert train("--steps", "1", out="file/inside") == 2
    assert "Not a directory" in complaint(capsys)
    assert Path("file").read_text() == "mine"


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="nothing is forbidden to root")
def test_an_output_folder_that_may_not_be_written_is_named(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir(mode=0o500)
    assert train("--steps", "1") == 2
    assert "Permission denied" in complaint(capsys)


def test_an_output_place_is_tried_before_any_work_and_left_as_it_was(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_work(*given: object) -> None:
        raise AssertionError("work was begun")

    monkeypatch.setattr(run, "begun", no_work)
    for out, words in (("a" * 300, "File name too long"), ("/proc/new/deep", "/proc/new: ")):
        assert train("--steps", "1", out=out) == 2
        assert words in complaint(capsys)

    with monkeypatch.context() as patch:  # a file system that is full, or read-only
        patch.setattr(
            tempfile, "TemporaryFile", lambda **_: (_ for _ in ()).throw(OSError(30, "Read-only file system"))
        )
        assert train("--steps", "1", out="one/two") == 2
        assert "Read-only file system" in complaint(capsys)
    assert not Path("one").exists()

    with pytest.raises(AssertionError, match="work was begun"):
        train("--steps", "1", out="one/two")
    assert not Path("one").exists()


def test_two_runs_that_start_at_once_may_need_the_same_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process sees the temporary files with which another one tests its folder."""
    one, other = tmp_path / "runs" / "one", tmp_path / "runs" / ".." / "runs" / "other"
    mkdir, seen = Path.mkdir, []

    def meanwhile(self: Path, *given: object, **more: object) -> None:
        mkdir(self, *given, **more)  # type: ignore[arg-type]
        monkeypatch.setattr(Path, "mkdir", mkdir)
        seen.append(os.listdir(tmp_path))
        check_writable(other)
        with opened(other):
            pass

    monkeypatch.setattr(Path, "mkdir", meanwhile)
    check_writable(one)
    assert len(seen) == 1 and all(name.startswith(".minirnn-") for name in seen[0])
    with opened(one):
        assert sorted(os.listdir(tmp_path)) == ["runs"] and sorted(os.listdir(tmp_path / "runs")) == ["one", "other"]


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_an_older_run_are_never_overwritten(
    name: str, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out", name).write_text("precious")
    assert train("--steps", "1") == 2
    assert f"out already holds a run ({name}): continue it with --resume, or choose another --out" in complaint(capsys)
    assert os.listdir("out") == [name]
    assert Path("out", name).read_text() == "precious"


def test_other_files_in_the_folder_do_not_matter_and_stay(train: Train, no_pictures: None) -> None:
    Path("out").mkdir()
    Path("out", "notes.txt").write_text("mine")
    assert train("--steps", "1", "--quiet") == 0
    assert Path("out", "notes.txt").read_text() == "mine"


def test_two_processes_do_not_train_in_one_folder(
    train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "1", "--quiet") == 0
    before = outcome(Path("out"))
    capsys.readouterr()
    with opened(Path("out")):
        assert train("--resume", "--steps", "2") == 2
    assert "another minirnn train is writing there" in complaint(capsys)
    assert outcome(Path("out")) == before
    assert train("--resume", "--steps", "2") == 0


def test_a_run_that_appeared_while_this_one_prepared_is_not_overwritten(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = training.Training.start

    def slow(self: training.Training) -> None:
        Path("out").mkdir()
        Path("out", CHECKPOINT).write_text("another process's")
        start(self)

    monkeypatch.setattr(training.Training, "start", slow)
    assert train("--steps", "1") == 2
    assert "already holds a run" in complaint(capsys)
    assert Path("out", CHECKPOINT).read_text() == "another process's"


def test_to_resume_where_nothing_is_writes_nothing(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--resume") == 2
    assert "nothing to resume" in complaint(capsys)
    assert not Path("out").exists()
