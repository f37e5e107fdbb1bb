"""A checkpoint holds a good state, or one line rejects it.

Tests `minirnn/train/training.py` and `minirnn/train/run.py`.
"""

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minirnn.commands import cli
from minirnn.io import checkpoint
from minirnn.train import pictures, training
from minirnn.train.checkpoint import CHECKPOINT
from tests.slow import slow_unless
from tests.train.runs import TINY, Train, complaint, outcome, watch_losses


@pytest.fixture(scope="module")
def whole(text: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The checkpoint of a run of twelve steps."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "draw_all", lambda folder, training: "")
        assert cli.main(["train", *TINY, "--text", str(text), "--steps", "12", "--quiet", "--out", str(out)]) == 0
    return (out / CHECKPOINT).read_bytes()


def without(key: str) -> Callable[[Path], None]:
    """Damage: a checkpoint that lacks an entry."""

    def damage(path: Path) -> None:
        arrays, metadata = checkpoint.load(path)
        arrays.pop(key, None)
        metadata.pop(key, None)
        checkpoint.save(path, arrays, metadata)

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.unlink(), "nothing to resume: there is no out/checkpoint.safetensors"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "truncated"),
        (lambda path: path.write_bytes(b""), "0 bytes"),
        (lambda path: path.write_text("precious notes, no checkpoint"), "out/checkpoint.safetensors"),
        (lambda path: checkpoint.save(path, {"w": np.ones(3)}, {}), "not written by minirnn train"),
        (without("model.output.bias"), "missing output.bias; expected the names of CharModel"),
        (without("state.c"), "KeyError: 'c'; damaged, or written by another version of minirnn"),
        (without("optimizer.3.v"), "missing 3.v"),
        (without("losses"), "KeyError: 'losses'"),
        (without("options"), "KeyError: 'options'"),
        (without("random"), "KeyError: 'random'"),
        (without("position"), "KeyError: 'position'"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_one_line_and_stays_as_it_is(
    damage: Callable[[Path], None], words: str, whole: bytes, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("out", CHECKPOINT)
    path.parent.mkdir()
    path.write_bytes(whole)
    damage(path)
    before = path.read_bytes() if path.exists() else None
    assert train("--resume") == 2
    assert words in complaint(capsys)
    assert before == (path.read_bytes() if path.exists() else None)


@pytest.mark.parametrize("bad", slow_unless([math.inf], [math.nan, math.inf]))
def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_checkpoint(
    bad: float, train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "130", out="unbroken") == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        watch_losses(patch, lambda step, loss: loss * bad if step == 118 else loss)
        assert train("--steps", "130", "--quiet") == 2
    line = complaint(capsys)
    assert f"training stopped after 117 steps: the loss is {bad}" in line
    assert "--lr 0.004 is likely too large" in line
    assert checkpoint.load(Path("out", CHECKPOINT))[1]["step"] == 100
    assert train("--resume") == 0
    assert outcome(Path("out")) == outcome(Path("unbroken"))


def test_parameters_that_are_not_finite_are_never_saved(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advance = training.Training.advance

    def broken(self: training.Training) -> None:
        advance(self)
        if self.step == 12:
            self.model.output.bias.assign(np.full(self.model.output.bias.shape, np.inf))

    monkeypatch.setattr(training.Training, "advance", broken)
    assert train("--steps", "12", "--quiet") == 2
    assert "a parameter is not finite" in complaint(capsys)
    arrays, metadata = checkpoint.load(Path("out", CHECKPOINT))
    assert metadata["step"] == 0
    assert np.isfinite(arrays["model.output.bias"]).all()


def test_a_full_disk_is_one_line_and_keeps_the_older_checkpoint(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "12", "--quiet") == 0
    before = outcome(Path("out"))
    capsys.readouterr()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert train("--resume", "--steps", "30", "--quiet") == 2
    assert "No space left on device" in complaint(capsys)
    assert outcome(Path("out")) == before
