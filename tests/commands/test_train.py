"""``minirnn train``: its files, its output, and its messages about mistakes."""

import contextlib
import math
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from minirnn import data
from minirnn.commands import cli
from minirnn.io import checkpoint
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.messages import FILES
from tests.slow import slow_unless
from tests.train.runs import TINY, UNDRAWN, Train, complaint, lines_of


def test_a_run_learns_and_leaves_numbers_pictures_a_sample_and_a_checkpoint(
    train: Train, unrendered: None, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
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
    for name in ("loss.png", "gradient_flow.png", "units.png", "gates.png"):
        assert (folder / name).read_bytes() == b"a picture"
    assert (folder / "units.html").read_text(encoding="utf-8").startswith("<!doctype html>")

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

    # the output
    assert "lstm with 7 units on cpu: " in out
    assert "step 100 of 200   loss " in out
    last = lines[-1]["validation_loss"]
    assert f"validation loss  {last:.3f} nats = {last / math.log(2):.3f} bits per character" in out
    assert f"unigram entropy  {entropy:.3f} nats = {entropy / math.log(2):.3f} bits per character" in out
    assert "train --resume --steps 400 --out out" in out
    assert all(name in out for name in FILES)


def test_the_default_text_is_the_standard_library(
    tmp_path: Path, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train", *TINY, "--steps", "1", "--out", str(tmp_path / "out")]) == 0
    assert "of Python's standard library" in capsys.readouterr().out
    assert checkpoint.load(tmp_path / "out" / CHECKPOINT)[1]["options"]["text"] is None


@pytest.mark.parametrize("content", slow_unless(lambda text: "\x1b" in text, ["a" * 3000, "\x1b\x07" * 1500]))
def test_a_text_of_one_or_two_characters_works_and_controls_do_not_reach_the_terminal(
    content: str, train: Train, brief: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few.txt").write_text(content)
    assert train("--text", "few.txt", "--steps", "3", "--length", "1") == 0
    assert (tmp_path / "out" / "gradient_flow.png").exists()
    out, err = capsys.readouterr()
    assert err == "" and not set(out) & {"\x1b", "\x07"}
    assert content[0] in (tmp_path / "out" / "sample.txt").read_text()


def test_quiet_says_only_the_result(train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--steps", "100", "--quiet") == 0
    out = capsys.readouterr().out
    assert out.startswith("validation loss")
    assert "step 100" not in out


@pytest.mark.parametrize("columns", slow_unless([100], [0, 100]))
def test_a_terminal_gets_a_progress_bar(columns: int, text: Path, tmp_path: Path) -> None:
    import pty
    import termios

    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (30, columns))
    done = subprocess.run(
        [*UNDRAWN, *TINY, "--text", str(text), "--steps", "20", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
    )
    os.close(slave)
    shown = ""
    with contextlib.suppress(OSError):  # EIO: the other end is closed, and everything has been read
        while part := os.read(master, 1 << 16):
            shown += part.decode()
    os.close(master)
    assert done.returncode == 0
    assert "20/20" in shown
    assert "loss=" in shown
    assert "step 20 of 20" not in done.stdout


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
        (["--layers", "0"], "argument --layers: got '0', expected a whole number, 1 .. 16"),
        (["--dropout", "1"], "argument --dropout: got '1', expected a probability"),
        (["--dropout", "nan"], "argument --dropout: got 'nan', expected a probability"),
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


def test_ctrl_c_works_as_usual_after_the_command(train: Train, no_pictures: None) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert train("--steps", "1") == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("pictures", ["no_pictures", pytest.param("unrendered", marks=pytest.mark.slow)])
def test_every_device_learns_the_same(train: Train, pictures: str, device: str, request: pytest.FixtureRequest) -> None:
    # SGD, because Adam divides a gradient by its size: where it is nearly 0, its rounding would decide the step.
    options = "--steps", "3", "--cell", "gru", "--optimizer", "sgd", "--lr", "1"
    request.getfixturevalue(pictures)
    assert train(*options, "--device", device, out="there") == 0
    assert pictures == "no_pictures" or all((Path("there") / file).exists() for file in FILES)
    request.getfixturevalue("no_pictures")  # only the weights of the other run matter
    assert train(*options, "--device", "cpu", out="here") == 0
    there, here = (checkpoint.load(Path(out) / CHECKPOINT)[0] for out in ("there", "here"))
    weights = [name for name, array in there.items() if array.dtype == np.float32]
    assert len(weights) >= 5
    for name in weights:
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=2e-5)
