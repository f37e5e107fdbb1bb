"""The figures of the CPU devices in docs/performance.md, from stored times to tables and the plot.

Tests `minirnn/bench/peers.py` as `scripts/evidence/cpu_times.py` and `docs/cpu_figures.py` use it.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from minirnn.train.messages import NATIVE_SHARE

ROOT = Path(__file__).parents[2]
TABLES = ("train", "float64", "steps", "threads")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("cpu_figures")


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "evidence"))
    return importlib.import_module("cpu_times")


def test_the_pages_include_what_is_written(figures: Any, tmp_path: Path) -> None:
    figures.write(tmp_path)
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("performance.md", "parallel.md"))
    stored = [ROOT / "docs" / name for name in re.findall(r"\{include\} (data/\S+)", pages)]
    assert len(stored) == 4 and all("Measured " in path.read_text() for path in stored)
    assert sorted(re.findall(r"\{include\} api/(\S+)", pages)) == sorted(path.name for path in tmp_path.glob("*.txt"))
    for path in tmp_path.glob("*.txt"):
        assert "Measured " in path.read_text(), path.name


def test_times_over_the_floor_come_from_the_reports_of_the_bench_command(figures: Any) -> None:
    rows = [
        {"mode": mode, "size": [5, 1, 2, 3], "pass": what, "ms": {"minirnn": ms, "gemm": 2.0}}
        for mode, what, ms in (("lstm", "forward", 3.0), ("lstm", "forward+backward", 5.0), ("gru", "forward", 1.0))
    ]
    assert figures.over_products({"cpu": rows[:1], "native": rows}).splitlines()[2:] == [
        "| 5, 1, 2, 3 | LSTM | 1.50 | - | 1.50 | 2.50 |",
        "| 5, 1, 2, 3 | GRU | - | - | 0.50 | - |",
    ]


def test_the_summary_of_the_page_holds_for_the_stored_times(figures: Any) -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    passes, train = figures.rows_of("passes"), figures.rows_of("train")

    def most(rows: list[Any], mode: str, device: str, what: str = "") -> float:
        return max(figures.ratios(r, device)[0] for r in rows if r["mode"] == mode and r["pass"].startswith(what))

    assert "takes up to 2.3 times torch's time forward, and up to 1.5 times with the backward pass" in page
    assert most(passes, "lstm", "cpu", "forward") <= 2.3 and most(passes, "lstm", "cpu", "forward+") <= 1.5
    assert "it takes up to 1.4 times torch's time forward, and up to 1.1 times with the backward pass" in page
    assert most(passes, "lstm", "native", "forward") <= 1.4 and most(passes, "lstm", "native", "forward+") <= 1.1
    assert "with an LSTM takes up to 1.6 times torch's time on `cpu`, and up to 1.1 times on `native`" in page
    assert most(train, "lstm", "cpu") <= 1.6 and most(train, "lstm", "native") <= 1.1
    assert "With the backward pass, GRUs take less time than torch's on both devices at all sizes" in page
    assert max(most(passes, "gru", device, "forward+") for device in ("cpu", "native")) < 1
    plain = figures.rows_of("plain_ops")
    slow = [r for r in plain if r["microseconds"]["minirnn"] > 2 * r["microseconds"]["torch"]]
    assert "A third of the ops that are not recurrent take two to four times torch's time" in page
    assert 0.3 < len(slow) / len(plain) < 0.37
    assert max(r["microseconds"]["minirnn"] / r["microseconds"]["torch"] for r in slow) < 4.5


def test_the_tip_of_train_has_the_stored_times(figures: Any) -> None:
    found = {r["mode"]: figures.ratios(r, "native", "cpu")[0] for r in figures.rows_of("train")}
    assert {mode: round(ratio, 1) for mode, ratio in found.items()} == NATIVE_SHARE


def test_the_tables_have_the_sizes_of_the_page(measure: Any) -> None:
    from minirnn.bench.peers import SIZES

    plans = {table: list(measure.plan(table)) for table in ("passes", *TABLES)}
    assert {tuple(row["size"]) for row in plans["passes"]} == set(SIZES)
    assert {row["pass"] for row in plans["passes"]} == {"forward", "forward+backward", "step"}
    assert {tuple(row["size"]) for row in plans["float64"]} == set(SIZES[1:5])
    assert max(row["size"][0] for row in plans["steps"]) == 10_000
    for rows in plans.values():
        for k, row in enumerate(rows):
            assert [measure.matches(row, other) for other in rows].index(True) == k
