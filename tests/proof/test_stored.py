"""Comparisons with stored values of other libraries.

Tests `tests/verified.py`.
"""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("name", ["lstm_cell_plain", "gru_cell_plain"], ids=["gone", "changed"])
def test_stored_values_that_are_gone_or_changed_fail(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    for room in ("block_ops", "cudnn_rnn"):
        (folder / room).mkdir(parents=True)
    with np.load(GOLDEN / "block_ops" / f"{name}.npz", allow_pickle=False) as z:
        case = dict(z)
    np.savez(folder / "block_ops" / f"{name}.npz", **case | {"h": case["h"] + np.float32(1e-4)})
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", golden=folder)
    (why,) = {r.why for r in results if r.status == FAILED}
    assert status == 1 and statuses(results)["stored"] == {FAILED}
    assert "off by" in why if name.startswith("gru") else "has no file for this cell" in why


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
