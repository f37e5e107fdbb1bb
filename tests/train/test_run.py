"""A run resumes exactly where it stopped, for any cause."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minirnn as mr
from minirnn import viz
from minirnn.io import checkpoint
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.messages import FILES, METRICS
from minirnn.train.options import CELLS
from tests.slow import slow_unless
from tests.train.runs import COMMAND, DEEP, TINY, Train, complaint, interrupt_at, lines_of, outcome


@pytest.mark.parametrize("cell", slow_unless(["gru"], CELLS))
def test_one_seed_gives_one_result_and_another_seed_another(cell: str, train: Train, no_pictures: None) -> None:
    for out, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        mr.random.generator().random(5)  # earlier draws must not matter
        assert train("--cell", cell, "--steps", "20", "--seed", seed, "--quiet", out=out) == 0
    a, b, c = (outcome(Path(out)) for out in "abc")
    assert a[:2] == b[:2]
    assert a[0] != c[0]


@pytest.mark.parametrize(
    ("cell", "stops"),
    slow_unless(
        [("lstm", (37, 38, 110))], [(cell, stops) for cell in CELLS for stops in ((1,), (37, 38, 110), (119,))]
    ),
)
def test_an_interrupted_and_resumed_run_equals_an_unbroken_one_to_the_last_bit(
    cell: str, stops: tuple[int, ...], train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    new = ["--cell", cell, "--steps", "120", "--seed", "5"]
    assert train(*new, out="unbroken") == 0
    interrupt_at(monkeypatch, *stops)
    assert train(*new, out="broken") == 130
    for k, stop in enumerate(stops):
        out = capsys.readouterr().out
        assert f"stopped after step {stop} of 120, saved; to continue: " in out
        assert "train --resume --out broken\n" in out
        assert checkpoint.load(Path("broken", CHECKPOINT))[1]["step"] == stop
        assert train("--resume", out="broken") == (0 if k == len(stops) - 1 else 130)
    assert outcome(Path("broken")) == outcome(Path("unbroken"))


@pytest.mark.parametrize(
    "more", slow_unless([[], [*DEEP, "--bidirectional"]], [[], DEEP, [*DEEP, "--bidirectional"], ["--cell", "gru"]])
)
def test_a_run_with_more_steps_goes_on_as_if_it_had_been_asked_for_them_at_once(
    more: list[str], train: Train, no_pictures: None
) -> None:
    assert train("--steps", "32", *more, out="once") == 0
    assert train("--steps", "13", *more, out="twice") == 0
    assert train("--resume", "--steps", "32", out="twice") == 0
    assert outcome(Path("twice")) == outcome(Path("once"))


@pytest.mark.slow
def test_resuming_a_finished_run_draws_what_ctrl_c_kept_from_being_drawn_and_changes_nothing(
    train: Train, brief: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(viz, "save", lambda picture, path: signal.raise_signal(signal.SIGINT))
        assert train("--steps", "12") == 130
    assert "some pictures are not drawn yet; to draw them: " in capsys.readouterr().out
    assert not Path("out", "loss.png").exists()
    before = outcome(Path("out"))
    Path("out", METRICS).unlink()
    mr.random.generator().random(5)
    assert train("--resume") == 0
    assert sorted(os.listdir("out")) == sorted(FILES)
    assert outcome(Path("out")) == before


def test_a_resumed_run_may_stand_in_another_folder_and_find_its_text_elsewhere(
    train: Train, no_pictures: None, text: Path, tmp_path: Path
) -> None:
    shutil.copy(text, "moves.txt")
    assert train("--text", "moves.txt", "--steps", "12") == 0
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    assert train("--resume", "--steps", "13", out="../out") == 0  # a relative path of the text still works
    Path("../moves.txt").rename("moved.txt")
    assert train("--resume", "--steps", "14", out="../out") == 2
    assert train("--resume", "--steps", "14", "--text", "moved.txt", out="../out") == 0
    assert train("--resume", "--steps", "15", out="../out") == 0


def test_a_text_that_changed_since_the_checkpoint_is_noticed(
    train: Train, no_pictures: None, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(text, "text.txt")
    assert train("--text", "text.txt", "--steps", "12", "--quiet") == 0
    with open("text.txt", "a") as file:
        file.write("one line more\n")
    capsys.readouterr()
    assert train("--resume") == 2
    assert "text.txt was changed" in complaint(capsys)


def test_ctrl_c_during_every_write_leaves_a_run_that_goes_on_exactly(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train("--steps", "40", out="unbroken") == 0
    interrupt_at(monkeypatch, 23)
    fsync = os.fsync

    def interrupted(descriptor: int) -> None:
        signal.raise_signal(signal.SIGINT)
        fsync(descriptor)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        assert train("--steps", "40") == 130  # before the first step
        assert train("--resume") == 130
    assert train("--resume") == 130  # at step 23
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        assert train("--resume") == 130
    assert train("--resume") == 0
    assert not [path for path in Path("out").iterdir() if path.name not in FILES]
    assert outcome(Path("out")) == outcome(Path("unbroken"))


@pytest.fixture
def running(text: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of many steps, 120 or more of which are done."""
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, *TINY, "--text", str(text), "--steps", "100000", "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        give_up = time.monotonic() + 120
        while not (folder / METRICS).exists() or len((folder / METRICS).read_bytes().splitlines()) < 13:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < give_up
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def go_on_and_compare(train: Train) -> None:
    """Resume the run in out/ for some steps, and do the same number of steps at once in unbroken/."""
    steps = str(checkpoint.load(Path("out", CHECKPOINT))[1]["step"] + 25)
    assert train("--resume", "--steps", steps) == 0
    assert train("--steps", steps, out="unbroken") == 0
    assert outcome(Path("out")) == outcome(Path("unbroken"))


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_after_sigint_a_process_saves_ends_with_130_and_goes_on_exactly(
    presses: int, running: subprocess.Popen[str], train: Train, no_pictures: None, tmp_path: Path
) -> None:
    for _ in range(presses):
        running.send_signal(signal.SIGINT)
        time.sleep(0.002)
    out = running.communicate(timeout=120)[0]
    assert running.returncode == 130
    assert "Traceback" not in out
    step = checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["step"]
    assert f"stopped after step {step} of 100000, saved; to continue: " in out
    assert lines_of(tmp_path / "out")[-1]["step"] == step - step % 10
    if presses == 1:
        go_on_and_compare(train)


@pytest.mark.slow
def test_after_sigkill_a_process_goes_on_exactly_and_metrics_are_done_again(
    running: subprocess.Popen[str], train: Train, no_pictures: None, tmp_path: Path
) -> None:
    running.kill()
    running.wait()
    step = checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["step"]
    with open(tmp_path / "out" / METRICS, "a") as file:
        # lines that are in no checkpoint, one incomplete
        file.write(f'{{"step": {10 * step}, "loss": 0.0}}\n{{"step": 7')
    go_on_and_compare(train)
