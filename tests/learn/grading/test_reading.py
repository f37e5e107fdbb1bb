"""Submissions are read by a process with limits. The cost of one does not affect others, and no code in it is run.

Tests `minirnn/learn/grading/reading.py` and `minirnn/learn/grading/reader.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import zipfile

import pytest

from minirnn.learn.grading import collecting, reader, reading
from minirnn.learn.grading.handed import Handed
from minirnn.learn.sandbox.system_locks import locks
from tests.learn.grading.classes import hand_in

EX01 = "exercises/01_tape/ex01_mul_add.py"
pytestmark = pytest.mark.skipif(not reading.FORKS, reason="nothing can be forked here")


def test_what_the_process_finds_is_what_is_found_here(course, tmp_path):
    hand_in(tmp_path / "a", course)
    (tmp_path / "a" / "ex05 copy.py").write_text("x")
    (tmp_path / "a" / EX01).write_bytes(b"\xff\x00 bytes as they are")
    there, here = reading.collect(tmp_path / "a", course), collecting.collect(tmp_path / "a", reading.wanted_of(course))
    assert there == here and there.digest == here.digest and there.notes
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr(EX01, "x = 1")
    assert reading.collect(data.getvalue(), course).files == {"ex01": b"x = 1"}
    assert reading.collect(b"no zip", course) == collecting.collect(b"no zip", reading.wanted_of(course))


@pytest.mark.parametrize("cost", ["time", "memory", "a file", "an end", "too long a reply"])
def test_a_fork_that_takes_too_much_ends_and_tells_nothing(cost, monkeypatch, tmp_path):
    def answer(*request):
        if cost == "time":
            while True:
                pass
        if cost == "memory":
            return len([bytearray(1 << 20) for _ in range(1000)])
        if cost == "a file":
            (tmp_path / "made").write_bytes(b"x" * 100)
        if cost == "an end":
            os.kill(os.getpid(), signal.SIGKILL)
        return b"x" * 100

    monkeypatch.setattr(reader, "SECONDS", 1)
    monkeypatch.setattr(reader, "MEGABYTES", 200)
    monkeypatch.setattr(reader, "MOST_TOLD", 50 if cost == "too long a reply" else 1000)
    monkeypatch.setattr(reader, "answer", answer)
    assert reader.forked(reader.encoded()) == b""
    assert not (tmp_path / "made").exists() or not (tmp_path / "made").read_bytes()


def test_what_cannot_be_read_costs_its_own_student(course, monkeypatch):
    """One request fails, and the same process answers the next one."""
    asked = reading.asked
    monkeypatch.setattr(reading, "asked", lambda *request: None)
    assert reading.collect(b"", course) == Handed(problem=reading.TOO_MUCH)
    bad = lambda what, answers, *rest: None if b"bad" in answers else asked(what, answers, *rest)  # noqa: E731
    monkeypatch.setattr(reading, "asked", bad)
    assert reading.words([b"a = 1", b"bad", b"b + 2"], "", True, 9) == [["name", "=", "0"], [], ["name", "+", "0"]]


def test_a_reader_that_ended_is_started_again(course):
    before = reading.collect(b"no zip", course)
    reading.kept[os.getpid()].process.kill()
    assert reading.collect(b"no zip", course) == before


DEEDS = {
    "read a file": "open({file!r}).read()",
    "list a folder": "os.listdir({folder!r})",
    "write a file": "os.close(os.open({file!r}, os.O_WRONLY))",
    "empty a file": "os.truncate({file!r}, 0)",
    "start a process": "os.fork()",
    "open a connection": "__import__('socket').socket()",
    "tell the judge something else": "1 / (os.fstat(1).st_rdev != os.stat('/dev/null').st_rdev)",
    "signal": "os.kill(os.getppid(), 0)",
}  # fmt: skip


@pytest.mark.parametrize("way", ["both", "landlock", "seccomp"])
def test_who_took_the_reader_over_reaches_nothing_but_the_submission(way, monkeypatch, tmp_path):
    """A bug in a library that reads archives could give an attacker control of the fork. Its locks still hold."""
    for name, there in (("landlock", locks().landlock), ("seccomp", locks().seccomp)):
        if way in ("both", name) and not there:
            pytest.skip(f"this system has no {name}")
    ways = ("landlock", "seccomp") if way == "both" else (way,)
    submission, other = tmp_path / "submission", tmp_path / "other"
    for folder in (submission, other):
        folder.mkdir()
        (folder / "file").write_text("mine" if folder is submission else "another's")
    of_which = {"landlock": list(DEEDS)[:3], "seccomp": list(DEEDS)[3:6] + ["signal"], "both": list(DEEDS)}[way]
    bound = reader.bound
    monkeypatch.setattr(reader, "bound", lambda readable: bound(readable, ways))

    def answer(what, path):
        done = [] if (path / "file").read_text() == "mine" and os.listdir(path) == ["file"] else ["nothing is read"]
        for deed in of_which:
            with contextlib.suppress(OSError, ZeroDivisionError):
                eval(DEEDS[deed].format(file=str(other / "file"), folder=str(other)))
                done.append(deed)
        return repr(done).encode()

    monkeypatch.setattr(reader, "answer", answer)
    told = reader.forked(reader.encoded("collect", submission))
    assert told == b"[]" and (other / "file").read_text() == "another's"
