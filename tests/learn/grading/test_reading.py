"""Submissions are read by a process with limits. The cost of one does not affect others, and no code in it is run.

Tests `minirnn/learn/grading/reading.py` and `minirnn/learn/grading/reader.py`.
"""

import io
import os
import zipfile

import pytest

from minirnn.learn.grading import collecting, reading
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


ANSWERS = {
    "time": "while True: pass",
    "memory": "return len([bytearray(1 << 20) for _ in range(1000)])",
    "a file": "open({made!r}, 'wb').write(b'x' * 100)",
    "an end": "os.kill(os.getpid(), 9)",
    "half an answer": "return b'{{\"files\": '",
    "too long an answer": "return b'\"' + b'x' * 100 + b'\"'",
}


def instead(monkeypatch, lines, **changed):
    """Let the process answer by these lines of a function of what is asked."""
    body = "\n    ".join(lines.splitlines())
    start = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom minirnn.learn.grading import reader\n"
    start += f"def answer(what, *arguments):\n    {body}\nreader.answer = answer\n"
    start += "".join(f"reader.{name} = {value}\n" for name, value in changed.items())
    monkeypatch.setattr(reading, "START", start + "reader.main()")


@pytest.mark.parametrize("cost", ANSWERS)
def test_a_process_that_takes_too_much_ends_and_tells_nothing(cost, monkeypatch, tmp_path):
    made = tmp_path / "made"
    instead(monkeypatch, ANSWERS[cost].format(made=str(made)), SECONDS=1, MEGABYTES=200)
    monkeypatch.setattr(reading, "MOST_TOLD", 50)
    assert reading.asked("collect") is None
    assert not made.exists() or not made.read_bytes()


def test_ctrl_c_does_not_reach_the_process(monkeypatch):
    """A terminal sends it to a whole group of processes."""
    instead(monkeypatch, "return str(os.getpgid(0)).encode()")
    assert reading.asked("collect") != os.getpgid(0)


def test_a_process_that_does_not_start_is_a_fault_of_the_grader(course, monkeypatch):
    monkeypatch.setattr(reading, "START", "raise SystemExit(1)")
    with pytest.raises(RuntimeError, match="did not start; tell the maintainers"):
        reading.collect(b"no zip", course)


def test_what_cannot_be_read_costs_its_own_student(course, monkeypatch):
    """One request fails, and the next one is answered."""
    asked = reading.asked
    monkeypatch.setattr(reading, "asked", lambda *request: None)
    assert reading.collect(b"", course) == Handed(problem=reading.TOO_MUCH)
    bad = lambda what, answers, *rest: None if b"bad" in answers else asked(what, answers, *rest)  # noqa: E731
    monkeypatch.setattr(reading, "asked", bad)
    assert reading.words([b"a = 1", b"bad", b"b + 2"], "", True, 9) == [["name", "=", "0"], [], ["name", "+", "0"]]


DEEDS = {
    "read a file": "open({file!r}).read()",
    "list a folder": "os.listdir({folder!r})",
    "write a file": "os.close(os.open({file!r}, os.O_WRONLY))",
    "empty a file": "os.truncate({file!r}, 0)",
    "start a process": "os.fork() or os._exit(0)",
    "open a connection": "__import__('socket').socket()",
    "use a descriptor of the judge": "[os.fstat(number) for number in (3, 4, 5)]",
    "signal": "os.kill(os.getppid(), 0)",
}  # fmt: skip


@pytest.mark.parametrize("way", ["both", "landlock", "seccomp"])
def test_who_took_the_reader_over_reaches_nothing_but_the_submission(way, monkeypatch, tmp_path):
    """A bug in a library that reads archives could give an attacker control of the process. Its locks still hold."""
    for name, there in (("landlock", locks().landlock), ("seccomp", locks().seccomp)):
        if way in ("both", name) and not there:
            pytest.skip(f"this system has no {name}")
    ways = ("landlock", "seccomp") if way == "both" else (way,)
    submission, other = tmp_path / "submission", tmp_path / "other"
    for folder in (submission, other):
        folder.mkdir()
        (folder / "file").write_text("mine" if folder is submission else "another's")
    of_which = {"landlock": list(DEEDS)[:3], "seccomp": list(DEEDS)[3:6] + ["signal"], "both": list(DEEDS)}[way]
    lines = f"""
bad = [] if (arguments[0] / 'file').read_text() == 'mine' and os.listdir(arguments[0]) == ['file'] else ['nothing read']
for deed, text in {[(deed, DEEDS[deed].format(file=str(other / "file"), folder=str(other))) for deed in of_which]}:
    try:
        eval(text)
        bad.append(deed)
    except OSError:
        pass
return repr(bad).replace("'", '"').encode()"""
    instead(monkeypatch, lines, bound=f"lambda readable, bound=reader.bound: bound(readable, {ways})")
    assert reading.asked("collect", submission) == [] and (other / "file").read_text() == "another's"
