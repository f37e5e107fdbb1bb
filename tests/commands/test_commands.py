"""The commands that have a short file each: what they print, write and refuse.

Tests `minirnn/commands/arguments.py`, `minirnn/commands/bench.py`, `minirnn/commands/explain.py`,
`minirnn/commands/verify.py`, `minirnn/commands/look.py`, `minirnn/commands/figures.py` and
`minirnn/commands/doctor.py`.
"""

import argparse
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn import __version__, ops
from minirnn.arguments.user_error import UserError
from minirnn.commands import cli, figures
from minirnn.commands.arguments import real, try_file, whole
from minirnn.commands.cli import main
from minirnn.devices.cuda.driver import CompileError
from minirnn.viz import display
from tests.cells.with_torch import GALLERY
from tests.train.runs import Train

# ---- numbers on the command line are read, or rejected with a message


def test_whole_numbers_have_their_limits() -> None:
    assert whole(2, 5)("2") == 2 and whole(2, 5)("5") == 5 and whole(0)("100") == 100
    for text in ("1", "6", "x", "2.0", ""):
        with pytest.raises(argparse.ArgumentTypeError, match=rf"got '{text}', expected a whole number, 2 .. 5"):
            whole(2, 5)(text)


def test_numbers_fit_or_are_refused() -> None:
    positive = real(lambda x: x > 0, "a number above 0")
    assert positive("2.5") == 2.5
    for text in ("0", "nan", "many"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"got '{text}', expected a number above 0"):
            positive(text)


