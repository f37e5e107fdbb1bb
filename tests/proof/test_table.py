"""A table as a text, as a file, and on the page of the documentation.

Tests `minirnn/proof/table.py` and `minirnn/proof/report.py`.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from minirnn.proof import table
from minirnn.proof.report import text
from minirnn.proof.table import ABSENT, FAILED, OPS, PASSED, WAYS, Cell, Result
from tests.proof.runs import GRU, ROOT


def test_the_file_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    why = "CompileError: /usr/include/c++/12/cmath:3: no such file /home/me/x.cu (a/b, 2 / 3)"
    table.write(tmp_path / "t.json", {}, [Result(GRU, 1, FAILED, why=why)])
    assert table.read(tmp_path / "t.json")[1][0].why == "CompileError: cmath:3: no such file x.cu (a/b, 2 / 3)"


def test_the_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    results = [
        Result(GRU, 3, PASSED, 1.5e-8, 2e-6, "N u, N = 3", "B=1, h"),
        Result(dataclasses.replace(GRU, way="second order"), 1, ABSENT, why="no compiler"),
        Result(dataclasses.replace(GRU, way="stored"), 1, FAILED, why='ValueError: "h"\n  is NaN'),
    ]
    head = {"minirnn": "0", "quick": True}
    table.write(tmp_path / "t.json", head, results)
    again, found = table.read(tmp_path / "t.json")
    plain = lambda r: dataclasses.replace(r, ratio=0.0)  # noqa: E731
    assert sorted(map(plain, found), key=lambda r: r.cell) == sorted(map(plain, results), key=lambda r: r.cell)
    assert again == {"schema": table.SCHEMA, **head}


def test_the_file_is_json_of_numbers_even_for_what_is_infinitely_wrong(tmp_path: Path) -> None:
    table.write(tmp_path / "t.json", {}, [Result(GRU, 1, FAILED, np.inf, 1e-6, "N u", "h")])
    said = (tmp_path / "t.json").read_text(encoding="utf-8")
    json.loads(said, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert table.read(tmp_path / "t.json")[1][0].error == np.inf


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
