"""Reads what students handed in, in a process with limits, so that a submission can harm only its own student.

Each request has its own process (`reader`), which has limits of processor time, memory and the size of its answer. It
never runs what it reads. Its answer is JSON, which cannot contain code.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minirnn.learn.cleaned import printable
from minirnn.learn.course import Course, CourseError
from minirnn.learn.grading import reader
from minirnn.learn.grading.collecting import Wanted
from minirnn.learn.grading.handed import Handed
from minirnn.learn.grading.students import Student

ROOT = Path(__file__).parents[3]
"""The folder that contains minirnn."""
START = "import sys; sys.path.insert(0, sys.argv[1]); from minirnn.learn.grading.reader import main; main()"
TOO_MUCH = f"it cannot be read: that takes more than {reader.SECONDS} s or {reader.MEGABYTES} MB"
MOST_TOLD = 64 << 20
"""The most bytes of an answer."""
FORKS = hasattr(os, "fork")


def asked(*request: Any) -> Any:
    """The answer to a request (see `reader.answer`); None if it took too much."""
    if not FORKS:
        return json.loads(reader.answer(*request))
    with subprocess.Popen(
        [sys.executable, "-I", "-c", START, str(ROOT)], start_new_session=True,  # Ctrl-C is for this process alone
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.sep, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        try:
            with contextlib.suppress(OSError):  # it has ended; there is no answer either
                process.stdin.write(reader.asking(request))
                process.stdin.close()
            told = process.stdout.read(MOST_TOLD + 1)
        finally:
            process.kill()
    if not told:
        raise RuntimeError("the process that reads submissions did not start; tell the maintainers")
    try:
        return json.loads(told) if len(told) <= MOST_TOLD else None
    except ValueError:  # it ended before its answer was complete
        return None


def wanted_of(course: Course) -> list[Wanted]:
    """What to look for: all exercises of a course."""
    return [Wanted(e.id, e.file, e.exercise.path, e.exercise.function) for e in course.entries.values()]


def handed_in(student: Student, course: Course, notebooks: bool = False) -> Handed:
    """What a student handed in. It has a `problem` if it cannot be read, or if a link leads to it."""
    if student.link:
        return Handed(problem=f"{printable(Path(student.link).name)} is a link, which could lead to answers of others")
    assert student.submission is not None
    return collect(student.submission, course, notebooks, student.inside)


def parts_of_a_class(path: Path, course: Course) -> list[str]:
    """The submissions in a folder or zip file of a class (see `collecting.parts_of_a_class`).

    Raises
    ------
    CourseError
        If it may be either.
    """
    found = asked("parts", path.absolute(), wanted_of(course)) or []
    if isinstance(found, str):
        whole = f"minirnn grade {path / found}" if path.is_dir() else f"unpack it to DIR, and minirnn grade DIR/{found}"
        raise CourseError(f"{path} may be a class or one student\n  for a class: {whole}\n  for one student: add --one")
    return found


def collect(submission: Path | bytes, course: Course, notebooks: bool = False, inside: str = "") -> Handed:
    """What `collecting.collect` finds of the exercises of a course. A submission that takes too much to read has a
    `problem`.
    """
    where = submission if isinstance(submission, bytes) else submission.absolute()
    told = asked("collect", where, wanted_of(course), notebooks, inside)
    if told is None:
        return Handed(problem=TOO_MUCH)
    files = {id: base64.b64decode(data) for id, data in told["files"].items()}
    return Handed(**{**told, "files": files, "notes": tuple(told["notes"])})


def words(answers: Sequence[bytes], stub: str, python: bool, most: int) -> list[list[str]]:
    """The words of some answers to an exercise, as `similarity` compares them. Answers that take too much to read have
    none.
    """
    told = asked("words", list(answers), stub, python, most)
    if told is None and len(answers) > 1:  # one of them is at fault, and only that one fails
        half = len(answers) // 2
        return [*words(answers[:half], stub, python, most), *words(answers[half:], stub, python, most)]
    return [[] for _ in answers] if told is None else told
