"""``minirnn explain``: what it says about mistakes."""

from __future__ import annotations

import re

import pytest

from minirnn import ops
from minirnn.commands.cli import main


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["lstm"], "no op is called 'lstm'; likely one of block_lstm, "),
        (["BlockLTSM"], "no op is called 'BlockLTSM'; likely one of block_lstm, "),
        (["tanhh"], "no op is called 'tanhh'; likely one of tanh, "),
        (["xyzzy"], "no op is called 'xyzzy'; minirnn explain lists all"),
        (["tanh", "--json"], "tanh is a primitive"),
        (["cudnn_rnn", "--device", "gpu"], "likely 'cuda' is meant"),
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


def test_without_an_op_all_are_listed_with_their_names_in_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert set(re.findall(r"\w+", out)) >= set(ops.__all__)
    assert re.search(r"^  block_lstm_grad_v2 +BlockLSTMGradV2$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100
