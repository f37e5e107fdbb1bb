"""``minirnn look``: the table and the picture of a trained model. Tests `minirnn/commands/look.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirnn.commands import cli
from tests.train.runs import Train

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
