"""A wrong call of a command is told on one line, with status 2.

Tests `minirnn/commands/bench.py`, `minirnn/commands/explain.py` and `minirnn/commands/verify.py`.
"""

from __future__ import annotations

import pytest

from minirnn.commands.cli import main
from tests.cells.with_torch import GALLERY

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
