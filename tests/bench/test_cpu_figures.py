"""The figures of the CPU devices in docs/performance.md, from stored times to tables and the plot.

Tests `minirnn/bench/peers.py` as `scripts/evidence/cpu_times.py` and `docs/cpu_figures.py` use it.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from minirnn.train.native_hint import SHARE

ROOT = Path(__file__).parents[2]
TABLES = ("train", "libraries", "float64", "steps", "threads")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("cpu_figures")


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "evidence"))
    return importlib.import_module("cpu_times")


def test_what_is_not_measured_is_said_to_be_so(figures: Any, tmp_path: Path) -> None:
    figures.write(tmp_path / "api", tmp_path / "nothing")
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    written = sorted(path.name for path in (tmp_path / "api").iterdir())
    assert sorted(re.findall(r"\{include\} api/(\S+)", page)) == written
    for name in ("ratios", *TABLES):
        text = (tmp_path / "api" / f"cpu_{name}.txt").read_text()
        assert text.startswith("Not yet measured: `python scripts/evidence/cpu_times.py ")
    for name, script in (("plain", "plain_ops"), ("tape", "tape"), ("checkpoint", "checkpoint")):
        text = (tmp_path / "api" / f"cpu_{name}.txt").read_text()
        assert text == f"Not yet measured: `python scripts/evidence/{script}.py`.\n"
    assert not (tmp_path / "api" / "cpu_ratios.png").exists()
    assert (tmp_path / "api" / "cpu_products.txt").read_text().startswith("Not yet measured: `minirnn bench --json ")


def test_times_over_the_floor_come_from_the_reports_of_the_bench_command(figures: Any, tmp_path: Path) -> None:
    rows = [
        {"mode": mode, "size": [5, 1, 2, 3], "pass": what, "ms": {"minirnn": ms, "gemm": 2.0}}
        for mode, what, ms in (("lstm", "forward", 3.0), ("lstm", "forward+backward", 5.0), ("gru", "forward", 1.0))
    ]
    (tmp_path / "native_sequence_ops.json").write_text(json.dumps({"results": rows}))
    assert figures.over_products(tmp_path).splitlines()[2:] == [
        "| 5, 1, 2, 3 | LSTM | 1.50 | 2.50 |",
        "| 5, 1, 2, 3 | GRU | 0.50 | - |",
    ]
    (tmp_path / "sequence_ops.json").write_text(json.dumps({"results": rows[:1]}))
    assert figures.over_products(tmp_path).splitlines()[2] == "| 5, 1, 2, 3 | LSTM | 1.50 | - | 1.50 | 2.50 |"


def test_slow_ops_come_first_and_every_table_says_when_and_where_it_was_measured(figures: Any, tmp_path: Path) -> None:
    origin = {"date": "2026-01-02", "machine": "a machine", "commit": "abc"}
    times = {"gelu": (5, 10), "ctc": (90, 20), "clip": (44, 20)}
    rows = [{"case": c, "microseconds": {"minirnn": a, "torch": b}, **origin} for c, (a, b) in times.items()]
    (tmp_path / "plain_ops.json").write_text(json.dumps({"rows": rows}))
    text = figures.plain(tmp_path)
    assert re.findall(r"^\| (\w+) \| ([\d.]+) ", text, re.MULTILINE) == [
        ("ctc", "4.50"),
        ("clip", "2.20"),
        ("gelu", "0.50"),
    ]
    assert "The other 1 of 3 take at most twice torch's time" in text
    assert text.endswith("Measured on 2026-01-02, a machine, commit abc.\n")
    tape = [{"shape": [16], "microseconds": {"minirnn": [0.5, 1.25]}, **origin}]
    (tmp_path / "tape.json").write_text(json.dumps({"rows": tape}))
    assert "| (16,) | minirnn | 0.50 | 1.25 |\n\nMeasured" in figures.tape(tmp_path)
    saved = [{"size": [9, 1, 2, 3], "segments": 4, "memory": 0.25, "time": 1.5, **origin}]
    (tmp_path / "checkpoint.json").write_text(json.dumps({"rows": saved}))
    assert "| 9, 1, 2, 3 | 4 | 0.250 | 1.50 |\n\nMeasured" in figures.checkpoints(tmp_path)


def test_the_summary_of_the_page_holds_for_the_stored_times(figures: Any) -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    passes, train = figures.rows_of(figures.STORED, "passes"), figures.rows_of(figures.STORED, "train")

    def most(rows: list[Any], mode: str, device: str, what: str = "") -> float:
        return max(figures.ratios(r, device)[0] for r in rows if r["mode"] == mode and r["pass"].startswith(what))

    assert "takes up to 2.2 times torch's time forward, and up to 1.8 times with the backward pass" in page
    assert most(passes, "lstm", "cpu", "forward") <= 2.2 and most(passes, "lstm", "cpu", "forward+") <= 1.8
    assert "with an LSTM takes up to 1.8 times torch's time on `cpu`, and up to 1.2 times on `native`" in page
    assert most(train, "lstm", "cpu") <= 1.8 and most(train, "lstm", "native") <= 1.2
    assert "All layers on `native` take torch's time or less. GRUs take about half of it or less at most sizes" in page
    assert max(most(passes, mode, "native") for mode in ("lstm", "gru")) <= 1.01
    gru = [figures.ratios(r, "native")[0] for r in passes if r["mode"] == "gru"]
    assert sum(ratio <= 0.54 for ratio in gru) > len(gru) / 2
    plain = figures.rows_of(figures.STORED, "plain_ops")
    slow = [r for r in plain if r["microseconds"]["minirnn"] > 2 * r["microseconds"]["torch"]]
    assert "A third of the ops that are not recurrent take two to four times torch's time" in page
    assert 0.3 < len(slow) / len(plain) < 0.37
    assert max(r["microseconds"]["minirnn"] / r["microseconds"]["torch"] for r in slow) < 4.5


def test_the_tip_of_train_has_the_stored_times(figures: Any) -> None:
    found = {r["mode"]: figures.ratios(r, "native", "cpu")[0] for r in figures.rows_of(figures.STORED, "train")}
    assert {mode: round(ratio, 1) for mode, ratio in found.items()} == SHARE


def test_the_tables_have_the_sizes_of_the_page(measure: Any) -> None:
    from minirnn.bench.peers import SIZES

    plans = {table: list(measure.plan(table)) for table in ("passes", *TABLES)}
    assert {tuple(row["size"]) for row in plans["passes"]} == set(SIZES)
    assert {row["pass"] for row in plans["passes"]} == {"forward", "forward+backward", "step"}
    assert {tuple(row["size"]) for row in plans["float64"]} == set(SIZES[1:5])
    assert max(row["size"][0] for row in plans["steps"]) == 10_000
    assert len({tuple(row["size"]) for row in plans["libraries"]}) == 3
    for rows in plans.values():
        for k, row in enumerate(rows):
            assert [measure.matches(row, other) for other in rows].index(True) == k
