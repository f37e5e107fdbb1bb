"""Grades one submission: every exercise of a course in turn, regardless of what an answer does.

`grade_submission` is the unit of work. It is a function of its arguments alone, and they and what it returns can be
sent to another process or machine.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minirnn.learn import text
from minirnn.learn.check import check, shares
from minirnn.learn.cleaned import cleaned, printable
from minirnn.learn.course import Course, Entry
from minirnn.learn.grading.courses import PackedCourse, course_of
from minirnn.learn.grading.handed import Handed
from minirnn.learn.grading.reading import collect
from minirnn.learn.reports.sheet import NOT_STARTED, Row, Sheet
from minirnn.learn.result import Result

NOT_YET = "not graded: the grader stopped before this exercise"


@dataclass
class Grades:
    """What a submission has earned so far.

    Attributes
    ----------
    student : str
        The name of the student.
    results : dict
        The results of the exercises graded so far, by id. The rest counts as not graded.
    only : sequence of str
        The ids of the exercises that are graded.
    """

    student: str
    course: Course
    handed: Handed = field(default_factory=Handed)
    only: Sequence[str] = ()
    results: dict[str, Result] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def entries(self) -> list[Entry]:
        return [self.course.entry(id) for id in self.only] or list(self.course.entries.values())

    @property
    def score(self) -> int:
        return sum(r.score + r.hidden for r in self.results.values())

    def sheet(self) -> Sheet:
        """The grades for a report. Exercises that are not graded yet have zero points and say so."""
        rows: list[Row] = []
        for entry in self.entries:
            hints = max(0, min(self.handed.hints.get(entry.id, 0), len(entry.hints)))
            for row in rows_of(entry, self.results.get(entry.id), self.handed.problem, hints):
                rows.append(replace(row, digest=digest_of(self.handed, entry.id)))
        finished = bool(self.handed.problem) or len(self.results) == len(self.entries)
        return Sheet(
            self.student, self.course.name, rows, self.seconds, finished, notes=self.handed.notes,
            remarks=tuple(f"{id} {said}" for id, result in self.results.items() for said in result.remarks),
            problem=self.handed.problem,
            digest=self.handed.digest,
        )  # fmt: skip


def digest_of(handed: Handed, id: str) -> str:
    """A hash of what an exercise is graded from."""
    given = handed.problem, handed.reasons.get(id), handed.files.get(id)
    return hashlib.sha256(repr(given).encode()).hexdigest()[:16]


def nothing_from(course: Course, student: str, only: Sequence[str] = ()) -> Sheet:
    """The sheet of a student who handed in nothing."""
    grades = Grades(student, course, Handed(notes=("nothing was handed in",)), only)
    for entry in grades.entries:
        reason = "there is nothing to grade: nothing was handed in"
        grades.results[entry.id] = Result(entry, "not started", message=reason)
    return grades.sheet()


def rows_of(entry: Entry, result: Result | None, problem: str = "", hints: int = 0) -> Iterator[Row]:
    """A row for an exercise, and one for its hidden cases."""
    name, message = f"{entry.id} {entry.title}", ""
    if result is not None and not result.passed:
        message = result.diagnosis
        message = NOT_STARTED if result.status == "not started" else message
    without = f"not graded: {problem}" if problem else NOT_YET
    output = without if result is None else text.report(result)
    score, seconds = (0, 0.0) if result is None else (result.score, result.seconds)
    wrong = None if result is None or result.passed or message == NOT_STARTED else result
    passed = result is not None and result.passed
    busy = result is not None and result.busy
    private = "" if result is None else result.hidden_prints.rstrip()
    yield Row(
        entry.id, name, entry.number, score, entry.points, passed, output, message, seconds, entry.file, busy=busy,
        private="" if entry.hidden else private, parts=() if result is None else points_of(entry, result),
        answer=cleaned(wrong.text) if wrong else "", comments=tuple(wrong.comments) if wrong else (), hints=hints,
    )  # fmt: skip
    if entry.hidden:
        earned, output = (0, without) if result is None else (result.hidden, result.hidden_message)
        yield Row(
            entry.id, f"{name}: hidden checks", entry.number, earned, entry.hidden, earned == entry.hidden,
            output, message if message == NOT_STARTED else "", 0.0, entry.file, hidden=True, busy=busy, private=private,
        )  # fmt: skip


def points_of(entry: Entry, result: Result) -> tuple[tuple[str, int, int], ...]:
    """Each output that was judged, with its points."""
    pairs = zip(shares(entry), result.parts, strict=False)
    return tuple((part.name, most if part.ok else 0, most) for most, part in pairs)


def grade(
    course: Course,
    student: str,
    handed: Handed,
    only: Sequence[str] = (),
    after_each: Callable[[Grades], None] = lambda grades: None,
) -> Grades:
    """Grade what a student handed in.

    Parameters
    ----------
    course : Course
        The exercises.
    student : str
        Whose answers they are.
    handed : Handed
        The files, as `reading.collect` finds them.
    only : sequence of str
        Ids of the exercises to grade; all if it is empty.
    after_each : callable
        Called with the grades so far before the first exercise and after each.
    """
    grades = Grades(student, course, handed, only)
    after_each(grades)
    with tempfile.TemporaryDirectory(prefix="minirnn-grade-") as work:
        for entry in () if handed.problem else grades.entries:
            file = Path(work) / entry.file
            if entry.id in handed.files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(handed.files[entry.id])
                result = judged(course, entry, file)
            else:
                reason = handed.reasons.get(entry.id, f"{entry.file} was not handed in")
                result = Result(entry, "not started", message=f"there is nothing to grade: {reason}")
            grades.results[entry.id] = result
            grades.seconds += result.seconds  # without the hidden cases: it is shown to students
            after_each(grades)
    return grades


def judged(course: Course, entry: Entry, file: Path) -> Result:
    """The result of an exercise."""
    try:
        return check(course, entry, file, hidden=True)
    except Exception as error:  # a fault of the grader costs one exercise and is reported; the run goes on
        said = failure_in_words(error)
        return Result(entry, "failed", message=said, hidden_message=said, busy=True)


def failure_in_words(error: BaseException) -> str:
    """The message if the grader failed and not the answer."""
    reason = printable(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return f"the grader failed: tell the maintainers ({reason})"


def grade_submission(
    course: PackedCourse | Path | str,
    student: str,
    data: Handed | bytes,
    only: Sequence[str] = (),
    notebooks: bool = False,
) -> Sheet:
    """Grade a submission: a task that any executor can run on any machine.

    Parameters
    ----------
    course : PackedCourse, Path or str
        The course, packed, or its folder on the machine that grades.
    student : str
        Whose submission it is.
    data : bytes or Handed
        The bytes of a zip file, whatever they are, or what has been collected of a submission already.
    only : sequence of str
        Ids of the exercises to grade; all if it is empty.
    notebooks : bool
        Whether to look for answers in the cells of notebooks.

    Returns
    -------
    Sheet
        The grades. A submission that cannot be read has zero points and a `problem`. Except for the seconds, the sheet
        depends only on the arguments.

    Raises
    ------
    CourseError
        If the course cannot be read here, or is not the one that was sent; if `only` names no exercise of it.
    TypeError
        If `data` is something else.
    """
    if not isinstance(data, bytes | Handed):
        raise TypeError(
            f"grade_submission: data is {type(data).__name__}\n"
            "  expected the bytes of a zip file, or what collect returned"
        )
    read = course_of(course)
    only = tuple(read.entry(id).id for id in only)
    handed = collect(data, read, notebooks) if isinstance(data, bytes) else data
    return grade(read, student, handed, only).sheet()
