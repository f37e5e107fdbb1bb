"""``minirnn verify``: its options, its exit status, and what it says about mistakes."""

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands.cli import build_parser, main
from minirnn.proof.table import ABSENT, OPS, PASSED, read
from tests.proof.runs import SIMULATOR, run, statuses


def test_a_quick_run_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For two ops only: `tests/ops/test_verified.py` covers all of them."""
    devices, ops = ["cpu"] if SIMULATOR else ["cpu", "cuda-sim"], ["gru_block_cell", "gru_block_cell_grad"]
    status, results = run(tmp_path, "--device", *devices, "--op", *ops)
    said = capsys.readouterr().out
    assert status == 0, said
    assert {r.cell.op for r in results} == set(ops) < set(OPS)
    assert not [r for r in results if r.status == ABSENT and r.cell.way != "torch"]


def test_a_device_that_is_not_there_is_not_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {"cpu": None, "native": "no compiler", "cuda-sim": "no compiler", "cuda": "no GPU"}
    monkeypatch.setattr(mr.devices, "available", lambda: reasons)
    status, results = run(tmp_path, "--op", "gru_block_cell")
    assert status == 0
    for device in ("native", "cuda-sim", "cuda"):
        assert all(status == {ABSENT} for status in statuses(results, device=device).values())
    assert statuses(results, device="cpu")["definition"] == {PASSED}


def test_devices_and_ops_may_be_named_one_by_one_or_together() -> None:
    parse = build_parser(["verify"]).parse_args
    assert parse(["verify", "--device", "cpu", "cuda-sim"]).device == ["cpu", "cuda-sim"]
    assert parse(["verify", "--device", "cpu", "--device", "cuda-sim"]).device == ["cpu", "cuda-sim"]
    assert parse(["verify", "--op", "primitives", "--op", "block_lstm"]).op == ["primitives", "block_lstm"]


def test_a_run_of_one_op_writes_into_the_table_that_is_there(tmp_path: Path) -> None:
    """As after adding an op: the other cells stay as they were, and what the table says of its devices and versions."""
    _, before = run(tmp_path, "--op", "exp", "tanh", "--device", "cpu")
    assert {r.cell.variant for r in before} == {"exp", "tanh"}
    out = tmp_path / "table.json"
    text = (
        out.read_text().replace(f'"numpy": "{np.__version__}"', '"numpy": "2.0"').replace('"cpu": "', '"cpu": "an old ')
    )
    out.write_text(text)
    assert main(["verify", "--quick", "--op", "tanh", "--device", "cpu", "--out", str(out)]) == 0
    assert out.read_text() == text
    assert main(["verify", "--quick", "--op", "sin", "--device", "cpu", "--out", str(out)]) == 0
    after = read(out)[1]
    assert [r for r in after if r.cell.variant != "sin"] == before and len(after) > len(before)
    assert out.read_text().partition('"columns"')[0] == text.partition('"columns"')[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "columns": [], "reasons": [], "cells": [[1]]}']
)
def test_a_file_that_is_not_a_table_is_rejected(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    assert main(["verify", "--op", "exp", "--out", str(path)]) == 2
    assert "table" in capsys.readouterr().err
