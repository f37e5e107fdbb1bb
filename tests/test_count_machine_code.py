"""scripts/count_machine_code.py prints what nvcc makes of the kernels, and notices what differs from what is stored.

Tests `scripts/count_machine_code.py`.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.devices.cuda.machine_code.sass import find_nvdisasm
from tests.devices.cuda.machine_code.variants import VARIANTS

SCRIPT = Path(__file__).parents[1] / "scripts" / "count_machine_code.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the scripts are in the repository alone")
needs_tools = pytest.mark.skipif(
    not shutil.which("nvcc") or find_nvdisasm() is None,
    reason="no nvcc on the PATH, or no nvdisasm (the wheel nvidia-cuda-nvdisasm)",
)


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("count_machine_code", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["count_machine_code.py", *arguments])
    status: int = script.main()
    return status


def test_what_is_stored_names_its_tools_and_no_kernel_spills(script: ModuleType) -> None:
    stored = json.loads(script.STORED.read_text(encoding="utf-8"))
    assert stored["nvcc"]
    assert stored["nvdisasm"]
    assert {r["arch"] for r in stored["kernels"]} == set(script.ARCHITECTURES)
    assert [r for r in stored["kernels"] if r["spilled"]] == []
    assert {r["file"] for r in stored["kernels"]} <= set(VARIANTS)


@needs_tools
def test_it_prints_a_row_for_each_loop_and_finds_each_difference(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chosen = "--only", "primitives/softmax.cu", "--arch", "sm_90"
    assert run(script, monkeypatch, *chosen) == 0
    printed = capsys.readouterr().out
    assert "primitives/softmax.cu REAL=float ACC=float sm_90" in printed
    assert "registers" in printed
    assert "for (" in printed
    assert "SPILLED" not in printed

    found = [
        record for job in script.jobs(*[("primitives/softmax.cu",), ("sm_90",)]) for record in script.records(*job)
    ]
    stored = tmp_path / "docs" / "machine_code.json"
    stored.parent.mkdir()
    stored.write_text(script.as_text(found))
    monkeypatch.setattr(script, "STORED", stored)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert run(script, monkeypatch, *chosen, "--quiet", "--check") == 0
    assert "0 differ" in capsys.readouterr().out
    for change in ("registers", "gone", "nvcc"):
        wrong = json.loads(script.as_text(found))
        if change == "registers":
            wrong["kernels"][0]["registers"] += 1
        elif change == "gone":
            del wrong["kernels"][0]
        else:
            wrong["nvcc"] = "1.2.3"
        stored.write_text(json.dumps(wrong))
        assert run(script, monkeypatch, *chosen, "--quiet", "--check") == 1
        assert {"registers": "differs", "gone": "is new", "nvcc": "made with nvcc 1.2.3"}[
            change
        ] in capsys.readouterr().out


def test_it_stores_some_files_beside_what_is_stored_of_others(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def records(name: str, options: tuple[str, ...], arch: str) -> list[dict[str, Any]]:
        options_text = script.options_text(options)
        return [{"file": name, "options": options_text, "arch": arch, "kernel": k, "registers": version} for k in "ab"]

    stored = tmp_path / "machine_code.json"
    for name, value in {
        "STORED": stored, "records": records, "nvcc_version": lambda: "13.0.0", "nvdisasm_version": lambda: "13.5",
        "find_nvdisasm": lambda: "nvdisasm", "table": lambda found: [],
    }.items():  # fmt: skip
        monkeypatch.setattr(script, name, value)
    version = 1
    assert run(script, monkeypatch, "--write") == 0
    before = json.loads(stored.read_text())["kernels"]
    version = 2
    assert run(script, monkeypatch, "--write", "--only", "losses.cu", "adam.cu", "--arch", "sm_90") == 0
    after = json.loads(stored.read_text())["kernels"]
    assert [{**r, "registers": 1} for r in after] == before
    changed = {(r["file"], r["arch"]) for r in after if r["registers"] == 2}
    assert changed == {("losses.cu", "sm_90"), ("adam.cu", "sm_90")}
    monkeypatch.setattr(script, "nvcc_version", lambda: "14.0.0")
    assert run(script, monkeypatch, "--write", "--only", "losses.cu") == 1
    assert "made with nvcc 13.0.0, this is 14.0.0" in capsys.readouterr().err
    assert json.loads(stored.read_text())["kernels"] == after


def test_without_the_tools_it_says_what_is_missing(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "nvcc_version", lambda: "")
    assert run(script, monkeypatch) == 2
    assert "nvidia-cuda-nvdisasm" in capsys.readouterr().err
