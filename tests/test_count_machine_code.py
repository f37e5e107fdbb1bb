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