def test_a_file_to_write_is_tried_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.json").write_text("old")
    for name in ("old.json", "new.json"):
        try_file("--out", str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"
    for name, words in ((f"{tmp_path}/no/x.json", "no such folder"), (f"{tmp_path}", "this is a folder")):
        with pytest.raises(UserError, match=f"^--out {name}: {words}"):
            try_file("--out", name)

    def refused(**options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(UserError, match="new.json: Permission denied"):
        try_file("--out", str(tmp_path / "new.json"))


# ---- a wrong call of a command is told on one line, with status 2


MISTAKES = [
    (["bench", "--cell", "nowhere.py:mgu"], "there is no file"),
    (["bench", "--cell", f"{GALLERY}/mgu.py:mgv"], "likely 'mgu' is meant"),
    (["bench", "--cell", f"{GALLERY}/with_keys/retnet.py"], "the cell has keys"),
    (["bench", "--cell", "lstm"], "--cell lstm: a custom cell is FILE.py:name; --mode measures"),
    (["bench", "--device", "tpu"], "no device is called 'tpu'"),
    (["bench", "--size", "3,2,4"], "--size 3,2,4"),
    (["bench", "--size", "3,2,4,0"], "sizes of 1 or more"),
    (["bench", "--samples", "0"], "--samples is 0"),
    (["bench", "--threads", "-1"], "--threads is -1"),
    (["bench", "--json", "no/such/folder/x.json"], "no such folder"),
    (["explain", "lstm"], "no op is called 'lstm'; likely one of block_lstm, "),
    (["explain", "BlockLTSM"], "no op is called 'BlockLTSM'; likely one of block_lstm, "),
    (["explain", "tanhh"], "no op is called 'tanhh'; likely one of tanh, "),
    (["explain", "xyzzy"], "no op is called 'xyzzy'; minirnn explain lists all"),
    (["explain", "cudnn_rnn", "--device", "gpu"], "likely 'cuda' is meant"),
    (["explain", "cudnn_rnn", "-T", "0"], "-T is 0"),
    (["explain", "cudnn_rnn", "-H", "0"], "num_units is 0"),
    (["explain", "cudnn_rnn", "-P", "9"], "num_proj is 9"),
    (["explain", "cudnn_rnn", "--dropout", "2"], "--dropout is 2"),
    (["explain", "cudnn_rnn", "--mode", "gruu"], "invalid choice"),
    (["explain", "cudnn_rnn", "--device", "tpu"], "no device is called 'tpu'"),
    (["verify", "--op", "gru"], "--op gru; expected one of lstm_block_cell, "),
    (["verify", "--device", "gpu"], "no device is called 'gpu'; known: "),
    (["verify", "--out", "nowhere/table.json"], "--out nowhere/table.json: no such folder"),
    (["verify", "--out", "."], "--out .: this is a folder; expected a file"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES)
def test_a_mistake_is_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2 and line.startswith(f"minirnn {arguments[0]}: ") and words in line


# ---- ``minirnn explain``: what it says about mistakes


def test_without_an_op_all_are_listed_with_their_names_in_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert set(re.findall(r"\w+", out)) >= set(ops.__all__)
    assert re.search(r"^  block_lstm_grad_v2 +BlockLSTMGradV2$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100


# ---- ``minirnn look``: the table and the picture of a trained model


OUT = "minirnn-out"


def test_the_gates_of_a_checkpoint_are_printed_and_drawn(
    train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "3", "--layers", "2", out=OUT) == 0
    capsys.readouterr()
    assert cli.main(["look", "--prompt", "the hen", "--out", "seen.png"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and lines[-1] == "seen.png" and Path("seen.png").stat().st_size > 5000
    assert [line.split()[0] for line in lines if "after 6 steps" in line] == ["recurrent.0:", "recurrent.1:"]
    assert sum(line.startswith("recurrent.1: f") for line in lines) == 1


def test_without_a_checkpoint_the_error_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["look"]) == 2
    assert "run minirnn train first" in capsys.readouterr().err


# ---- ``minirnn figures``: files for slides, made from the chapters


CHAPTER = """
from matplotlib.figure import Figure
import minirnn as mr
print("this is not shown")
mr.viz.show(mr.viz.loss_curve([1, 2], [3.0, 2.0]))
mr.viz.show(mr.viz.loss_curve([1, 2, 3], [3.0, 2.0, 1.5]))
"""


@pytest.fixture
def chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tutorials"
    folder.mkdir()
    (folder / "01_one.py").write_text(CHAPTER)
    (folder / "02_two.py").write_text('raise SystemExit("This page needs the simulator")')
    monkeypatch.setattr(figures, "TUTORIALS", folder)
    return folder


@pytest.mark.parametrize(("kind", "first"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_figures_of_a_chapter_become_files_that_are_described(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, first: bytes
) -> None:
    assert cli.main(["figures", "1", f"--{kind}", str(tmp_path / "out")]) == 0
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"01_one_1.{kind}", f"01_one_2.{kind}"]
    assert all(file.read_bytes().startswith(first) for file in files)
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in told] == [str(file) for file in files]
    assert all("loss" in line.partition(": ")[2] for line in told)
    assert display._collected is None


def test_the_same_figures_give_the_same_files(chapters: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert cli.main(["figures", "1", "--pdf", str(tmp_path / folder)]) == 0
    assert (tmp_path / "one" / "01_one_2.pdf").read_bytes() == (tmp_path / "two" / "01_one_2.pdf").read_bytes()


def test_a_chapter_that_cannot_run_here_says_why_and_the_others_are_written(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["figures", "--svg", str(tmp_path / "out")]) == 1
    assert "02_two: This page needs the simulator" in capsys.readouterr().out
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_chapter_that_is_not_there_is_one_line(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["figures", "7", "--pdf", str(tmp_path)]) == 2
    assert "there is no chapter 7; the chapters are 1 to 2" in capsys.readouterr().err
    monkeypatch.setattr(figures, "TUTORIALS", tmp_path / "nowhere")
    assert cli.main(["figures", "--pdf", str(tmp_path)]) == 2
    assert "in a clone of the repository" in capsys.readouterr().err


# ---- ``minirnn doctor``: its report as text and as JSON


def test_the_text_report_ends_with_one_command_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("Next, try: ")
    assert ["cpu", "works", "(default)"] in [line.split() for line in lines]
    assert {"cpu", "cuda-sim", "cuda"} <= {line.split()[0] for line in lines if line.startswith("  ")}
    told = [line.split()[:2] for line in lines]
    assert ["minirnn", __version__] in told and ["Python", platform.python_version()] in told
    assert ["numpy", np.__version__] in told


@pytest.mark.slow
def test_torch_is_not_imported() -> None:
    code = "import sys; from minirnn.commands.cli import main; main(['doctor']); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_broken_cpu_device_is_reported_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": "no BLAS\n  install one"})
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no BLAS; install one" in out
    assert "pip install" in out.splitlines()[-1]


def test_a_simulator_that_cannot_compile_is_told_in_a_few_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(type(mr.devices.get("cpu"))):  # type: ignore[misc]
        name = "cuda-sim"

        def asarray(self, host: np.ndarray) -> np.ndarray:
            raise CompileError("arithmetic.cu does not compile\n" + "\n".join(f"line {k}" for k in range(50)))

    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": None, "cuda-sim": None})
    monkeypatch.setattr(mr.devices.registry, "_made", {**mr.devices.registry._made, "cuda-sim": Broken()})
    assert cli.main(["doctor"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["cuda-sim"])
    assert "CompileError: arithmetic.cu does not compile; line 0" in line
    assert "line 20" not in line
