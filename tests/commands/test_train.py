"""``minirnn train``: what it leaves behind, that it goes on exactly, and what it says about mistakes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cli, data, viz
from minirnn.io import checkpoint
from minirnn.train import folder as train_folder
from minirnn.train import pictures as train_pictures
from minirnn.train import run as train_run
from minirnn.train.folder import CHECKPOINT, FILES, METRICS

TINY = ["--hidden", "7", "--batch", "3", "--length", "11"]


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
    """Run the command, tiny and on `text` if it is a new run, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str, out: str = "out") -> int:
        new = [] if "--resume" in argv else [*TINY, "--text", str(text)]
        return cli.main(["train", *new, "--out", out, *argv])

    return run


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than training here."""
    monkeypatch.setattr(train_pictures, "draw_all", lambda folder, training: "")


def outcome(folder: Path) -> tuple[bytes, dict[str, bytes], dict[str, Any]]:
    """All that a run computed: metrics.jsonl, every array of the checkpoint, its metadata."""
    arrays, metadata = checkpoint.load(folder / CHECKPOINT)
    return (folder / METRICS).read_bytes(), {k: a.tobytes() for k, a in arrays.items()}, metadata


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def watch_losses(monkeypatch: pytest.MonkeyPatch, watch: Callable[[int, mr.Tensor], mr.Tensor]) -> None:
    """Replace every loss of step k, counted from 1, by ``watch(k, loss)``."""
    cross_entropy, advance = train_run.cross_entropy, train_run.Training.advance

    def watched(self: train_run.Training) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(train_run, "cross_entropy", lambda *args: watch(self.step + 1, cross_entropy(*args)))
            advance(self)

    monkeypatch.setattr(train_run.Training, "advance", watched)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, *steps: int) -> None:
    """Press Ctrl-C in the middle of each of these steps, once."""
    waiting = set(steps)

    def watch(step: int, loss: mr.Tensor) -> mr.Tensor:
        if step in waiting:
            waiting.remove(step)
            signal.raise_signal(signal.SIGINT)
        return loss

    watch_losses(monkeypatch, watch)


# ---- what it leaves behind


def test_a_run_learns_and_leaves_numbers_pictures_a_sample_and_a_checkpoint(
    train: Train, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "200", "--lr", "0.02") == 0
    out, err = capsys.readouterr()
    folder = tmp_path / "out"
    assert err == ""
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)

    # metrics
    lines = lines_of(folder)
    assert [line["step"] for line in lines] == list(range(0, 201, 10))
    assert all(list(line) == ["step", "loss", "gradient_norm", "validation_loss"] for line in lines)
    assert [line["step"] for line in lines if line["validation_loss"] is not None] == [0, 100, 200]
    vocabulary = data.CharVocabulary.from_text(text.read_text())
    entropy = data.unigram_entropy(vocabulary.encode(text.read_text()), len(vocabulary))
    assert abs(lines[0]["validation_loss"] - math.log(len(vocabulary))) < 0.5
    assert lines[-1]["validation_loss"] < 0.7 * entropy
    assert lines[-1]["loss"] < 0.7 * entropy

    # pictures
    for name in ("loss.png", "gradient_flow.png", "gates.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    # sample
    sample = (folder / "sample.txt").read_text()
    prime, written = sample.split("\n", 1)[1].split("\n--- written: ")
    assert sample.startswith(f"--- read: {len(prime)} characters of the validation text\n")
    assert prime in text.read_text()
    assert prime.endswith(".\n")
    assert 1 < len(prime) <= 200
    head, written = written.split("\n", 1)
    assert head == "by the model after 200 steps, seed 0"
    assert len(written) == 801
    assert set(written) <= set(vocabulary.characters)

    # what is said
    assert "lstm with 7 units on cpu: " in out
    assert "step 100 of 200   loss " in out
    last = lines[-1]["validation_loss"]
    assert f"validation loss  {last:.3f} nats = {last / math.log(2):.3f} bits per character" in out
    assert f"unigram entropy  {entropy:.3f} nats = {entropy / math.log(2):.3f} bits per character" in out
    assert "train --resume --steps 400 --out out" in out
    assert all(name in out for name in FILES)


def test_the_pictures_show_what_was_measured(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures: dict[str, viz.Picture] = {}
    save = viz.save
    monkeypatch.setattr(viz, "save", lambda p, path: (pictures.__setitem__(path.name, p), save(p, path)))
    assert train("--steps", "110", "--quiet") == 0
    lines = lines_of(Path("out"))

    loss = pictures["loss.png"].data
    np.testing.assert_array_equal(loss["steps"], range(10, 111, 10))
    np.testing.assert_array_equal(loss["train_loss"], [line["loss"] for line in lines[1:]])
    np.testing.assert_array_equal(loss["validation_steps"], [0, 100])

    flow = pictures["gradient_flow.png"]
    assert flow.data["norms"].shape == (6, 11)
    assert [label.get_text() for label in flow.ax.get_yticklabels()] == [
        f"{row}, {when}" for when in ("untrained", "after 110 steps") for row in ("x", "h", "c")
    ]
    np.testing.assert_array_equal(flow.data["norms"][:3], checkpoint.load("out/" + CHECKPOINT)[0]["first_norms"])
    assert (flow.data["norms"][:3] != flow.data["norms"][3:]).all()

    gates = pictures["gates.png"]
    assert {key.partition(".")[0] for key in gates.data} == {"i", "f", "o", "n"}
    assert gates.data["i.mean"].shape == (60,)
    shown = "".join(label.get_text() for label in gates.ax[-1, 0].get_xticklabels())
    assert "the\u00b7" in shown
    assert "\u21b5" in shown


def test_metrics_can_be_read_while_training(train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, int] = {}

    def watch(step: int, loss: mr.Tensor) -> mr.Tensor:
        seen.setdefault(step, len(lines_of(Path("out"))))
        return loss

    watch_losses(monkeypatch, watch)
    assert train("--steps", "25") == 0
    assert seen == {step: 1 + (step - 1) // 10 for step in range(1, 26)}


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_one_seed_gives_one_result_and_another_seed_another(cell: str, train: Train, no_pictures: None) -> None:
    for out, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        mr.random.generator().random(5)  # what was drawn before must not matter
        assert train("--cell", cell, "--steps", "20", "--seed", seed, "--quiet", out=out) == 0
    a, b, c = (outcome(Path(out)) for out in "abc")
    assert a[:2] == b[:2]
    assert a[0] != c[0]


def test_the_default_text_is_the_standard_library(
    tmp_path: Path, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train", *TINY, "--steps", "1", "--out", str(tmp_path / "out")]) == 0
    assert "of Python's standard library" in capsys.readouterr().out
    assert checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["options"]["text"] is None


@pytest.mark.parametrize("content", ["a" * 3000, "ab" * 1500])
def test_a_text_of_one_or_two_characters_is_no_special_case(
    content: str, train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few.txt").write_text(content)
    assert train("--text", "few.txt", "--steps", "3", "--length", "1") == 0
    assert (tmp_path / "out" / "gradient_flow.png").exists()
    assert capsys.readouterr().err == ""


def test_quiet_says_only_the_result(train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--steps", "100", "--quiet") == 0
    out = capsys.readouterr().out
    assert out.startswith("validation loss")
    assert "step 100" not in out


def test_control_characters_in_a_text_do_not_reach_the_terminal(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "escape.txt").write_bytes(b"\x1b[31m\x07" * 500)
    assert train("--text", "escape.txt", "--steps", "2") == 0
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07"}
    assert "\x1b" in (tmp_path / "out" / "sample.txt").read_text()


@pytest.mark.parametrize("columns", [0, 100])
def test_a_terminal_gets_a_progress_bar(columns: int, text: Path, tmp_path: Path) -> None:
    import pty
    import termios

    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (30, columns))
    done = subprocess.run(
        [*COMMAND, *TINY, "--text", str(text), "--steps", "20", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
    )
    os.close(slave)
    shown = ""
    with contextlib.suppress(OSError):  # EIO: the other end is closed, and all is read
        while part := os.read(master, 1 << 16):
            shown += part.decode()
    os.close(master)
    assert done.returncode == 0
    assert "20/20" in shown
    assert "loss=" in shown
    assert "step 20 of 20" not in done.stdout


# ---- going on exactly


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("stops", [(1,), (37, 38, 110), (119,)])
def test_an_interrupted_and_resumed_run_equals_an_unbroken_one_to_the_last_bit(
    cell: str, stops: tuple[int, ...], train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    new = ["--cell", cell, "--steps", "120", "--seed", "5"]
    assert train(*new, out="unbroken") == 0
    interrupt_at(monkeypatch, *stops)
    assert train(*new, out="broken") == 130
    for k, stop in enumerate(stops):
        out = capsys.readouterr().out
        assert f"stopped after step {stop} of 120, saved; to go on: " in out
        assert "train --resume --out broken\n" in out
        assert checkpoint.load(Path("broken", CHECKPOINT))[1]["step"] == stop
        assert train("--resume", out="broken") == (0 if k == len(stops) - 1 else 130)
    assert outcome(Path("broken")) == outcome(Path("unbroken"))


def test_a_run_with_more_steps_goes_on_as_if_it_had_been_asked_for_them_at_once(
    train: Train, no_pictures: None
) -> None:
    assert train("--steps", "115", out="once") == 0
    assert train("--steps", "33", out="twice") == 0
    assert train("--resume", "--steps", "115", out="twice") == 0
    assert outcome(Path("twice")) == outcome(Path("once"))


def test_resuming_a_finished_run_draws_its_pictures_again_and_changes_nothing(train: Train) -> None:
    assert train("--steps", "12") == 0
    before = outcome(Path("out"))
    Path("out", "loss.png").unlink()
    Path("out", METRICS).unlink()
    mr.random.generator().random(5)
    assert train("--resume") == 0
    assert Path("out", "loss.png").exists()
    assert outcome(Path("out")) == before


def test_a_resumed_run_may_stand_in_another_folder_and_find_its_text_elsewhere(
    train: Train, no_pictures: None, text: Path, tmp_path: Path
) -> None:
    shutil.copy(text, "moves.txt")
    assert train("--text", "moves.txt", "--steps", "12") == 0
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    assert train("--resume", "--steps", "13", out="../out") == 0  # a relative path of the text still leads there
    Path("../moves.txt").rename("moved.txt")
    assert train("--resume", "--steps", "14", out="../out") == 2
    assert train("--resume", "--steps", "14", "--text", "moved.txt", out="../out") == 0
    assert train("--resume", "--steps", "15", out="../out") == 0


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


def test_ctrl_c_while_drawing_leaves_the_drawing_to_resume(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(viz, "save", lambda picture, path: signal.raise_signal(signal.SIGINT))
        assert train("--steps", "12") == 130
    assert "not all pictures are drawn; to draw them: " in capsys.readouterr().out
    assert not Path("out", "loss.png").exists()
    assert train("--resume") == 0
    assert sorted(os.listdir("out")) == sorted(FILES)


def test_ctrl_c_works_as_usual_after_the_command(train: Train, no_pictures: None) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert train("--steps", "1") == 0
    assert signal.getsignal(signal.SIGINT) is before


# ---- as processes, with real signals

COMMAND = [sys.executable, "-m", "minirnn", "train"]


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


def go_on_and_compare(text: Path, tmp_path: Path) -> None:
    """Resume the run in out/ for some steps, and do the same number of steps at once in unbroken/."""
    steps = str(checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["step"] + 25)
    new = [*TINY, "--text", str(text), "--out", str(tmp_path / "unbroken")]
    for argv in (["--resume", "--out", str(tmp_path / "out")], new):
        done = subprocess.run([*COMMAND, *argv, "--steps", steps], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    assert outcome(tmp_path / "out") == outcome(tmp_path / "unbroken")


@pytest.mark.parametrize("presses", [1, 2])
def test_after_sigint_a_process_saves_ends_with_130_and_goes_on_exactly(
    presses: int, running: subprocess.Popen[str], text: Path, tmp_path: Path
) -> None:
    for _ in range(presses):
        running.send_signal(signal.SIGINT)
        time.sleep(0.002)
    out = running.communicate(timeout=120)[0]
    assert running.returncode == 130
    assert "Traceback" not in out
    step = checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["step"]
    assert f"stopped after step {step} of 100000, saved; to go on: " in out
    assert lines_of(tmp_path / "out")[-1]["step"] == step - step % 10
    if presses == 1:
        go_on_and_compare(text, tmp_path)


def test_after_sigkill_a_process_goes_on_exactly_and_metrics_are_done_again(
    running: subprocess.Popen[str], text: Path, tmp_path: Path
) -> None:
    running.kill()
    running.wait()
    step = checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["step"]
    with open(tmp_path / "out" / METRICS, "a") as file:
        file.write(f'{{"step": {10 * step}, "loss": 0.0}}\n{{"step": 7')  # lines that no checkpoint knows, one torn
    go_on_and_compare(text, tmp_path)


# ---- mistakes


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr, nothing being on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("minirnn train: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--cell", "lstn"], "argument --cell: invalid choice: 'lstn'"),
        (["--steps", "0"], "argument --steps: got '0', expected a whole number, 1 or more"),
        (["--steps", "-3"], "argument --steps: got '-3'"),
        (["--steps", "1e3"], "argument --steps: got '1e3'"),
        (["--batch", "0"], "argument --batch: got '0'"),
        (["--length", "0"], "argument --length: got '0'"),
        (["--hidden", "-1"], "argument --hidden: got '-1', expected a whole number, 1 .. 4096"),
        (["--hidden", "5000"], "argument --hidden: got '5000'"),
        (["--seed", "-1"], "argument --seed: got '-1'"),
        (["--lr", "nan"], "argument --lr: got 'nan', expected a number above 0 and at most 1"),
        (["--lr", "0"], "argument --lr: got '0'"),
        (["--lr", "-0.1"], "argument --lr: got '-0.1'"),
        (["--lr", "1e9"], "argument --lr: got '1e9'"),
        (["--lr", "inf"], "argument --lr: got 'inf'"),
        (["--device", "tpu"], "tpu"),
        (["--text", "nowhere.txt"], "no such file"),
        (["--text", "."], "this is a folder"),
        (["--text", "binary.bin"], "is NUL"),
        (["--text", "short.txt"], "11 characters; expected at least 1000"),
        (["--text", "latin.txt"], "is not UTF-8"),
        (["--batch", "500"], "--batch 500 times --length 11 needs a longer text: 5501 characters to train on, got"),
        (["--length", "100000"], "--batch 3 times --length 100000 needs a longer text"),
    ],
)
def test_a_wrong_option_is_one_line_and_writes_nothing(
    argv: list[str], words: str, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("binary.bin").write_bytes(bytes(range(256)) * 8)
    Path("short.txt").write_text("hello world")
    Path("latin.txt").write_bytes("caf\u00e9 ".encode("latin-1") * 500)
    try:
        status = train(*argv)
    except SystemExit as exit_:  # argparse
        status = exit_.code
    assert status == 2
    assert words in complaint(capsys)
    assert not Path("out").exists()


def test_an_output_place_that_cannot_be_used_is_named(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("mine")
    assert train("--steps", "1", out="file") == 2
    assert "--out file is a file" in complaint(capsys)
    assert train("--steps", "1", out="file/inside") == 2
    assert "Not a directory" in complaint(capsys)
    assert Path("file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_an_output_folder_that_may_not_be_written_is_named(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir(mode=0o500)
    assert train("--steps", "1") == 2
    assert "Permission denied" in complaint(capsys)


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_an_older_run_are_never_overwritten(
    name: str, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out", name).write_text("precious")
    assert train("--steps", "1") == 2
    assert f"out holds a run already ({name}): continue it with --resume, or take another --out" in complaint(capsys)
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
    with train_folder.opened(Path("out")):
        assert train("--resume", "--steps", "2") == 2
    assert "another minirnn train is writing there" in complaint(capsys)
    assert outcome(Path("out")) == before
    assert train("--resume", "--steps", "2") == 0


def test_a_run_that_appeared_while_this_one_prepared_is_not_overwritten(
    train: Train, no_pictures: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = train_run.Training.start

    def slow(self: train_run.Training) -> None:
        Path("out").mkdir()
        Path("out", CHECKPOINT).write_text("another process's")
        start(self)

    monkeypatch.setattr(train_run.Training, "start", slow)
    assert train("--steps", "1") == 2
    assert "holds a run already" in complaint(capsys)
    assert Path("out", CHECKPOINT).read_text() == "another process's"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--cell", "gru"], "--cell gru contradicts the run to resume, which has lstm"),
        (["--hidden", "8"], "--hidden 8 contradicts the run to resume, which has 7"),
        (["--batch", "4"], "--batch 4 contradicts"),
        (["--length", "12"], "--length 12 contradicts"),
        (["--seed", "1"], "--seed 1 contradicts the run to resume, which has 0"),
        (["--lr", "0.1"], "--lr 0.1 contradicts the run to resume, which has 0.004"),
        (["--device", "cuda"], "--device cuda contradicts the run to resume, which has cpu"),
        (["--steps", "11"], "--steps 11 is less than the 12 steps that the run to resume has done"),
        (["--text", "other.txt"], "the text is not the one that the run to resume learns from: "),
    ],
)
def test_an_option_that_contradicts_the_run_to_resume_is_named_and_changes_nothing(
    argv: list[str], words: str, train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.txt").write_text("something else\n" * 300)
    assert train("--steps", "12", "--quiet") == 0
    before = outcome(Path("out"))
    capsys.readouterr()
    assert train("--resume", *argv) == 2
    assert words in complaint(capsys)
    assert outcome(Path("out")) == before


def test_options_that_agree_with_the_run_to_resume_may_be_repeated(train: Train, no_pictures: None, text: Path) -> None:
    assert train("--steps", "12") == 0
    assert train("--resume", *TINY, "--cell", "lstm", "--lr", "4e-3", "--device", "cpu", "--text", str(text)) == 0


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
    damage: Callable[[Path], None], words: str, train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("out", CHECKPOINT)
    assert train("--steps", "12", "--quiet") == 0
    damage(path)
    before = path.read_bytes() if path.exists() else None
    capsys.readouterr()
    assert train("--resume") == 2
    assert words in complaint(capsys)
    assert before == (path.read_bytes() if path.exists() else None)


def test_to_resume_where_nothing_is_writes_nothing(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--resume") == 2
    assert "nothing to resume" in complaint(capsys)
    assert not Path("out").exists()


# ---- a loss that is not finite


@pytest.mark.parametrize("bad", [math.nan, math.inf])
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
    advance = train_run.Training.advance

    def broken(self: train_run.Training) -> None:
        advance(self)
        if self.step == 12:
            self.model.output.bias.assign(np.full(self.model.output.bias.shape, np.inf))

    monkeypatch.setattr(train_run.Training, "advance", broken)
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


# ---- layers, dropout and directions

DEEP = ["--layers", "2", "--dropout", "0.3"]


@pytest.mark.parametrize("more", [DEEP, [*DEEP, "--bidirectional"], ["--cell", "gru", "--bidirectional"]])
def test_layers_dropout_and_directions_resume_exactly(
    more: list[str], train: Train, tmp_path: Path, no_pictures: None
) -> None:
    assert train("--steps", "30", *more, out="whole") == 0
    assert train("--steps", "13", *more, out="parts") == 0
    assert train("--resume", "--steps", "30", out="parts") == 0
    whole, parts = outcome(tmp_path / "whole"), outcome(tmp_path / "parts")
    assert whole[0] == parts[0]
    assert whole[1] == parts[1]


def test_a_model_of_two_directions_fills_in_blanks_better_than_chance_and_shows_them(
    train: Train, text: Path, tmp_path: Path
) -> None:
    assert train("--steps", "300", "--lr", "0.02", "--bidirectional") == 0
    last = [line for line in lines_of(tmp_path / "out") if line["validation_loss"] is not None][-1]
    content = text.read_text()
    ids = data.CharVocabulary.from_text(content).encode(content)
    assert last["validation_loss"] < 0.6 * data.unigram_entropy(ids, ids.max() + 1)
    sample = (tmp_path / "out" / "sample.txt").read_text(encoding="utf-8")
    read, filled = sample.split("\n--- filled in: ")
    assert train_pictures.BLANK in read.splitlines()[1]
    assert train_pictures.BLANK not in filled.split("\n", 1)[1]


def test_the_picture_of_a_deep_model_has_a_row_for_each_layer_and_direction(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, viz.Picture] = {}
    monkeypatch.setattr(viz, "save", lambda picture, path: drawn.update({Path(path).name: picture}))
    assert train("--steps", "2", *DEEP, "--bidirectional") == 0
    picture = drawn["gradient_flow.png"]
    rows = [label.get_text() for label in picture.ax.get_yticklabels()]
    assert rows[:3] == ["x, untrained", "h0\u2192, untrained", "c0\u2192, untrained"]
    assert len(rows) == 2 * (1 + 2 * 2 * 2)  # before and after: x, then h and c of 2 layers, 2 directions
    assert picture.data["norms"].shape == (len(rows), 11)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--layers", "0"], "argument --layers: got '0', expected a whole number, 1 .. 16"),
        (["--dropout", "1"], "argument --dropout: got '1', expected a probability"),
        (["--dropout", "nan"], "argument --dropout: got 'nan', expected a probability"),
    ],
)
def test_wrong_layers_and_dropout_are_one_line(
    arguments: list[str], text: str, train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        train(*arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_another_number_of_layers_contradicts_the_run_to_resume(
    train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "2", *DEEP) == 0
    for more in (["--layers", "3"], ["--dropout", "0.1"], ["--bidirectional"]):
        capsys.readouterr()
        assert train("--resume", *more) == 2
        assert "contradicts the run to resume" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_every_device_learns_the_same(train: Train, cell: str, device: str) -> None:
    assert train("--steps", "3", "--cell", cell, "--device", device, out="there") == 0
    assert train("--steps", "3", "--cell", cell, "--device", "cpu", out="here") == 0
    there, here = (checkpoint.load(Path(out) / CHECKPOINT)[0] for out in ("there", "here"))
    weights = [name for name, array in there.items() if array.dtype == np.float32]
    assert len(weights) >= 5
    for name in weights:
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=2e-5)
    assert all((Path("there") / file).exists() for file in FILES)
