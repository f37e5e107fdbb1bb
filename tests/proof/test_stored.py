"""Comparisons with stored values of other libraries.

Tests `tests/verified.py`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from minirnn.proof.table import FAILED
from tests.proof import stored
from tests.proof.runs import (
    GOLDEN,
    run,
    statuses,
)


@pytest.mark.slow
def test_changed_stored_values_fail(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN / "block_ops", folder / "block_ops")
    shutil.copytree(GOLDEN / "cudnn_rnn", folder / "cudnn_rnn")
    path = folder / "block_ops" / "gru_cell_plain.npz"
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    np.savez(path, **case | {"h": case["h"] + np.float32(1e-4)})
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", golden=folder)
    assert status == 1
    assert statuses(results)["stored"] == {FAILED}


def test_a_cell_whose_files_are_gone_fails(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    for name in ("block_ops", "cudnn_rnn"):
        (folder / name).mkdir(parents=True)
    shutil.copy(GOLDEN / "block_ops" / "lstm_cell_plain.npz", folder / "block_ops")
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", golden=folder)
    assert status == 1
    assert statuses(results)["stored"] == {FAILED}


def test_a_file_that_was_written_anew_is_read_anew_and_nobody_changes_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    for value in (1.0, 2.0):
        np.savez(path, h=np.full(3, value))
        os.utime(path, ns=(0, int(value)))
        case = stored.load(path)
        case.pop("h")
        assert (stored.load(path)["h"] == value).all()
    with pytest.raises(ValueError, match="read-only"):
        stored.load(path)["h"][0] = 3.0
