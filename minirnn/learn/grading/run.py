"""Grades many submissions, each once, on this machine or others, one by one or in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from minirnn import __version__
from minirnn.learn.cleaned import printable
from minirnn.learn.course import Course
from minirnn.learn.grading.courses import PackedCourse, pack_course
from minirnn.learn.grading.handed import Handed
from minirnn.learn.grading.journal import Journal, Records
from minirnn.learn.grading.publish import Publisher
from minirnn.learn.grading.reading import handed_in
from minirnn.learn.grading.regrade import merged
from minirnn.learn.grading.students import Student
from minirnn.learn.grading.task import Grades, digest_of, failure_in_words, grade, grade_submission
from minirnn.learn.reports.sheet import Sheet
from minirnn.parallel.executors import outcomes


@dataclass(frozen=True)
class Task:
    """A submission to grade, as it is sent to a worker; `old` is the sheet that it is merged with here."""

    course: PackedCourse
    student: str
    handed: Handed
    only: Sequence[str] = ()
    old: Sheet | None = None


def grade_task(task: Task) -> Sheet:
    """The task of a worker."""
    return grade_submission(task.course, task.student, task.handed, task.only)


@dataclass(frozen=True)
class Assignment:
    """A plan of what to grade, and how.

    Attributes
    ----------
    only : sequence of str
        The exercises; all if it is empty.
    again : collection of str
        Students who are graded again although the journal has their sheet.
    executor : Executor or None
        Where to grade; None for this process alone.
    ahead : int
        Submissions that are read before a worker is free, at most: they are in memory.
    """

    course: Course
    students: Sequence[Student]
    only: Sequence[str] = ()
    again: Sequence[str] = ()
    notebooks: bool = False
    executor: Executor | None = None
    ahead: int = 64


def header_of(course: PackedCourse, notebooks: bool) -> dict[str, object]:
    """The header of a journal: what all its grades were made with."""
    return {"minirnn": __version__, "course": course.digest, "notebooks": notebooks}


def grade_all(plan: Assignment, journal: Journal, publisher: Publisher, after: Callable[[Sheet], None]) -> list[str]:
    """Grade what the plan asks for and the journal does not have.

    Every sheet is in the journal before `after` is called with it. Whatever happens while one submission is graded or
    its sheet is written, the others are graded.

    Returns
    -------
    list of str
        The students whose grading failed because of the grader. They are not in the journal, so continuing tries them
        again.
    """
    failed: list[str] = []
    packed = pack_course(plan.course)

    def take(task: Task, sheet: Sheet) -> None:
        whole = merged(task.old, sheet) if task.old else sheet
        publisher.partial.pop(task.student, None)
        try:
            publisher.try_out(whole)
        except Exception as error:
            fail(task.student, error)
            return
        journal.add(whole)
        after(whole)
        publisher.now_and_then()

    def fail(student: str, error: BaseException) -> None:
        publisher.partial.pop(student, None)
        sheet = Grades(student, plan.course, Handed(problem=failure_in_words(error)), plan.only).sheet()
        kept = journal.read(student)
        publisher.unread[student] = sheet = replace(merged(kept, sheet) if kept else sheet, finished=False)
        failed.append(student)
        after(sheet)

    publisher.now()
    tasks = tasks_of(plan, packed, journal)
    if plan.executor is None:
        for task in tasks:
            try:
                sheet = graded_here(plan.course, task, publisher)
            except OSError:  # a fault of the reports or of this machine, not of a student
                raise
            except Exception as error:
                fail(task.student, error)
            else:
                take(task, sheet)
    else:
        for outcome in outcomes(plan.executor, grade_task, tasks, ahead=plan.ahead):
            if outcome.error is None:
                take(outcome.task, outcome.result)
            else:
                fail(outcome.task.student, outcome.error)
    publisher.now()
    return failed


def graded_here(course: Course, task: Task, publisher: Publisher) -> Sheet:
    """The sheet of a submission. While it is graded, the reports show the progress."""

    def so_far(grades: Grades) -> None:
        sheet = grades.sheet()
        publisher.partial[task.student] = merged(task.old, sheet) if task.old else sheet
        publisher.now_and_then()

    return grade(course, task.student, task.handed, task.only, so_far).sheet()


def tasks_of(plan: Assignment, packed: PackedCourse, journal: Journal) -> Iterator[Task]:
    """What is left to grade. Submissions are read one by one, when a worker is about to be free."""
    for student in plan.students:
        if student.submission is None:
            continue
        handed = collected(student, plan)
        there = journal.read(student.id)
        wanted = list(plan.only) or list(plan.course.entries)
        graded = {} if there is None or student.id in plan.again else {r.id: r.digest for r in there.rows if not r.busy}
        left = [id for id in wanted if graded.get(id) != digest_of(handed, id)]
        if not left and there is not None and there.digest == handed.digest:
            continue
        left = left or wanted
        yield Task(packed, student.id, handed, left, there if plan.only or left != wanted else None)


def collected(student: Student, plan: Assignment) -> Handed:
    """The submission of a student. Whatever goes wrong while it is read affects that submission alone."""
    try:
        return handed_in(student, plan.course, plan.notebooks)
    except Exception as error:
        return Handed(problem=printable(f"it cannot be read ({type(error).__name__}: {error})", 300))


def take_over(old: Records, journal: Journal) -> None:
    """Copy the sheets of an earlier run, which count until their exercises are graded again."""
    for name in old.students:
        sheet = old.read(name)
        if sheet is not None and journal.read(name) is None:
            journal.add(replace(sheet, rows=[replace(row, digest="") for row in sheet.rows]))
