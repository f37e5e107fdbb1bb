"""scripts/gpu_first.sh runs its steps in order, each to its end or its limit, and resumes where it was cut off.

Tests `scripts/gpu_first.sh`, with a stand-in for Python that records its arguments. CI rehearses the steps themselves
on the stand-in GPU.
"""

import json
import os
import signal
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_first.sh"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NVIDIA's tools and the stand-in GPU are for Linux")
STEPS = ["compile", "doctor", "alive", "litmus", "latencies", "ratios", "sanitizer", "ncu", "verify"]
PYTHON = """#!/usr/bin/env bash
echo "${MINIRNN_CUDNN_RNN:-auto} $*" >>"$LOG"
case "$*" in
    *$FAILS*) echo "it went wrong"; exit 3 ;;
    *$LACKS*) exit 69 ;;
    *$HANGS*) printf '{"step": "ratios", "size": 1}\\n{"step": "rat' >>"$EVIDENCE"; echo >"$BEGUN"; exec sleep 100 ;;
esac
"""


@dataclass
class Machine:
    """A folder for results, and the recorded arguments of Python."""

    folder: Path

    def start(self, *words: str, **behavior: str) -> subprocess.Popen[str]:
        """`FAILS`, `LACKS` and `HANGS` name the commands that do so."""
        (self.folder / "log").write_text("")
        stand_in = self.folder / "python"
        stand_in.write_text(PYTHON)
        stand_in.chmod(0o755)
        begun = self.folder / "begun"
        if "HANGS" in behavior:
            os.mkfifo(begun)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "PYTHON": str(stand_in), "LOG": str(self.folder / "log")}
        environment |= {"FAILS": "nothing", "LACKS": "nothing", "HANGS": "nothing", "BEGUN": str(begun)}
        environment |= {"CARRIED": str(self.folder / "carried")} | behavior
        command = ["bash", str(SCRIPT), *(words or (str(self.folder / "out"),))]
        return subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, *words: str, **behavior: str) -> tuple[int, str]:
        """Exit status and output."""
        process = self.start(*words, **behavior)
        said = process.communicate(timeout=60)[0]
        return process.returncode, said

    @property
    def asked(self) -> list[str]:
        """The recorded arguments of Python, without the table at the end."""
        return [line for line in (self.folder / "log").read_text().splitlines() if "--brief" not in line]

    def rows(self, folder: str = "out") -> list[dict[str, object]]:
        """The evidence in the archive."""
        with tarfile.open(self.folder / folder / "evidence.tgz") as archive:
            file = archive.extractfile("evidence.jsonl")
            assert file is not None
            lines = file.read().decode().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def ended(self, folder: str = "out") -> dict[str, int]:
        """The status of each step."""
        return {str(row["done"]): int(str(row["status"])) for row in self.rows(folder) if row["step"] == "done"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_all_steps_are_done_in_order_and_not_again(machine: Machine) -> None:
    status, said = machine.run()
    assert status == 0, said
    assert machine.ended() == dict.fromkeys(STEPS, 0) and list(machine.ended()) == STEPS
    assert len(machine.asked) == len(STEPS) + 1 and " minirnn doctor" in machine.asked[1]  # and notes the machine
    assert [line.split()[0] for line in machine.asked] == ["auto"] * len(STEPS) + ["steps"]
    home = {path.name for path in (machine.folder / "out").iterdir()}
    assert home == {"evidence.jsonl", "evidence.tgz", "said"}
    status, said = machine.run()
    assert status == 0 and machine.asked == [] and said.count("has passed before") == len(STEPS)


def test_a_step_that_fails_stops_no_other_and_is_done_again(machine: Machine) -> None:
    status, said = machine.run(FAILS="gpu.ratios", LACKS="profiled")
    assert status == 1 and "== ratios: FAILED" in said and "it went wrong" in said and "== ncu: not here" in said
    assert machine.ended() == dict.fromkeys(STEPS, 0) | {"ratios": 3, "sanitizer": 69, "ncu": 69}
    status, said = machine.run(LACKS="profiled")
    assert status == 0 and len(machine.asked) == 3 and machine.ended()["ratios"] == 0


def test_killed_in_the_middle_it_goes_on_from_its_folder_or_its_archive(machine: Machine) -> None:
    process = machine.start(HANGS="gpu.ratios")
    (machine.folder / "begun").read_text()  # until the step has written half a line
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert machine.ended() == dict.fromkeys(STEPS[:5], 0)
    evidence = (machine.folder / "out" / "evidence.jsonl").read_text()
    assert evidence.endswith('{"step": "ratios", "size": 1}\n{"step": "rat')

    archive = machine.folder / "earlier.tgz"
    (machine.folder / "out" / "evidence.tgz").rename(archive)
    for words in ((str(machine.folder / "out"),), (str(machine.folder / "other"), str(archive))):
        status, said = machine.run(*words)
        assert status == 0 and said.count("has passed before") == 5 and len(machine.asked) == 4
        assert list(machine.ended(Path(words[0]).name)) == STEPS
    assert {"step": "ratios", "size": 1} in machine.rows()  # nothing that was measured is lost


def test_what_the_time_does_not_suffice_for_is_not_begun(machine: Machine) -> None:
    status, said = machine.run(LIMIT="4")
    assert status == len(STEPS) and said.count("not reached") == len(STEPS) and machine.asked == []


def test_a_step_that_hangs_is_ended(machine: Machine) -> None:
    process = machine.start(str(machine.folder / "out"), "ratios", HANGS="gpu.ratios", LIMIT="5")
    (machine.folder / "begun").read_text()
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 1 and machine.ended() == {"ratios": 124}, said


def test_steps_can_be_chosen_by_name_and_a_wrong_name_is_refused(machine: Machine) -> None:
    assert machine.run(str(machine.folder / "out"), "litmus", "alive")[0] == 0
    assert list(machine.ended()) == ["alive", "litmus"]
    status, said = machine.run(str(machine.folder / "out"), "rung")
    assert status == 2 and "there is no step rung; expected: compile doctor" in said and machine.asked == []
