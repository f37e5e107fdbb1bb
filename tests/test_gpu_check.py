"""scripts/gpu_check.sh runs its steps in order, each to its end or to its limit, and resumes where it was interrupted.

Tests `scripts/gpu_check.sh`, with a stand-in for Python that records its arguments. CI rehearses the steps
themselves on the stand-in GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "gpu_check.sh"
pytestmark = [
    pytest.mark.skipif(not SCRIPT.exists(), reason="the scripts are in the repository alone"),
    pytest.mark.skipif(sys.platform != "linux", reason="the stand-in GPU is for Linux"),
]
STEPS = ["litmus", "rungs", "ops", "layers", "train", "ratios", "times", "tests"]
PYTHON = """#!/usr/bin/env bash
echo "${MINIRNN_CUDNN_RNN:-auto} $*" >>"$LOG"
case "$*" in *$FAILS*) echo "it went wrong"; exit 3 ;; esac
"""


@dataclass
class Machine:
    """A folder for results, and the recorded arguments of Python."""

    folder: Path

    def run(self, *steps: str, fails: str = "nothing") -> tuple[int, str]:
        """Exit status and output."""
        (self.folder / "log").write_text("")
        stand_in = self.folder / "python"
        stand_in.write_text(PYTHON)
        stand_in.chmod(0o755)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "PYTHON": str(stand_in), "LOG": str(self.folder / "log")}
        environment |= {"FAILS": fails, "QUICK": "1"}
        command = ["bash", str(SCRIPT), str(self.folder / "out"), *steps]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    @property
    def asked(self) -> list[str]:
        """The recorded arguments of Python, beginning with `doctor`."""
        lines = (self.folder / "log").read_text().splitlines()
        assert not lines or lines[0].endswith("-m minirnn doctor")
        return lines[1:]

    def passed(self) -> set[str]:
        return {path.stem for path in (self.folder / "out").glob("*.passed")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_all_steps_are_done_in_order_and_not_again(machine: Machine) -> None:
    status, said = machine.run()
    assert status == 0
    assert [line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith("==")] == STEPS
    assert len(machine.asked) == len(STEPS) and machine.passed() == set(STEPS)
    assert sum("--quick" in line for line in machine.asked) == 5 and sum(" -k " in line for line in machine.asked) == 2
    assert [line.split()[0] for line in machine.asked] == ["auto"] * 2 + ["steps"] + ["auto"] * 4 + ["steps"]
    status, said = machine.run()
    assert status == 0 and machine.asked == []
    assert said.count("has passed before") == len(STEPS)


def test_what_failed_or_was_cut_off_is_done_again_and_nothing_else(machine: Machine) -> None:
    status, said = machine.run(fails="--part ladder")
    assert status == 1
    assert "== ratios: status 3" in said and "it went wrong" in said
    assert machine.passed() == set(STEPS) - {"ratios"}
    (machine.folder / "out" / "ops.passed").unlink()  # as if the machine had gone away meanwhile
    status, said = machine.run()
    assert status == 0 and len(machine.asked) == 2
    assert " verify " in machine.asked[0] and "--part ladder" in machine.asked[1]
    assert machine.passed() == set(STEPS)


def test_steps_can_be_chosen_by_name_and_a_wrong_name_is_refused(machine: Machine) -> None:
    assert machine.run("times", "rungs")[0] == 0
    assert machine.passed() == {"times", "rungs"} and "first_layers" in machine.asked[0]
    status, said = machine.run("rung")
    assert status == 2 and "there is no step rung; expected: litmus rungs" in said and machine.asked == []


def test_after_each_step_json_says_what_came_of_it(machine: Machine) -> None:
    machine.run("rungs", "ops", fails="first_layers")
    one = json.loads((machine.folder / "out" / "rungs.status.json").read_text())
    assert one.pop("seconds") >= 0
    expected = {"step": "rungs", "status": 3, "limit": 480, "device": "cuda", "quick": True, "said": "it went wrong"}
    assert one == expected
    summary = json.loads((machine.folder / "out" / "summary.json").read_text())
    assert [(row["step"], row["status"]) for row in summary] == [("rungs", 3), ("ops", 0)]
    machine.run("rungs", "litmus")  # another day: the earlier results of `ops` are kept
    summary = json.loads((machine.folder / "out" / "summary.json").read_text())
    assert [(row["step"], row["status"]) for row in summary] == [("litmus", 0), ("rungs", 0), ("ops", 0)]
