"""The figures of the CPU devices in docs/performance.md, from stored times to tables and the plot.

Tests `minirnn/bench/peers.py` as `scripts/evidence/cpu_times.py` and `docs/cpu_figures.py` use it.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.slow
def test_every_table_becomes_ratios_with_their_spread(figures: Any, measure: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    speed = {"cpu": 3.0, "native": 1.0, "torch": 2.0, "jax": 4.0, "onnxruntime": 1.5}
    for table in ("passes", *TABLES):
        rows = [
            {
                **row,
                "milliseconds": {n: [speed[n] * f * row["size"][0] for f in (0.9, 1, 1.2)] for n in row["libraries"]},
            }
            for row in measure.plan(table)
        ]
        measure.write(tmp_path / f"{table}.json", {"table": table}, rows)
    figures.write(tmp_path / "api", tmp_path)
    text = {name: (tmp_path / "api" / f"cpu_{name}.txt").read_text() for name in ("ratios", *TABLES)}
    assert (tmp_path / "api" / "cpu_ratios.png").read_bytes().startswith(b"\x89PNG")
    assert "(api/cpu_ratios.png)" in text["ratios"] and "Not yet" not in text["ratios"]
    assert "| 64, 32, 64, 256 | RNN | train | 2 | 1.50 (1.35-1.80) | 0.50 (0.45-0.60) |" in text["train"].replace(
        f"| {measure.THREADS} |", "| 2 |"
    )
    assert "jax / torch | onnxruntime / torch" in text["libraries"]
    assert "| 2.00 (1.80-2.40) | - |" in text["libraries"]  # onnxruntime has no backward
    assert text["steps"].count("3000.0 | 1000.0 |") == 20  # microseconds divided by T
    assert measure.THREADS < 2 or "| native | 1 to 2 | 1.00 |" in text["threads"]


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


@pytest.mark.slow
def test_a_measurement_goes_on_where_it_stopped(
    measure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "steps.json"
    command = ["measure", "steps", "--size=100,8,64,128", "--samples=1", "--mode=gru", "--libraries=cpu"]

    def run(*more: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", [*command, "--out", str(out), *more])
        measure.main()
        return capsys.readouterr().out.splitlines()

    assert run("--minutes=0") == ["time is up; the same command goes on from here"] and not out.exists()
    assert len(run()) == 2 and run() == []
    stored = json.loads(out.read_text())
    assert stored["machine"]["threads"] and len(stored["rows"]) == 2
    assert all(len(row["milliseconds"]["cpu"]) == 1 for row in stored["rows"])
    assert len(run("--again")) == 2
