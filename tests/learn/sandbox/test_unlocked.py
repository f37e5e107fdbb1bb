"""On systems without fork, answers run without locks and get the same messages.

Tests `minirnn/learn/sandbox/unlocked.py` and `minirnn/learn/sandbox/unlocked_child.py`, on a system that could fork.
`tests/test_other_systems.py` also hides fork.
"""

import tempfile
import threading
from pathlib import Path

import pytest

from minirnn.learn import check as checking
from minirnn.learn.sandbox import unlocked
from tests.learn.answers import RIGHT, body, checked, solution
from tests.slow import slow_unless

ANSWERS = {
    "right": ("ex05", solution("ex05")),
    "wrong": ("ex05", solution("ex05", (" * (1 - h * h)", ""))),
    "prints": ("ex05", body("ex05", f"print('∂h', h.shape)\n{RIGHT}")),
    "calls the judge": ("ex03", solution("ex03")),
    "raises": ("ex05", body("ex05", "raise ValueError('mine')")),
    "no Python": ("ex05", "def rnn_cell_backward(\n"),
    "forbidden": ("ex05", body("ex05", "import os\nos.system('true')")),
    "quits": ("ex05", body("ex05", "import os\nos._exit(7)")),
    "leaves": ("ex05", body("ex05", "raise SystemExit")),
    "forges": ("ex05", body("ex05", "import os\nfor k in range(3, 99):\n    try:\n        os.write(k, b'x' * 99)\n"
                                    "    except OSError:\n        pass\nos._exit(0)")),
}  # fmt: skip


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "FORKS", False)


@pytest.mark.parametrize("name", slow_unless(3, ANSWERS))
def test_an_answer_is_judged_as_below_locks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for forks in (True, False):
        monkeypatch.setattr(checking, "FORKS", forks)
        result = checked(tmp_path, *ANSWERS[name], hidden=name == "right")
        said.append((result.status, result.score, result.message, result.prints, result.hidden))
    assert said[0] == said[1]


def test_time_by_the_clock_ends_an_answer_and_the_line_is_told(tmp_path: Path, without_locks: None) -> None:
    text = body("ex05", "while True: pass")
    result = checked(tmp_path, "ex05", text, seconds=0.3)
    assert "stopped after 0.3 s in rnn_cell_backward, line 5: does a loop never end?" in result.message


def test_one_that_closes_its_pipe_is_not_waited_for(
    tmp_path: Path, without_locks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlocked, "CLOSING", 0.2)
    result = checked(tmp_path, "ex05", body("ex05", "import os, time\nos.closerange(3, 99)\ntime.sleep(1000)"))
    assert "the answer closed the pipe to the judge" in result.message


def test_a_process_that_cannot_be_started_is_no_fault_of_the_answer(
    tmp_path: Path, without_locks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "start.py"
    broken.write_text("raise OSError('no memory')", encoding="utf-8")
    monkeypatch.setattr(unlocked, "START", broken)
    result = checked(tmp_path, "ex05", solution("ex05"))
    assert result.busy and "not judged: the process could not be started: OSError: no memory" in result.message


def test_kernels_are_not_judged(tmp_path: Path, without_locks: None) -> None:
    result = checked(tmp_path, "ex17", solution("ex17", ("dh[k]", "dh[k] ")))
    assert result.score == 0 and "the simulator, which needs Linux or macOS" in result.message


def test_nothing_is_left(tmp_path: Path, without_locks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = threading.active_count()
    checked(tmp_path / "mine", "ex05", body("ex05", "raise ValueError"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and threading.active_count() == before
