"""Only an answer's own time counts, on the processor or asleep, and not the delays of a busy machine."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from minirnn.learn import check as checking
from minirnn.learn.sandbox import clock, parent
from tests.learn.answers import body, checked, solution

LOOP = "while True: pass"
SLEEP = "import time; time.sleep(1000)"
TRICKLE = "import time\nwhile True: time.sleep(0.01); sum(range(3000))"


@pytest.fixture
def process():
    """Starts Python programs and ends them."""
    started = []

    def start(code: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-S", "-c", code]))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def wake(pid: int) -> None:
    """Let a process continue, unless the judge has already ended it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


class HeldUp(parent.Child):
    """A process that is paused for a while after calling a function of the judge, as on a busy machine."""

    seconds: float | None = None  # None: it is never resumed

    def call(self, message, callbacks=None):
        def stopped(*arguments):
            os.kill(self.session.pid, signal.SIGSTOP)
            if self.seconds is not None:
                threading.Timer(self.seconds, wake, [self.session.pid]).start()
            return callbacks["f"](*arguments)

        return super().call(message, {"f": stopped})


def wait(watch: clock.Clock, seconds: float, quiet: bool = True) -> None:
    """Check a process for this long."""
    since = time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(clock.INTERVAL)
        watch.look(clock.INTERVAL if quiet else 0.0)


def asleep(program: subprocess.Popen[bytes]) -> clock.Usage:
    """The time that a program has used when it sleeps."""
    end = time.monotonic() + 200
    while not (found := clock.usage(program.pid)).asleep and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("code", [LOOP, SLEEP])
def test_work_and_sleep_count(process, code):
    watch = clock.Clock(process(code).pid, 0.2, 300)
    with pytest.raises(clock.TimeIsUp):
        wait(watch, 200)
    assert 0.2 <= watch.used < 60


@pytest.mark.slow
def test_sleep_does_not_count_while_something_has_come_from_the_process(process):
    program = process(SLEEP)
    asleep(program)
    watch = clock.Clock(program.pid, 20, 300)
    wait(watch, 0.5, quiet=False)
    assert watch.slept == 0


@pytest.mark.parametrize(
    "code", [SLEEP, TRICKLE, f"import threading\nthreading.Thread(target=exec, args=({TRICKLE!r},)).start()\n{TRICKLE}"]
)
def test_one_that_sends_byte_after_byte_sleeps_all_the_same(process, code):
    """At every check, a message has just arrived and the process is working."""
    watch = clock.Clock(process(code).pid, 0.2, 20)
    with pytest.raises(clock.TimeIsUp):
        wait(watch, 60)


def test_waiting_for_a_turn_or_a_disk_is_no_sleep():
    watch = clock.Clock(0, 1, 10)
    before = clock.Usage(1.0, False, {"1": 3.0})
    cases = {0.5: (1.25, 3.5), 0.0: (1.5, 4.0), 1.0: (1.0, 3.0)}
    for slept, (worked, busy) in cases.items():
        watch.now = before
        for asleep in (False, True):
            assert watch.sleep(clock.Usage(worked, asleep, {"1": busy}), 1.0, 1.0) == slept
            assert watch.sleep(clock.Usage(worked, asleep, {"1": busy}, held=True), 1.0, 1.0) == 0.0
    watch.now = clock.Usage(1.0, False)
    assert watch.sleep(clock.Usage(1.0, True), 1.0, 1.0) == 1.0
    assert watch.sleep(clock.Usage(1.0, False), 1.0, 1.0) == 0.0


def test_a_wait_that_is_told_late_was_no_sleep():
    """The system reports a process's wait for the processor only at its end."""
    watch = clock.Clock(0, 1, 10)
    watch.now = clock.Usage(0.0, False, {"1": 0.0})
    told, slept = [0.02, 0.02, 0.02, 0.24, 0.24, 0.29], []  # works 0.02, waits 0.18 and works 0.04, sleeps, works
    for busy in told:
        slept.append(watch.sleep(clock.Usage(busy, False, {"1": busy}), 0.06, 0.06))
        watch.now = clock.Usage(busy, False, {"1": busy})
    assert slept == pytest.approx([0.04, 0.06, 0.06, -0.16, 0.06, 0.01])


