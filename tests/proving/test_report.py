"""The page of the documentation shows the stored table."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from minirnn.proving.report import text
from minirnn.proving.table import ABSENT, FAILED, OPS, PASSED, WAYS, Cell, Result
from tests.verify.runs import (
    ROOT,
)


def test_the_page_shows_every_op_and_where_its_tolerances_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    importlib.import_module("verification_table").write(tmp_path / "verification.txt")
    page = (ROOT / "docs" / "verified.md").read_text(encoding="utf-8")
    included = re.findall(r"\{include\} api/(\S+)", page)
    assert sorted(included) == sorted(path.name for path in tmp_path.iterdir())
    shown = (tmp_path / "verification.txt").read_text(encoding="utf-8")
    reasons = (tmp_path / "verification_tolerances.txt").read_text(encoding="utf-8")
    for op in OPS:
        name = op if op in ("primitives", "functional") else f"`{op}`"
        assert f"| {name} |" in shown
        assert f"| {name} |" in reasons or "params" in op  # these are exact
    assert "sqrt(N) u" in reasons and FAILED not in shown and ABSENT not in shown
    for line in (*shown.splitlines(), *reasons.splitlines()):
        assert not line.startswith("|") or line.count("|") in (6, 7), line


def test_the_table_on_a_terminal_says_what_its_entries_and_its_ways_are() -> None:
    cells = [Cell("gru_block_cell", "", "float64", "cpu", way) for way in ("stored", "definition")]
    results = [Result(cell, cases=3, status=PASSED) for cell in cells]
    shown = text(results, {"cpu": "NumPy"})
    table, legend, summary = shown.split("\n\n")
    assert legend.startswith("each entry: the worst error, as a fraction of what rounding may cause")
    for way in WAYS:
        assert (f"  {way}" in legend) is (way in ("stored", "definition"))
    assert summary.startswith("2 cells: 2 passed")
