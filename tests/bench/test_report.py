"""``minirnn bench --check``: it makes the comparisons that it lists, notices errors, and writes a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.bench import report, times
from minirnn.commands.cli import main
from minirnn.devices.cpu.device import CPU
from minirnn.proof.table import Cell

GOLDEN = Path(__file__).parents[1] / "golden"


class Wrong(CPU):
    """A CPU whose tanh is slightly off."""

    name = "wrong"

    def tanh(self, a: Any) -> Any:
        return np.tanh(a) * a.dtype.type(1 + 1e-4)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(mr.devices.registry._factories, "wrong", Wrong)
    monkeypatch.setattr(mr.devices.registry, "_made", dict(mr.devices.registry._made))
    return "wrong"


def checks_of(monkeypatch: pytest.MonkeyPatch, chosen: Callable[[Cell], bool]) -> None:
    """Only these: `tests/ops/test_verified.py` has all of them."""
    for owner, name in ((report, "all_comparisons"), (report.stored, "comparisons")):
        every = getattr(owner, name)
        kept = lambda *a, every=every: [one for one in every(*a) if chosen(one.cell)]  # noqa: E731
        monkeypatch.setattr(owner, name, kept)


@pytest.fixture
def one_op(monkeypatch: pytest.MonkeyPatch) -> None:
    checks_of(monkeypatch, lambda cell: cell.op == "gru_block_cell")


@pytest.fixture
def two_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two primitives, and the function that has the name of one."""
    checks_of(monkeypatch, lambda cell: cell.variant in ("tanh", "multiply"))


def bench(*arguments: str) -> int:
    return main(["bench", "--check", "--quick", *arguments])


HOST = ("cpu", "native")
"""Devices that launch nothing and have no ladder."""


def test_the_times_of_every_device_are_in_its_file(device: str, tmp_path: Path) -> None:
    target = tmp_path / "check.json"
    assert bench("--device", device, "--part", "times", "--json", str(target)) == 0
    found = json.loads(target.read_text())
    assert found["failed"] == [] and found["quick"] is True
    assert found["machine"]["device"] == device
    assert found["machine"]["versions"]["numpy"] == np.__version__
    rows = {"copy": 1, "latency": 3, "kernels": 0, "products": 3, "sequences": 6}
    if device not in HOST:
        rows |= {"latency": 5, "kernels": len(found["times"]["kernels"])}
        kernels = {row["op"] for row in found["times"]["kernels"]}
        assert kernels == {"lstm_block_cell", "lstm_block_cell_grad", "gru_block_cell", "gru_block_cell_grad"}
    assert {table: len(found) for table, found in found["times"].items()} == rows
    assert all(row["seconds"] > 0 for table in found["times"].values() for row in table)


@pytest.mark.slow_elsewhere
def test_every_working_device_passes_and_leaves_its_numbers(
    device: str, one_op: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "check.json"
    assert bench("--device", device, "--golden", str(GOLDEN), "--json", str(target)) == 0, capsys.readouterr().out
    found = json.loads(target.read_text())
    assert found["failed"] == []
    names = {check["name"] for check in found["checks"]}
    for way in ("stored", "differences", "definition"):
        assert any(name.startswith("gru_block_cell, ") and name.endswith(f", {device}, {way}") for name in names)
    assert bool(found["times"]["ladder"]) == (device not in HOST)
    if device not in HOST:
        for row in found["times"]["ladder"]:
            passes = row["pass"].split("+")
            assert row["used"] == sorted(f"{row['rung']} {way}" for way in passes)
        ways = {(row["rung"], row["graphs"], row["precision"]) for row in found["times"]["ladder"]}
        rungs = [("steps", True), ("steps", False), ("barrier", False), ("persistent", False)]
        assert ways == {(*rung, precision) for rung in rungs for precision in ("float32", "tf32", "float16")}


def test_a_wrong_op_fails_by_name_with_status_1(
    wrong: str, two_ops: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "check.json"
    assert bench("--device", wrong, "--golden", str(GOLDEN), "--json", str(target)) == 1
    cell = f"primitives, tanh, float64, {wrong}, definition"
    assert f"FAILED {cell}: 2x3x4, y: off by " in capsys.readouterr().out
    found = json.loads(target.read_text())
    assert cell in found["failed"] and len(found["checks"]) == 3 * 4
    assert not any("multiply" in name for name in found["failed"])


def test_an_error_in_a_measurement_keeps_the_checks(
    two_ops: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(device: Any, quick: bool) -> Any:
        raise RuntimeError("the GPU fell off the bus")

    monkeypatch.setattr(times, "all_times", broken)
    target = tmp_path / "check.json"
    assert bench("--device", "cpu", "--golden", str(GOLDEN), "--json", str(target)) == 1
    found = json.loads(target.read_text())
    assert found["failed"] == ["times"] and "fell off the bus" in found["times_error"]
    assert len(found["checks"]) > 5
    assert "FAILED times" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--check", "--device", "tpu"], "no device is called 'tpu'"),
        (["--check", "--device", "cpu", "--golden", "no/such"], "--golden no/such: it has no folders"),
        (["--check", "--device", "cpu", "--json", "no/such/x.json"], "no such folder"),
        (["--quick"], "--quick is for --check"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def test_without_golden_files_the_rest_is_checked(
    two_ops: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(times, "all_times", lambda device, quick: {})
    monkeypatch.setattr(report, "print_times", lambda tables: None)
    assert bench("--device", "cpu") == 0
    assert "no folder tests/golden here" in capsys.readouterr().err


def test_a_part_is_measured_alone(two_ops: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "check.json"
    assert bench("--device", "cpu", "--part", "values", "--golden", str(GOLDEN), "--json", str(target)) == 0
    found = json.loads(target.read_text())
    assert found["parts"] == ["values"] and found["checks"] and "times" not in found and "cudnn_layout" not in found
    assert main(["bench", "--part", "values"]) == 2
    assert "--part is for --check" in capsys.readouterr().err


def test_each_size_of_the_ladder_is_on_disk_when_the_next_one_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"op": "lstm", "size": [1, 2, 3, 4], "precision": "float32", "pass": "forward", "rung": "steps"}
    row |= {"graphs": False, "used": ["steps forward"], "seconds": 0.5}

    def ladder(device: Any, quick: bool) -> Any:
        yield row
        raise RuntimeError("the time is over")

    monkeypatch.setattr(report.rungs, "ladder", ladder)
    target = tmp_path / "check.json"
    assert bench("--device", "cpu", "--part", "ladder", "--json", str(target)) == 1
    found = json.loads(target.read_text())
    assert found["times"]["ladder"] == [row] and found["failed"] == ["ladder"] and "is over" in found["ladder_error"]