def test_threads_that_wait_for_one_another_are_no_busy_machine():
    """Many threads that wake at once wait longer in total than the time that passes."""
    watch = clock.Clock(0, 1, 10)
    watch.now = clock.Usage(1.0, False, {str(k): 1.0 for k in range(50)})
    found = clock.Usage(1.1, False, {str(k): 1.0 + k / 500 for k in range(50)} | {"new": 0.05})
    assert watch.sleep(found, 1.0, 1.0) == pytest.approx(1 - 49 / 500)


def test_what_the_judge_does_for_an_answer_counts(monkeypatch):
    moment = [5.0]
    monkeypatch.setattr(clock.time, "thread_time", lambda: moment[0])
    watch = clock.Clock(0, 1.0, 300)
    moment[0] += 100  # between two calls, the judge works for itself
    watch.serve()
    moment[0] += 0.75
    watch.look(0.0)
    assert watch.used == 0.75
    moment[0] += 0.25
    with pytest.raises(clock.TimeIsUp):
        watch.look(0.0)


def test_slow_output_counts_as_time(tmp_path):
    slow = "import os, time\nwhile True:\n    os.write(4, b'\\1'); time.sleep(0.03)"
    result = checked(tmp_path, "ex05", body("ex05", slow), seconds=0.3)
    assert "stopped after 0.3 s" in result.message and not result.busy, result.message


@pytest.mark.slow
def test_a_process_that_gets_no_turn_meets_the_far_limit_only(process):
    program = process(LOOP)
    program.send_signal(signal.SIGSTOP)
    os.waitpid(program.pid, os.WUNTRACED)  # until it has stopped
    watch = clock.Clock(program.pid, 0.5, 0.6)
    with pytest.raises(clock.MachineIsBusy):
        wait(watch, 60)
    assert watch.used < 0.5


needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="needs the program ps")


def test_a_process_that_has_ended_has_no_usage(process):
    program = process("")
    program.wait()
    assert clock.usage(program.pid) is None


@needs_ps
def test_ps_knows_no_process_that_has_ended(process):
    program = process("")
    program.wait()
    assert clock.usage_from_ps(program.pid) is None


@pytest.mark.slow
@needs_ps
def test_ps_tells_the_same_where_there_is_no_proc(process):
    program = process("for _ in range(30_000_000): pass\nimport time; time.sleep(1000)")
    found = asleep(program)
    said = clock.usage_from_ps(program.pid)
    assert said.asleep and found.asleep
    assert abs(said.seconds - found.seconds) <= 1.1  # ps reports whole seconds on Linux


@pytest.mark.slow
def test_an_answer_that_waited_longer_than_its_limit_is_judged_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "Child", HeldUp)
    monkeypatch.setattr(HeldUp, "seconds", 0.6)
    one_call = body("ex04", "f(x)\nreturn 1.0, 1.0")
    result = checked(tmp_path, "ex04", one_call, seconds=0.4)
    assert [part.name for part in result.parts] == ["by_difference", "by_gradient"], result.message


@pytest.mark.slow
def test_an_answer_that_got_no_turn_is_not_called_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "Child", HeldUp)
    monkeypatch.setattr(parent, "FAR", 2)
    result = checked(tmp_path, "ex04", body("ex04", f"f(x)\n{LOOP}"), seconds=0.3)
    assert result.score == 0 and "not judged: no answer within 0.6 s" in result.message
    assert "machine busy, grade again" in result.message


def test_a_process_that_does_not_start_is_not_called_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(parent, "STARTING", 0.0)
    result = checked(tmp_path, "ex17", f"// {tmp_path}\n{solution('ex17')}")  # it is compiled first
    assert "not judged: the process did not start within 0 s" in result.message
