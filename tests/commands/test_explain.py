"""``minirnn explain``: what it says about mistakes."""

from __future__ import annotations

import re

import pytest

from minirnn import ops
from minirnn.commands.cli import main


def test_without_an_op_all_are_listed_with_their_names_in_tensorflow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert set(re.findall(r"\w+", out)) >= set(ops.__all__)
    assert re.search(r"^  block_lstm_grad_v2 +BlockLSTMGradV2$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100
