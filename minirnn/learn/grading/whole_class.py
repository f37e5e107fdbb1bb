"""Reports on the whole class, written at the end: statistics, similar answers, changed grades."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from minirnn.io.atomic import atomic_write
from minirnn.learn.course import Course, CourseError
from minirnn.learn.grading import regrade, similarity, statistics
from minirnn.learn.grading.reading import handed_in
from minirnn.learn.grading.regrade import Difference
from minirnn.learn.grading.statistics_picture import draw
from minirnn.learn.grading.students import Student
from minirnn.learn.grading.task import failure_in_words
from minirnn.learn.reports import OTHERS, make_folder
from minirnn.learn.reports.sheet import Sheet

ENDINGS = {"statistics": (".csv", ".md", ".png", ".svg"), "similarity": (".csv",), "diff": (".csv",)}


class ClassReports:
    """The files that say something about the whole class.

    Parameters
    ----------
    wanted : sequence of str
        Reports as ``KIND:FILE``.
    regrades : bool
        Whether there is an earlier run to compare with.

    Raises
    ------
    CourseError
        If a kind is unknown or cannot be written in that form, or if a library is missing.
    """

    def __init__(self, wanted: Sequence[str], regrades: bool) -> None:
        self.targets: list[tuple[str, Path]] = []
        for text in wanted:
            kind, _, path = text.partition(":")
            if kind not in OTHERS or Path(path).suffix not in ENDINGS[kind]:
                raise CourseError(
                    f"{text!r} is not a report\n  expected {kind}:FILE that ends in {', '.join(ENDINGS[kind])}"
                )
            if kind == "diff" and not regrades:
                raise CourseError(f"{text} shows what --regrade changes\n  expected --regrade OLD as well")
            if kind == "similarity":
                similarity.needs_rapidfuzz()
            make_folder(path)
            self.targets.append((kind, Path(path)))

    def write(
        self,
        sheets: Iterable[Sheet],
        found: Sequence[Difference],
        course: Course,
        students: Sequence[Student],
        notebooks: bool = False,
        only: Sequence[str] = (),
    ) -> list[str]:
        """Write all files; answers to the exercises `only` are compared, or all.

        The result says which could not be made: the others are there all the same.
        """
        failed = []
        for kind, path in self.targets:
            try:
                if kind == "diff":
                    write(path, regrade.as_csv(found))
                elif kind == "similarity":
                    answers = answers_of(course, students, notebooks, only)
                    write(path, similarity.as_csv(similarity.pairs(course, answers)))
                else:
                    left_out = sum(bool(sheet.problem) or not sheet.finished for sheet in sheets)
                    write_statistics(path, *statistics.statistics(sheets), left_out)
            except (OSError, CourseError):
                raise
            except Exception as error:
                failed.append(f"{path}: {failure_in_words(error)}")
        return failed


def write(path: Path, pieces: Iterable[str]) -> None:
    with atomic_write(path) as file:
        file.writelines(pieces)


def write_statistics(path: Path, students: int, items: list[statistics.Item], left_out: int) -> None:
    if path.suffix == ".csv":
        write(path, statistics.as_csv(items))
    elif path.suffix == ".md":
        write(path, statistics.as_markdown(students, items, left_out))
    else:
        from minirnn.viz import save

        save(draw(students, items), path)


def answers_of(
    course: Course, students: Sequence[Student], notebooks: bool, only: Sequence[str]
) -> dict[str, dict[str, bytes]]:
    """The files that every student handed in."""
    found = {}
    for student in students:
        if student.submission is not None:
            files = handed_in(student, course, notebooks).files
            found[student.id] = {id: data for id, data in files.items() if not only or id in only}
    return found
