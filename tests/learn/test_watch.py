"""`minirnn learn` in a terminal: saved files are checked, and keys give a hint or another exercise."""

import contextlib
import os
import re
import select
import signal
import struct
import sys
import time

import pytest

from minirnn.learn.course import find_tree, load, new_tree
from minirnn.learn.text import hint
from tests.learn.answers import body, solution

pty = pytest.importorskip("pty", reason="a terminal can only be simulated on Unix")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
pytest.importorskip("watchfiles")
COURSE = load()


class Terminal:
    """A program in a terminal."""

    def __init__(self, folder, *arguments):
        root = str(COURSE.folder.parents[2])
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # background jobs of a shell ignore it
            os.environ["PYTHONPATH"] = root
            os.execv(sys.executable, [sys.executable, "-m", "minirnn", *arguments])
        self.text = ""

    def expect(self, pattern, seconds=300):
        """Wait until `pattern` is printed. Earlier output is discarded."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            try:
                data = os.read(self.descriptor, 4096) if ready else b""
            except OSError:  # Linux raises this at the end
                data = b""
            assert data, f"{pattern!r} does not come; there is:\n{self.text}"
            self.text += data.decode(errors="replace").replace("\r", "")
        self.text = self.text[found.end() :]

    def press(self, keys):
        os.write(self.descriptor, keys.encode())

    def status(self, seconds=120):
        end = time.monotonic() + seconds
        while (done := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            if select.select([self.descriptor], [], [], 0)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.descriptor, 4096).decode(errors="replace")
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.02)
        return os.waitstatus_to_exitcode(done[1])


@pytest.fixture
def tree(tmp_path):
    return new_tree(tmp_path / "learn", COURSE)


def save(tree, id, text):
    tree.file(COURSE.entry(id)).write_text(text)


def test_a_student_works_through_exercises(tree):
    terminal = Terminal(tree.root, "learn")
    terminal.expect("ex01 .*not started")
    terminal.expect("0 of 45 passed")
    terminal.press("h")
    terminal.expect("1. dx asks")
    save(tree, "ex01", solution("ex01", ("dy * w", "-dy * w")))
    terminal.expect("ex01 .*2 / 3 points")
    terminal.expect("the sign of")
    terminal.expect("0 of 45 passed")
    save(tree, "ex01", solution("ex01"))
    terminal.expect("ex01 .*3 / 3 points")
    terminal.expect("1 of 45 passed")
    terminal.press("n")
    terminal.expect("not started")
    terminal.press("pq")  # two keys at once
    terminal.expect("ex01 .*3 / 3 points")
    assert terminal.status() == 0
    state = find_tree(tree.root).state
    assert list(state["passed"]) == ["ex01"] and state["hints"] == {"ex01": 1}


@pytest.mark.slow
def test_the_screen_is_cleared_for_each_check_and_hints_are_wrapped_and_counted(tree):
    terminal = Terminal(tree.root, "learn")
    fcntl.ioctl(terminal.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    terminal.expect(re.escape("\x1b[H\x1b[2J\x1b[3J"))
    terminal.expect("0 of 45 passed[.]")
    for used in (1, 2):
        terminal.press("h")
        terminal.expect(rf"\n  1[.] dx asks(.*\n)+?  {used} of 3 hints used")
    save(tree, "ex01", solution("ex01", ("dy * w", "-dy * w")))
    terminal.expect(re.escape("\x1b[H\x1b[2J\x1b[3J") + "ex01  Product and sum: checking")
    terminal.expect("minirnn show ex01 --diff\n  2 of 3 hints used\n\n0 of 45 passed[.]")
    terminal.press("h")
    terminal.expect("  1[.] dx asks")
    terminal.expect("  3 of 3 hints used: that was the last one")
    terminal.press("q")
    assert terminal.status() == 0


def test_hints_are_wrapped_to_the_width_of_the_terminal():
    text = hint(COURSE.entry("ex01"), 3, 38).splitlines()
    assert all(len(line) <= 38 for line in text[:-1]) and len(text) > 10
    assert " ".join(" ".join(text).split()).count(" ".join(COURSE.entry("ex01").hints[1].split())) == 1


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_check_ends_the_watch_without_a_word(tree):
    save(tree, "ex01", body("ex01", "print('here')\nwhile True:\n    pass"))
    terminal = Terminal(tree.root, "learn")
    terminal.expect("ex01  Product and sum: checking")
    terminal.press("\x03")
    assert terminal.status() == 0
    assert "Traceback" not in terminal.text and "Interrupt" not in terminal.text


@pytest.mark.slow
def test_an_exception_does_not_end_the_watch_and_ctrl_c_does(tree):
    terminal = Terminal(tree.root, "learn")
    terminal.expect("0 of 45 passed")
    save(tree, "ex01", body("ex01", "raise RuntimeError('hello')"))
    terminal.expect("RuntimeError: hello")
    terminal.expect("0 of 45 passed")
    terminal.press("\x03")
    assert terminal.status() in (0, 130)
    assert "Traceback" not in terminal.text
