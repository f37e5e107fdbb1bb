"""The stored file of a table has the contents of the table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from minirnn.devices.cpu.device import CPU
from minirnn.proving import table
from minirnn.proving.table import ABSENT, FAILED, PASSED, Result
from tests.verify.runs import (
    GRU,
    gru_with_h,
    patched,
    run,
)


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


@pytest.mark.slow
def test_the_file_is_json_of_numbers_even_for_what_is_infinitely_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched(monkeypatch, CPU, "cell_step", gru_with_h(lambda h: h * np.nan))
    run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    text = (tmp_path / "table.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
