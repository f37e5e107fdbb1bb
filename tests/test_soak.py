"""The soak runs the tests again and again, and says which failed, in which order, and how to see it again.

Tests `scripts/evidence/soak.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "evidence"
pytestmark = pytest.mark.skipif(not SCRIPTS.exists(), reason="the scripts are in the repository alone")

REPORT = """<testsuites><testsuite tests="4">
<testcase classname="tests.ops.test_check" name="test_a[1-x]" time="0.1"/>
<testcase classname="tests.ops.test_check" name="test_b" time="0.1"><failure message="m">text</failure></testcase>
<testcase classname="tests.ops.test_check" name="test_c" time="0.1"><skipped message="m"/></testcase>
<testcase classname="tests.nn.test_module" name="test_d" time="0.1"><error message="m">text</error></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import soak

    return soak


def test_half_of_the_runs_are_shuffled_and_half_have_company(soak) -> None:
    runs = soak.planned(8, first_seed=100)
    assert [run.seed for run in runs] == [None, 101, None, 103, None, 105, None, 107]
    assert [run.busy for run in runs] == [False, False, True, True] * 2


def test_beside_busy_loops_there_are_as_many_workers_unless_asked_otherwise(soak) -> None:
    quiet, busy = [soak.command_of(run, Path("r.xml"), ["-n", "3"]) for run in soak.planned(4, first_seed=1)[1:3]]
    assert "--shuffle=2" in quiet and [quiet[k + 1] for k, word in enumerate(quiet) if word == "-n"] == ["3"]
    assert [busy[k + 1] for k, word in enumerate(busy) if word == "-n"] == ["8", "3"]  # the last one counts


def test_a_failure_is_named_with_the_command_that_repeats_it(soak) -> None:
    run = soak.Run(3, seed=17, busy=True)
    run.tests, run.skipped, run.failed = soak.read(REPORT)
    assert (run.tests, run.skipped) == (4, 1)
    assert run.failed == ["tests/ops/test_check.py::test_b", "tests/nn/test_module.py::test_d"]
    lines = soak.summary([run], ["tests", "--restless"])
    assert lines[1].split() == ["3", "shuffled", "by", "17", "8", "busy", "loops", "0", "1", "1", "2"]
    assert lines[3] == "run 3, shuffled by 17 beside 8 busy loops: tests/ops/test_check.py::test_b"
    assert lines[4].endswith("-p no:randomly --restless --shuffle=17 tests/ops/test_check.py")


@pytest.mark.slow
def test_a_few_tests_are_run_twice(tmp_path: Path) -> None:
    command = [
        sys.executable,
        SCRIPTS / "soak.py",
        "--runs",
        "2",
        "--seed",
        "5",
        "--out",
        tmp_path,
        "tests/test_random.py",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (tmp_path / "summary.txt").read_text().splitlines()[1:]
    assert [row.split()[-1] for row in rows] == ["0", "0"]
    assert "shuffled by 6" in rows[1]
