"""Answers are forked from a process that has no other answer in memory.

Tests `minirnn/learn/sandbox/templates.py`, `minirnn/learn/sandbox/template.py` and `minirnn/learn/sandbox/start.py`.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minirnn.learn.sandbox import templates
from minirnn.learn.sandbox.parent import Child, Limits
from tests.learn.answers import COURSE, RIGHT, body, checked
from tests.learn.sandbox.attacks.attack import forks_of

MARK = "brook" + "trout"
"""Joined here, so that no file of the tests or the project contains it."""


class Everything(set):
    def __contains__(self, key):
        return True


@pytest.fixture(autouse=True)
def _own_templates(monkeypatch):
    """Templates for this test only, also for its first answer."""
    monkeypatch.setattr(templates, "kept", {})
    monkeypatch.setattr(templates, "begun", Everything())
    yield
    for template in templates.kept.values():
        template.close()


def answer(folder, code=""):
    return checked(folder, "ex05", body("ex05", f"{code}\n{RIGHT}"))


def pids():
    return [template.process.pid for template in templates.kept.values()]


def memory_of(pid):
    """All memory of a process. Skips the test if reading it is not allowed."""
    found = bytearray()
    try:
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for row in maps:
                span, rights, *rest = row.split()
                if rights.startswith("rw") and "[v" not in row:
                    begin, end = (int(text, 16) for text in span.split("-"))
                    memory.seek(begin)
                    found += memory.read(end - begin)
    except (PermissionError, FileNotFoundError):
        pytest.skip("only root may read the memory of a hidden process, and only on Linux")
    return found


def test_answers_share_one_template_which_stays_as_it_was(tmp_path):
    assert answer(tmp_path, f"print('{MARK}')\nkept = '{MARK}' * 1000").passed
    (pid,) = pids()
    assert answer(tmp_path, f"import json\nnp.{MARK} = json.{MARK} = 1").passed
    result = answer(tmp_path, f"import json\nprint(hasattr(np, '{MARK}'), hasattr(json, '{MARK}'))")
    assert result.prints.splitlines() == ["False False"] * 2
    assert pids() == [pid]


def test_the_first_answer_of_a_run_needs_two_processes_and_no_template(tmp_path, monkeypatch):
    monkeypatch.setattr(templates, "begun", set())
    file = tmp_path / "answer.py"
    file.write_text("def f(x):\n    return x + 1\n")
    before = forks_of(os.getpid())
    for kept in (0, 1):
        with Child(file, "answer.py", "f", "python", Limits()) as child:
            reply = child.call({"arguments": {"x": 1}})
            assert reply.value is not None and reply.value["single"] == 2, reply
            assert len(templates.kept) == kept
            assert not Path("/proc/self").is_dir() or len(set(forks_of(os.getpid())) - set(before)) == 2 + kept
    assert set(forks_of(os.getpid())) - set(before) == set(pids())


def test_nothing_of_an_answer_is_in_the_memory_of_what_the_next_is_forked_from(tmp_path):
    assert answer(tmp_path / MARK, f"print('{MARK}')\nkept = '{MARK}' * 1000").passed
    (pid,) = pids()
    memory = memory_of(pid)
    assert b"OPENBLAS_NUM_THREADS" in memory, "this test has no power"
    assert MARK.encode() not in memory


@pytest.mark.slow
def test_a_template_that_was_ended_is_replaced_and_answers_at_work_go_on(tmp_path):
    file = tmp_path / "answer.py"
    file.write_text("import time\ndef f(x):\n    time.sleep(0.3)\n    return x + 1\n")
    with Child(file, "answer.py", "f", "python", Limits()) as child:
        (before,) = pids()
        os.kill(before, signal.SIGKILL)
        reply = child.call({"arguments": {"x": 1}})
        assert reply.value is not None and reply.value["single"] == 2, reply
        child.anew()
        assert child.call({"arguments": {"x": 1}}).value is not None
    assert answer(tmp_path).passed and pids() != [before]


def test_numbers_that_nobody_seeded_differ_from_answer_to_answer(tmp_path):
    code = "import random\nprint(np.random.rand(), random.random())"
    rows = [row for _ in range(2) for row in answer(tmp_path, code).prints.splitlines()]
    assert len(rows) == 4 and len({number for row in rows for number in row.split()}) == 8


@pytest.mark.slow
def test_the_environment_says_which_template(tmp_path, monkeypatch):
    for number in range(templates.MOST + 2):
        monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / str(number)))
        assert (
            answer(tmp_path, "import os\nprint(os.environ['MINIRNN_CACHE'])").prints.split()[0].endswith(f"/{number}")
        )
    assert len(pids()) == templates.MOST


def test_a_template_that_cannot_start_is_told_with_its_reason(tmp_path, monkeypatch):
    broken = tmp_path / "start.py"
    broken.write_text("raise SystemExit('no Python today')\n")
    monkeypatch.setattr(templates, "START", broken)
    result = answer(tmp_path)
    assert "not judged: the process could not be started: no Python today" in result.message
    assert result.busy  # not the answer's fault, so it is graded again


@pytest.mark.slow
def test_nothing_is_left_when_the_judge_is_killed(tmp_path, to_be_killed):
    """Neither the templates nor their forks remain."""
    file = tmp_path / "answer.py"
    file.write_text("import time\ndef f():\n    print('here', flush=True)\n    time.sleep(1000)\n")
    judge = f"""
import sys, threading
from pathlib import Path
from minirnn.learn.sandbox.parent import Child, Limits
child = Child(Path({str(file)!r}), "answer.py", "f", "python", Limits(1000.0))
threading.Thread(target=child.call, args=({{"arguments": {{}}}},), daemon=True).start()
while b"here" not in child.output:
    pass
print("ready", flush=True)
threading.Event().wait()
"""
    root = str(templates.ROOT)
    process = subprocess.Popen(
        [sys.executable, "-c", judge], stdout=subprocess.PIPE, text=True, env={**to_be_killed, "PYTHONPATH": root}
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert Path("/proc/self").is_dir() is bool(forks_of(process.pid))
    process.kill()
    process.communicate()
    end = time.monotonic() + 60
    while forks_of(process.pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert forks_of(process.pid) == []


def test_every_exercise_in_a_template_of_its_kind(tmp_path):
    for id in ("ex05", "ex17", "ex01"):
        assert checked(tmp_path, id, COURSE.solution(COURSE.entry(id))).passed
    assert [key[1] for key in templates.kept] == ["simulated", "python"]


def test_a_jail_is_put_around_all_answers(tmp_path, monkeypatch):
    """`env` is used here in place of a container: it changes what an answer sees."""
    code = "import os\nprint(os.environ.get('IN_JAIL'))"
    assert set(answer(tmp_path, code).prints.split()) == {"None"}
    monkeypatch.setenv(templates.JAIL, "env 'IN_JAIL=a jail'")
    result = answer(tmp_path, code)
    assert result.passed and set(result.prints.splitlines()) == {"a jail"}
    assert templates.jail() == ["env", "IN_JAIL=a jail"]
