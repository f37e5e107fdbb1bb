"""The steps of the first run on a GPU measure what they say, notice mistakes, and become a page.

Tests `scripts/gpu/evidence.py`, `scripts/gpu/alive.py`, `scripts/gpu/ratios.py`, `scripts/gpu/latencies.py`,
`scripts/gpu/latencies.cu`, `scripts/gpu/carried.py`, `scripts/gpu/profiled.py` and `scripts/gpu/tables.py`.
"""

import json
import os
import subprocess
import sys
import tarfile
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.sim.driver import SimDriver
from scripts.gpu import alive, carried, evidence, profiled, ratios, tables

ROOT = Path(__file__).parents[2]
needs_simulator = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


def run(module: str, path: Path, *words: str) -> list[dict[str, Any]]:
    """What a step notes about the simulator."""
    environment = os.environ | {"DEVICE": "cuda-sim", "QUICK": "1", "EVIDENCE": str(path)}
    subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT, env=environment, check=True, capture_output=True)
    return evidence.rows(path)


def test_a_machine_needs_only_what_is_carried() -> None:
    """Besides NumPy, these are PyCUDA, tqdm and what they import (`scripts/evidence/gpu_wheels.sh --pycuda`)."""
    steps = [*(f"scripts.gpu.{name}" for name in ("alive", "carried", "evidence", "latencies", "profiled", "ratios"))]
    steps += ["scripts.gpu.tables", "tests.devices.cuda.gpu.litmus", "tests.verified", "minirnn.__main__"]
    lacking = ("pytest", "hypothesis", "matplotlib", "torch", "pycuda", "safetensors")
    code = f"import sys; sys.modules.update(dict.fromkeys({lacking})); import {', '.join(steps)}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- evidence


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCE", str(tmp_path / "e.jsonl"))
    evidence.note("a", x=1)
    with (tmp_path / "e.jsonl").open("a") as file:
        file.write('{"step": "a", "x"\n')
    evidence.note("b", x=2)
    assert evidence.noted("a") == [{"step": "a", "x": 1}] and len(evidence.rows(tmp_path / "e.jsonl")) == 2


def test_a_process_that_hangs_is_ended_and_the_others_are_heard() -> None:
    python = [sys.executable, "-c"]
    commands = {"good": [*python, "print('fine')"], "bad": [*python, "raise SystemExit('no')"]}
    commands["hangs"] = [*python, "import time; print('here', flush=True); time.sleep(100)"]
    found = evidence.side_by_side(commands, 5)
    assert found == {"good": (0, "fine\n"), "bad": (1, "no\n"), "hangs": (124, "here\n")}


# ---- alive


def test_wrong_missing_and_unwritten_numbers_are_noticed() -> None:
    right = {"y": np.ones((3, 4))}
    found = np.ones((3, 4), "f4")
    assert alive.difference({"y": found}, right) == 0
    assert alive.difference({"y": 1.5 * found}, right) == pytest.approx(0.25)
    assert alive.difference({}, right) == float("inf")
    found[1, 1] = np.nan
    assert alive.difference({"y": found}, right) == float("inf")


@needs_simulator
def test_memory_that_no_kernel_wrote_is_nan() -> None:
    gpu = alive.poisoned(Cuda(SimDriver()))
    assert np.isnan(gpu.to_numpy(gpu.empty((3, 5), np.float32))).all()
    np.testing.assert_array_equal(gpu.to_numpy(gpu.tanh(gpu.asarray(np.zeros(3, "f4")))), np.zeros(3, "f4"))


@needs_simulator
def test_a_rung_is_compared_layer_by_layer(tmp_path: Path) -> None:
    (row,) = run("scripts.gpu.alive", tmp_path / "e.jsonl", "persistent", "--tiny")
    assert row["ok"] and row["used"] == ["persistent"] and 0 <= row["difference"] <= row["allowed"]


# ---- latencies, ratios


@needs_simulator
def test_latencies_are_noted(tmp_path: Path) -> None:
    found = run("scripts.gpu.latencies", tmp_path / "e.jsonl")
    whats = ["message", "barrier", "launch", "launch, host", "node of a graph", "copy", *["product"] * 3]
    assert [row["what"] for row in found] == whats
    assert all(row.get("seconds", row.get("gb_per_second")) > 0 for row in found)


@needs_simulator
@pytest.mark.slow
def test_ratios_are_noted_and_not_measured_again(tmp_path: Path) -> None:
    found = run("scripts.gpu.ratios", tmp_path / "e.jsonl")
    assert len(found) == 2 * len(ratios.PRECISIONS) and found[0]["pass"] == "forward"
    assert all(row["ways"]["persistent"]["used"][-1].startswith("persistent") for row in found)
    assert run("scripts.gpu.ratios", tmp_path / "e.jsonl") == found


def test_all_ways_are_sampled_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "ROUNDS", 3)
    monkeypatch.setattr(ratios, "SAMPLE", 0.0)
    asked: list[str] = []
    calls: dict[str, Any] = {
        name: (nullcontext, lambda name=name: asked.append(name), lambda: None) for name in ("a", "torch")
    }
    found = ratios.in_turns(calls)
    assert asked == ["a", "torch"] * 5  # two rounds warm up
    assert all(row["rounds"] == 3 and row["spread"][0] <= row["seconds"] <= row["spread"][1] for row in found.values())


