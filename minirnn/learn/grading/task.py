"""Grades submissions: every exercise of a course, one after the other, whatever any of them does."""

from __future__ import annotations

import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath, PurePosixPath

from minirnn.learn import text
from minirnn.learn.check import Result, check
from minirnn.learn.course import Course, CourseError, Entry
from minirnn.learn.reports.sheet import NOT_STARTED, Row, Sheet

MOST_FILE = 1 << 20


@dataclass
class Grades:
    """What a submission has earned so far.

    Attributes
    ----------
    student : str
        The name of the submission.
    results : dict
        The results of the exercises graded so far, by id. The rest counts as not graded.
    """

    student: str
    course: Course
    results: dict[str, Result] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def score(self) -> int:
        return sum(r.score + r.hidden for r in self.results.values())

    def sheet(self) -> Sheet:
        """The grades for a report; what is not graded yet has zero points and says so."""
        rows: list[Row] = []
        for entry in self.course.entries.values():
            rows += rows_of(entry, self.results.get(entry.id))
        finished = len(self.results) == len(self.course.entries)
        return Sheet(self.student, self.course.name, rows, self.seconds, finished)


NOT_YET = "not graded: the grader did not come so far"


def rows_of(entry: Entry, result: Result | None) -> Iterator[Row]:
    """A row for an exercise, and one for its hidden cases."""
    name, message = f"{entry.id} {entry.title}", ""
    if result is not None and not result.passed:
        message = result.diagnosis
        message = NOT_STARTED if result.status == "not started" else message
    output = NOT_YET if result is None else text.report(result)
    score, seconds = (0, 0.0) if result is None else (result.score, result.seconds)
    passed = result is not None and result.passed
    yield Row(entry.id, name, entry.number, score, entry.points, passed, output, message, seconds, entry.file)
    if entry.hidden:
        earned, output = (0, NOT_YET) if result is None else (result.hidden, result.hidden_message)
        yield Row(
            entry.id, f"{name}: hidden checks", f"{entry.number}h", earned, entry.hidden, earned == entry.hidden,
            output, message if message == NOT_STARTED else "", 0.0, entry.file, hidden=True,
        )  # fmt: skip


def grade(course: Course, submission: Path, after_each: Callable[[Grades], None] = lambda grades: None) -> Grades:
    """Grade one submission: a folder, or a zip file of one. `after_each` is called after every exercise.

    Only the files that the course names are read; everything else in a submission is ignored.
    """
    start = time.perf_counter()
    grades = Grades(student_of(submission), course)
    with tempfile.TemporaryDirectory(prefix="minirnn-grade-") as work:
        files = collect(submission, course, Path(work))
        after_each(grades)  # a report is there from the beginning
        for entry in course.entries.values():
            try:
                result = check(course, entry, files.get(entry.id, Path(work) / "none"), hidden=True)
            except Exception as error:  # a mistake of the grader costs one exercise and is told; the run goes on
                result = Result(entry, "failed", message=f"the grader failed: {type(error).__name__}: {error}")
            if entry.id not in files:
                result.status, result.message = "not started", f"{entry.file} was not handed in"
            grades.results[entry.id] = result
            grades.seconds = time.perf_counter() - start
            after_each(grades)
    return grades


def grade_all(
    course: Course, submissions: Sequence[Path], jobs: int, after_each: Callable[[Grades], None] = lambda grades: None
) -> list[Grades]:
    """Grade several submissions, `jobs` at a time, in the order given."""
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        return list(pool.map(lambda submission: grade(course, submission, after_each), submissions))


def student_of(submission: Path) -> str:
    return submission.resolve().name.removesuffix(".zip") or "submission"


def collect(submission: Path, course: Course, work: Path) -> dict[str, Path]:
    """Copy the files of the course's exercises to `work`, wherever in the submission they lie, by id.

    Raises
    ------
    CourseError
        If the submission is neither a folder nor a zip file that can be read.
    """
    read: dict[str, Callable[[], bytes]]
    wanted = {Path(entry.file).name for entry in course.entries.values()}
    if submission.is_dir():
        paths = {p.relative_to(submission): p for p in sorted(submission.rglob("*"))}
        names = {str(name): p for name, p in paths.items() if is_wanted(name, wanted) and is_plain(p)}
        read = {name: path.read_bytes for name, path in names.items()}
    elif submission.is_file() and zipfile.is_zipfile(submission):
        with zipfile.ZipFile(submission) as archive:
            try:
                texts = {
                    m.filename: archive.read(m)
                    for m in archive.infolist()
                    if m.file_size <= MOST_FILE and is_wanted(PurePosixPath(m.filename), wanted)
                }
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError) as error:
                raise CourseError(f"{submission}: the zip file is damaged or encrypted ({error})") from error
        read = {name: partial(bytes, data) for name, data in texts.items()}
    else:
        raise CourseError(f"{submission}: no such folder or zip file\n  expected what a student handed in")
    found: dict[str, Path] = {}
    for entry in course.entries.values():
        name = place_of(entry, list(read))
        if name is not None:
            found[entry.id] = target = work / entry.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(read[name]())
    return found


def is_wanted(path: PurePath, names: set[str]) -> bool:
    """A file with the name of an exercise; the stubs that minirnn keeps in a student's folder are none."""
    return path.name in names and ".minirnn" not in path.parts


def is_plain(path: Path) -> bool:
    """A file of a student's own: no link, which could lead to any file of the grader's machine, and not huge."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= MOST_FILE


def place_of(entry: Entry, names: Sequence[str]) -> str | None:
    """The file of an exercise: at its place, below a folder, or alone under its name."""
    wanted = (entry.file, entry.exercise.path, Path(entry.exercise.path).name)
    for ending in wanted:
        matches = [n for n in names if n == ending or n.endswith(f"/{ending}")]
        if matches:
            return min(matches, key=lambda n: (n.count("/"), n))
    return None
