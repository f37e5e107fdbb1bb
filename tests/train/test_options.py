"""An option that contradicts the run to resume is named."""

from pathlib import Path

import pytest

from tests.train.runs import TINY, Train, complaint, outcome

CONTRADICTIONS = [
    (["--cell", "gru"], "--cell gru contradicts the run to resume, which has lstm"),
    (["--hidden", "8"], "--hidden 8 contradicts the run to resume, which has 7"),
    (["--batch", "4"], "--batch 4 contradicts"),
    (["--length", "12"], "--length 12 contradicts"),
    (["--seed", "1"], "--seed 1 contradicts the run to resume, which has 0"),
    (["--lr", "0.1"], "--lr 0.1 contradicts the run to resume, which has 0.004"),
    (["--device", "cuda"], "--device cuda contradicts the run to resume, which has cpu"),
    (["--layers", "3"], "--layers 3 contradicts the run to resume, which has 1"),
    (["--dropout", "0.1"], "--dropout 0.1 contradicts the run to resume, which has 0"),
    (["--bidirectional"], "contradicts the run to resume"),
    (["--schedule", "step"], "--schedule step contradicts the run to resume"),
    (["--optimizer", "sgd"], "--optimizer sgd contradicts the run to resume"),
    (["--warmup", "1"], "--warmup 1 contradicts the run to resume"),
    (["--schedule-steps", "9"], "--schedule-steps 9 contradicts the run to resume"),
    (["--steps", "11"], "--steps 11 is less than the 12 steps that the run to resume has done"),
    (["--text", "other.txt"], "the text is not the one that the run to resume learns from: "),
]


def test_an_option_that_contradicts_the_run_to_resume_is_named_and_changes_nothing(
    train: Train, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.txt").write_text("something else\n" * 300)
    assert train("--steps", "12", "--quiet") == 0
    before = outcome(Path("out"))
    capsys.readouterr()
    for argv, words in CONTRADICTIONS:
        assert train("--resume", *argv) == 2
        assert words in complaint(capsys)
        assert outcome(Path("out")) == before


def test_options_that_agree_with_the_run_to_resume_may_be_repeated(train: Train, no_pictures: None, text: Path) -> None:
    assert train("--steps", "12") == 0
    assert train("--resume", *TINY, "--cell", "lstm", "--lr", "4e-3", "--device", "cpu", "--text", str(text)) == 0
