"""Tiny runs of ``minirnn train`` for tests, stopped and observed as needed."""

import json
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.io import checkpoint
from minirnn.train import pictures, training
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.messages import METRICS
from minirnn.viz import picture

COMMAND = [sys.executable, "-m", "minirnn", "train"]

NO_PICTURES = """
from minirnn.commands import cli
from minirnn.train import pictures

pictures.draw_all = lambda folder, training: ""
raise SystemExit(cli.entry())
"""
UNDRAWN = [sys.executable, "-c", NO_PICTURES, "train"]
"""The same in a process that draws no pictures."""

TINY = ["--hidden", "7", "--batch", "3", "--length", "11"]

DEEP = ["--layers", "2", "--dropout", "0.3"]


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 4000 characters in which each depends on those before it."""
    animals, verbs = ["cat", "dog", "hen", "fox"], ["sees", "hears", "likes"]
    lines = [
        f"the {a} {v} the {b}.\n" for k in range(4) for a in animals for v in verbs for b in animals if a != b or k
    ]
    path = tmp_path_factory.mktemp("text") / "animals.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


Train = Callable[..., int]


@pytest.fixture
def train(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Run the command, tiny and on `text` if it is a new run, in a folder of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str, out: str = "out") -> int:
        new = [] if "--resume" in argv else [*TINY, "--text", str(text)]
        return cli.main(["train", *new, "--out", out, *argv])

    return run


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than training here."""
    monkeypatch.setattr(pictures, "draw_all", lambda folder, training: "")


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pictures are made and written, but not rendered to pixels, which takes longest."""
    monkeypatch.setattr(picture, "render", lambda figure, kind, dpi: b"a picture")


@pytest.fixture
def brief(unrendered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `unrendered`, and the sample of the model has 30 characters: to write 800 takes longer than to train."""
    monkeypatch.setattr(pictures, "sample", partial(pictures.sample, length=30))


def outcome(folder: Path) -> tuple[bytes, dict[str, bytes], dict[str, Any]]:
    """All that a run computed: metrics.jsonl, every array of the checkpoint, its metadata."""
    arrays, metadata = checkpoint.load(folder / CHECKPOINT)
    return (folder / METRICS).read_bytes(), {k: a.tobytes() for k, a in arrays.items()}, metadata


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def watch_losses(monkeypatch: pytest.MonkeyPatch, watch: Callable[[int, mr.Tensor], mr.Tensor]) -> None:
    """Replace every loss of step k, counted from 1, by ``watch(k, loss)``."""
    cross_entropy, advance = training.cross_entropy, training.Training.advance

    def watched(self: training.Training) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(training, "cross_entropy", lambda *args: watch(self.step + 1, cross_entropy(*args)))
            advance(self)

    monkeypatch.setattr(training.Training, "advance", watched)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, *steps: int) -> None:
    """Press Ctrl-C in the middle of each of these steps, once."""
    waiting = set(steps)

    def watch(step: int, loss: mr.Tensor) -> mr.Tensor:
        if step in waiting:
            waiting.remove(step)
            signal.raise_signal(signal.SIGINT)
        return loss

    watch_losses(monkeypatch, watch)


def complaint(capsys: pytest.CaptureFixture[str], command: str = "train") -> str:
    """The only line on stderr; stdout must be empty."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"minirnn {command}: ")
    assert err.count("\n") == 1
    return err
