"""Tolerances, tables and comparisons of `minirnn verify`.

Tests `minirnn/proof/table.py`, `minirnn/proof/report.py`, `minirnn/proof/tolerance.py` and `tests/verified.py`.
"""

import dataclasses
import importlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.proof import table, tolerance
from minirnn.proof.report import text
from minirnn.proof.table import ABSENT, FAILED, OPS, PASSED, WAYS, Cell, Result
from minirnn.proof.tolerance import Count
from tests.proof import stored
from tests.proof.against import compare
from tests.proof.runs import (
    GOLDEN,
    GRU,
    ROOT,
    run,
    statuses,
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


# ---- the tolerances of `minirnn verify`: their formulas, and how far they are from real errors


@pytest.mark.parametrize(
    ("dtype", "n", "expected"),
    [
        ("float64", 1, 2.0**-53),
        ("float64", 64, 64 * 2.0**-53),
        ("float64", 100, 80 * 2.0**-53),
        ("float32", 10_000, 800 * 2.0**-24),
        ("float16", 100, 80 * 2.0**-24 + 3 * 2.0**-11),
    ],
)
def test_the_tolerance_follows_from_the_number_of_roundings(dtype: str, n: int, expected: float) -> None:
    assert tolerance.of(dtype, Count(n, "n", 3, "3")).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("n", [3, 64, 65, 1000])
def test_the_reason_gives_the_tolerance_when_it_is_computed(dtype: str, n: int) -> None:
    found = tolerance.of(dtype, Count(n, "T H", 200, "2 T"))
    formula, *values = found.reason.split(", ")
    names = {name: text.split("=")[-1].replace("^", "**") for name, text in (v.split(" = ", 1) for v in values)}
    for name, value in names.items():
        formula = re.sub(rf"\b{name}\b", f"({value})", formula)
    formula = re.sub(r"(?<=[\d)]) (?=[(s])", " * ", formula)
    assert eval(formula, {"sqrt": np.sqrt}) == pytest.approx(found.value, rel=1e-12)


def test_what_only_moves_numbers_must_be_exact() -> None:
    for dtype in tolerance.UNIT:
        assert tolerance.of(dtype, Count(0, "0", 0, "0")) == tolerance.EXACT
    assert tolerance.EXACT.value == 0


def test_both_computations_and_both_ways_add_up() -> None:
    there, back = Count(10, "T H", 2, "2"), Count(20, "T 4H", 8, "8")
    assert (there + back).computed == 30 and (there + back).stored == 10
    assert (there + back).twice().computed == 60
    assert "T H" in (there + back).formula and "4H" in (there + back).formula


@pytest.mark.parametrize("n", [2, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sums_in_order_stay_within_the_tolerance_and_come_near_it(n: int, dtype: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, n)), rng.standard_normal((200, n)) * n**-0.5
    a, b = a.astype(dtype), b.astype(dtype)
    total = np.zeros(200, "f4")
    for k in range(n):  # one after the other: the worst order
        total = total + a[:, k].astype("f4") * b[:, k].astype("f4")
    exact = (a.astype("f8") * b.astype("f8")).sum(1)
    error = np.abs(total.astype(dtype) - exact).max() / max(1, np.abs(exact).max())
    allowed = tolerance.of(dtype, Count(n, "n")).value
    assert allowed / 100 < error <= allowed


def test_a_sum_of_one_sign_in_order_stays_within_the_tolerance(rng: np.random.Generator) -> None:
    n = 4096
    a = rng.uniform(0, 1, (100, n)).astype("f4")
    total = np.zeros(100, "f4")
    for k in range(n):
        total = total + a[:, k]
    exact = a.astype("f8").sum(1)
    assert np.abs(total - exact).max() / exact.max() <= tolerance.of("float32", Count(n, "n")).value


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_differences_of_tanh_stay_within_their_tolerance(step: float, rng: np.random.Generator) -> None:
    a, x = rng.standard_normal((50, 7)), rng.standard_normal(7)
    y = lambda x: float(np.tanh(a @ x).sum())  # noqa: E731
    central = lambda h: (y(x + h * np.eye(7)[0]) - y(x - h * np.eye(7)[0])) / (2 * h)  # noqa: E731
    numeric = (4 * central(step / 2) - central(step)) / 3
    exact = float(((1 - np.tanh(a @ x) ** 2) * a[:, 0]).sum())
    error = abs(numeric - exact) / (1 + abs(exact))
    assert error <= tolerance.of_differences(Count(15, "n"), 50, step).value


# ---- a run is compared with a stored table


THEN = Result(GRU, 4, PASSED, 5e-8, 3e-6, "N u", "h")


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        pytest.param({"error": 1e-9}, {"error": 4e-7}, "", id="below a few eps"),
        pytest.param({}, {"error": 1.5e-6}, "error 1.5e-06 (h), more than 10 times 5e-08 (h)", id="grew tenfold"),
        pytest.param({"cases": 5}, {}, "4 cases, there were 5", id="fewer cases"),
        pytest.param({"status": ABSENT, "error": None}, {}, "", id="was not at hand"),
    ],
)
def test_a_cell_is_compared_with_what_it_was(then: dict[str, Any], now: dict[str, Any], said: str) -> None:
    found = compare([replace(THEN, **then)], {GRU: 4}, [replace(THEN, **now)], {"cpu"})
    assert found == ([f"{GRU}: {said}"] if said else [], [])


def test_a_cell_that_disappeared_is_named_and_one_that_is_not_at_hand_noted() -> None:
    gone, absent = replace(GRU, variant="with a fifth gate"), replace(THEN, status=ABSENT, why="no compiler")
    found = compare([THEN, replace(THEN, cell=gone)], {GRU: 4}, [absent], {"cpu"})
    assert found == ([f"{gone}: the cell disappeared"], [f"{GRU}: no compiler"])


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
