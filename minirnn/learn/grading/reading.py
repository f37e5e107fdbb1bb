"""Reads what students handed in, in a process with limits, so that a submission can harm only its own student.

The judge keeps one process, the reader, which has imported what reading needs and forks for each request. The fork has
limits of processor time, memory and the size of its answer. It never runs what it reads. Its answer is JSON, which
cannot contain code.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minirnn.learn.cleaned import printable
from minirnn.learn.course import Course
from minirnn.learn.grading import reader
from minirnn.learn.grading.collecting import Wanted
from minirnn.learn.grading.handed import Handed
from minirnn.learn.grading.students import Student

ROOT = Path(__file__).parents[3]
"""The folder that contains minirnn."""
START = "import sys; sys.path.insert(0, sys.argv[1]); from minirnn.learn.grading.reader import main; main()"
TOO_MUCH = f"it cannot be read: that takes more than {reader.SECONDS} s or {reader.MEGABYTES} MB"
FORKS = hasattr(os, "fork")


class Gone(Exception):
    """The reader has ended."""


class Reader:
    """The process that forks for each request."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", START, str(ROOT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.sep, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def ask(self, request: bytes) -> bytes:
        """The answer of the fork; empty if it ended before the answer was complete."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(struct.pack("<Q", len(request)) + request)
            self.process.stdin.flush()
            head = self.process.stdout.read(8)
            size = struct.unpack("<Q", head)[0] if len(head) == 8 else -1
            data = self.process.stdout.read(size) if size >= 0 else b""
        except OSError:
            raise Gone from None
        if len(data) != size:
            raise Gone
        return data

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe and pipe.close()
        self.process.kill()
        self.process.wait()


kept: dict[int, Reader] = {}
"""The reader of each process: a fork of the judge has its own."""
keeping = threading.Lock()


def asked(*request: Any) -> Any:
    """The answer to a request (see `reader.answer`); None if it took too much."""
    if not FORKS:
        return json.loads(reader.answer(*request))
    message = reader.encoded(*request)
    with keeping:
        for last in (False, True):
            mine = kept.get(os.getpid())
            if mine is None:
                mine = kept[os.getpid()] = Reader()
            try:
                told = mine.ask(message)
                break
            except Gone:
                kept.pop(os.getpid()).close()
                if last:
                    raise RuntimeError("the process that reads submissions ended; tell the maintainers") from None
    return json.loads(told) if told else None


@atexit.register
def close_all() -> None:
    """End this process's reader."""
    if reader_of_mine := kept.pop(os.getpid(), None):
        reader_of_mine.close()


def wanted_of(course: Course) -> list[Wanted]:
    """What to look for: all exercises of a course."""
    return [Wanted(e.id, e.file, e.exercise.path, e.exercise.function) for e in course.entries.values()]


def handed_in(student: Student, course: Course, notebooks: bool = False) -> Handed:
    """What a student handed in. It has a `problem` if it cannot be read, or if a link leads to it."""
    if student.link:
        return Handed(problem=f"{printable(student.link)} is a link, which could lead to answers of others")
    assert student.submission is not None
    return collect(student.submission, course, notebooks, student.inside)


def folders_of_a_class(path: Path, course: Course) -> list[str]:
    """The folders of students in a zip file (see `collecting.folders_of_a_class`)."""
    return asked("folders", path.absolute(), wanted_of(course)) or []


def collect(submission: Path | bytes, course: Course, notebooks: bool = False, inside: str = "") -> Handed:
    """What `collecting.collect` finds of the exercises of a course. A submission that takes too much to read has a
    `problem`.
    """
    where = submission if isinstance(submission, bytes) else submission.absolute()
    told = asked("collect", where, wanted_of(course), notebooks, inside)
    return Handed(problem=TOO_MUCH) if told is None else reader.as_handed(told)


def words(answers: Sequence[bytes], stub: str, python: bool, most: int) -> list[list[str]]:
    """The words of some answers to an exercise, as `similarity` compares them. Answers that take too much to read have
    none.
    """
    told = asked("words", list(answers), stub, python, most)
    if told is None and len(answers) > 1:  # one of them is at fault, and only that one fails
        half = len(answers) // 2
        return [*words(answers[:half], stub, python, most), *words(answers[half:], stub, python, most)]
    return [[] for _ in answers] if told is None else told
