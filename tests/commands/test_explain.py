"""``minirnn explain``: what it says about mistakes."""

from __future__ import annotations

import pytest

from minirnn.cli import main


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["lstm"], "no op is called 'lstm'"),
        (["cudnn_rnn", "-T", "0"], "-T is 0"),
        (["cudnn_rnn", "-H", "0"], "num_units is 0"),
        (["cudnn_rnn", "-P", "9"], "num_proj is 9"),
        (["cudnn_rnn", "--dropout", "2"], "--dropout is 2"),
        (["cudnn_rnn", "--mode", "gruu"], "invalid choice"),
        (["cudnn_rnn", "--device", "tpu"], "no device is called 'tpu'"),
        (["gru_block_cell", "--json"], "--json"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["explain", *arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    assert status == 2
    assert text in captured.err and captured.err.count("\n") == 1