@pytest.mark.parametrize("tf32", [False, True])
def test_torch_is_told_whether_it_may_round(tf32: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    products, layers = SimpleNamespace(fp32_precision="none"), SimpleNamespace(fp32_precision="tf32")
    torch: Any = ModuleType("torch")
    torch.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=products), cudnn=SimpleNamespace(rnn=layers))
    monkeypatch.setitem(sys.modules, "torch", torch)
    with ratios.torch_rounding(tf32):
        assert products.fp32_precision == layers.fp32_precision == ("tf32" if tf32 else "ieee")
    assert (products.fp32_precision, layers.fp32_precision) == ("none", "tf32")


def test_torch_has_these_flags() -> None:
    torch = pytest.importorskip("torch")
    before = torch.backends.cudnn.rnn.fp32_precision
    with ratios.torch_rounding(False):
        assert torch.backends.cudnn.rnn.fp32_precision == "ieee"
    assert torch.backends.cudnn.rnn.fp32_precision == before


# ---- what is carried


def test_a_driver_without_a_gpu_knows_what_a_layer_compiles() -> None:
    driver: Any = carried.NoDriver("sm_120")
    assert driver.limits.compute_capability == (12, 0)
    gpu = Cuda(driver, "no-gpu")
    for gpu.cudnn_rnn_rung in ("barrier", "persistent"):
        alive.random_case(np.random.default_rng(0), "gru", 3, 2, 5, 64, 1, "f4").run(gpu)
    of_rungs = [(text, options) for text, name, options in driver.asked if name == "gru.cu"]
    files = [line.split("/")[1] for text, _ in of_rungs for line in text.splitlines() if "sequence/" in line]
    assert files == ['barrier.cu"', 'persistent.cu"', 'persistent_grad.cu"']
    assert "-DTHREADS=256" in of_rungs[0][1]


# ---- the tools


def test_a_tool_that_is_not_installed_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiled.shutil, "which", lambda name: None)
    assert profiled.main("sanitizer") == profiled.main("ncu") == evidence.NOT_HERE


def test_the_metrics_of_ncu_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "ncu"
    tool.write_text(
        "#!/bin/sh\necho '==PROF== Connected'\n"
        'echo \'"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\'\n'
        'echo \'"0","cell_persistent","Duration","us","12.5"\'\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("EVIDENCE", str(tmp_path / "e.jsonl"))
    assert profiled.ncu(str(tool)) == 0
    (row,) = evidence.noted("ncu")
    assert (row["kernel"], row["metric"], row["value"], row["unit"]) == ("cell_persistent", "Duration", "12.5", "us")


# ---- the page


def archive_of(tmp_path: Path, name: str, quick: bool = False) -> Path:
    """Evidence from a GPU of this name."""
    ways = {"default": {"seconds": 2e-4}, "graph": {"seconds": 3e-4}, "torch": {"seconds": 1e-4}}
    lines: list[dict[str, Any]] = [
        {"step": "machine", "time": "2030-01-02 03:04:05", "quick": quick, "versions": {"numpy": "9", "torch": None},
         "limits": {"name": name, "simulated": False}},
        {"step": "begun", "begun": "alive"},
        {"step": "alive", "way": "steps", "ok": False},
        {"step": "done", "done": "alive", "status": 1, "seconds": 1, "limit": 2},
        {"step": "begun", "begun": "ratios"},
        {"step": "latencies", "what": "message", "seconds": 1e-6},
        {"step": "ratios", "size": [50, 1, 64, 64], "precision": "ieee", "pass": "forward", "ways": ways},
        {"step": "done", "done": "ratios", "status": 3, "seconds": 1, "limit": 2},
        {"step": "begun", "begun": "alive"},
        {"step": "alive", "way": "steps", "ok": True},
        {"step": "done", "done": "alive", "status": 0, "seconds": 1, "limit": 2},
        {"step": "begun", "begun": "ratios"},
        {"step": "done", "done": "ratios", "status": 0, "seconds": 1, "limit": 2},
    ]  # fmt: skip
    (tmp_path / "evidence.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with tarfile.open(tmp_path / "evidence.tgz", "w:gz") as archive:
        archive.add(tmp_path / "evidence.jsonl", "evidence.jsonl")
    return tmp_path / "evidence.tgz"


def test_one_command_writes_the_data_and_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    page.write_text((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    evidence_of = archive_of(tmp_path, "NVIDIA H200")
    for _ in range(2):
        assert tables.main([str(evidence_of), "--docs", str(page.parent)]) == 0
    text = page.read_text()
    assert "| 50, 1, 64, 64 | ieee | forward | 0.20 | 0.30 | - | 0.10 | 2.00 |" in text
    assert "Measured on NVIDIA H200, 2030-01-02, with numpy 9: 1 layers were compared" in text
    assert "0 were wrong" in text  # the run of `alive` that failed was done again
    assert "| message | 1.00 |" in text and text.count("| ratio |") == 1 and text.count(tables.MARKS[1]) == 1
    stored = json.loads((page.parent / "data" / "gpu" / "h200.json").read_text())
    assert stored["done"] == [{"done": step, "status": 0, "seconds": 1, "limit": 2} for step in ("alive", "ratios")]
    assert tables.main([str(evidence_of), "--brief"]) == 0
    said = capsys.readouterr().out
    assert "ratios     status   0, 1 s" in said and "WRONG" not in said


@pytest.mark.parametrize("name, quick", [("stand-in GPU", False), ("NVIDIA H200", True)])
def test_a_rehearsal_is_not_published(
    name: str, quick: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tables.main([str(archive_of(tmp_path, name, quick)), "--docs", str(tmp_path)]) == 1
    assert "is not published: it is a rehearsal" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
