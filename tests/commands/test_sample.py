"""``minirnn sample``: its output for every kind of model of ``minirnn train``, and its errors."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minirnn import data
from minirnn.commands import cli
from minirnn.io import checkpoint
from minirnn.train.checkpoint import CHECKPOINT, read_model
from minirnn.train.sample import BLANK, sample
from tests.slow import slow_unless
from tests.train.runs import Train
from tests.train.test_saved import KINDS

COMMAND = [sys.executable, "-m", "minirnn", "sample"]
OUT = "minirnn-out"


@pytest.mark.parametrize("kind", slow_unless(2, [k for k in KINDS.values() if "--bidirectional" not in k]))
def test_every_model_of_one_direction_goes_on_with_a_prompt(
    kind: list[str], train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "3", *kind, out=OUT) == 0
    capsys.readouterr()
    assert cli.main(["sample", "--prompt", "the hen", "--length", "30", "--seed", "5", "--temperature", "0.5"]) == 0
    out, err = capsys.readouterr()
    model, vocabulary, *_ = read_model(Path(OUT, CHECKPOINT))
    ids = sample(model, vocabulary.encode("the hen"), 30, seed=5, temperature=0.5)
    assert (out, err) == (f"the hen{vocabulary.decode(ids)}\n", "")


def test_every_device_writes_the_same(
    train: Train, no_pictures: None, device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "30", "--lr", "0.02", out=OUT) == 0
    written = []
    for name in ("cpu", device):
        capsys.readouterr()
        assert cli.main(["sample", "--device", name, "--length", "20", "--temperature", "0"]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert len(written[0]) == 21


def test_a_model_of_two_directions_fills_in_blanks_of_a_prompt_or_of_its_text(
    train: Train, no_pictures: None, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "3", "--bidirectional", out=OUT) == 0
    prompt = f"the h{BLANK}n {BLANK}ikes"
    capsys.readouterr()
    assert cli.main(["sample", "--prompt", prompt]) == 0
    out = capsys.readouterr().out
    assert len(out) == len(prompt) + 1 and BLANK not in out
    assert all(a in (b, BLANK) for a, b in zip(prompt, out, strict=False))

    assert cli.main(["sample", "--length", "60"]) == 0
    read, answer = capsys.readouterr().out.removesuffix("\n").split("\n\n")
    content = text.read_text()
    ids = data.CharVocabulary.from_text(content).encode(content)
    kept = content[-len(data.train_validation_split(ids)[1]) :][:60]
    assert BLANK in read and BLANK not in answer
    assert all(a in (b, BLANK) and (a == BLANK or b == c) for a, b, c in zip(read, kept, answer, strict=True))


@pytest.fixture
def trained(train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]) -> Path:
    assert train("--steps", "1", out=OUT) == 0
    capsys.readouterr()
    return Path(OUT, CHECKPOINT)


def damaged(path: Path, **changes: object) -> None:
    arrays, metadata = checkpoint.load(path)
    metadata["options"].update(changes)
    checkpoint.save(path, arrays, metadata)


MISTAKES = [
    (["--prompt", "die H\u00fchner"], "--prompt has 'H' (U+0048), '\u00fc' (U+00FC): not among the 19 characters"),
    (["--prompt", "".join(map(chr, range(0x4E00, 0x4E10)))], "(U+4E07) and 8 more: not among"),
    (["--prompt", BLANK], "(U+2588)"),
    (["--checkpoint", "nowhere"], "no checkpoint at nowhere: run minirnn train first"),
    (["--checkpoint", "empty"], "no checkpoint at empty/checkpoint.safetensors"),
    (["--checkpoint", "notes.txt"], "'notes.txt'"),
    (["--checkpoint", "short"], "truncated"),
    (["--checkpoint", "other"], "not written by minirnn train"),
    (["--checkpoint", "wider"], "damaged, or written by another version of minirnn"),
    (["--checkpoint", "later"], "TypeError"),
    (["--temperature", "-1"], "got '-1', expected a number of 0 or more"),
    (["--temperature", "nan"], "got 'nan'"),
    (["--temperature", "inf"], "got 'inf'"),
    (["--temperature", "warm"], "got 'warm'"),
    (["--length", "0"], "got '0', expected a whole number, 1 .. 1000000000"),
    (["--length", "9" * 30], "expected a whole number, 1 .. 1000000000"),
    (["--lenght", "5"], "unrecognized arguments: --lenght 5; likely '--length' is meant"),
    (["--length", "2.5"], "got '2.5'"),
    (["--seed", "-1"], "got '-1'"),
    (["--device", "tpu"], "no device is called 'tpu'"),
]


def test_a_mistake_is_one_line_on_stderr_and_status_2(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    Path("notes.txt").write_text("precious notes, no checkpoint")
    Path("short").write_bytes(trained.read_bytes()[:-9])
    checkpoint.save("other", {"w": np.ones(3)}, {})
    for name, change in (("wider", {"hidden": 8}), ("later", {"depth": 3})):
        Path(name).write_bytes(trained.read_bytes())
        damaged(Path(name), **change)
    for argv, words in MISTAKES:
        try:
            status = cli.main(["sample", *argv])
        except SystemExit as stop:  # argparse
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert (status, out) == (2, ""), argv
        assert err.startswith("minirnn sample: ") and err.count("\n") == 1
        assert words in err


def test_the_checkpoint_may_be_named_by_its_folder(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = []
    for name in (trained, trained.parent):
        assert cli.main(["sample", "--checkpoint", os.fspath(name), "--length", "9"]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


@pytest.mark.slow
def test_characters_reach_a_terminal_one_by_one_and_a_pipe_unchanged(
    tmp_path: Path, train: Train, no_pictures: None
) -> None:
    import pty

    (tmp_path / "escape.txt").write_bytes(b"a\x1b[31m" * 500)
    assert train("--text", "escape.txt", "--steps", "1", out=OUT) == 0
    command = [*COMMAND, "--length", "40", "--temperature", "9"]
    piped = subprocess.run(command, capture_output=True, text=True)
    assert piped.returncode == 0 and "\x1b" in piped.stdout

    master, slave = pty.openpty()
    done = subprocess.run(command, stdout=slave)
    os.close(slave)
    parts = []
    with contextlib.suppress(OSError):  # EIO: the other end is closed, and everything was read
        while part := os.read(master, 1 << 16):
            parts.append(part)
    os.close(master)
    assert done.returncode == 0
    assert b"".join(parts).decode().replace("\r\n", "\n") == piped.stdout.replace("\x1b", "?")


def test_a_reader_that_has_enough_ends_it_quietly(trained: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--length", "1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    assert len(process.stdout.read(5)) == 5  # long before a million characters are drawn
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141
    process.stderr.close()
