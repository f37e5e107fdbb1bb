"""A teacher's decisions after grading: points that replace the computed ones, and comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minirnn.learn.cleaned import several
from minirnn.learn.course import Course, CourseError, Entry
from minirnn.learn.grading.late import Late
from minirnn.learn.grading.students import Student, known, read_table
from minirnn.learn.reports.sheet import Change, Row, Sheet

COLUMNS = ("id", "exercise", "points", "comment", "private")


@dataclass(frozen=True)
class Override:
    """A line of the teacher's file.

    Attributes
    ----------
    exercise : str
        An id, or nothing for the submission as a whole.
    points : int or None
        The points that count instead; None for a comment alone.
    comment, private : str
        Comments for the student, and for the teacher alone.
    """

    exercise: str
    points: int | None
    comment: str
    private: str


@dataclass(frozen=True)
class Decisions:
    """All changes to a sheet after it was graded: first overrides, then lateness."""

    overrides: dict[str, list[Override]] = field(default_factory=dict)
    late: Late | None = None

    def applied(self, sheet: Sheet, student: Student) -> Sheet:
        """The sheet with all decisions applied."""
        given = self.overrides.get(known(student.id), [])
        rows, notes, remarks = list(sheet.rows), list(sheet.notes), list(sheet.remarks)
        for one in given:
            if one.exercise:
                rows = [row for part in grouped(rows) for row in changed(part, one)]
            else:
                notes += [one.comment] if one.comment else []
                remarks += [one.private] if one.private else []
        if not student.listed:
            remarks.append("not on the roster")
        sheet = replace(sheet, rows=rows, notes=tuple(notes), remarks=tuple(remarks))
        sheet = replace(sheet, name=student.name, email=student.email)
        change = self.late.change(student, sheet.score) if self.late else None
        if change is not None:
            sheet = replace(sheet, changes=(*sheet.changes, change))
        for one in given:
            if not one.exercise and one.points is not None:
                final = Change("set by the teacher", one.points - sheet.score)
                sheet = replace(sheet, changes=(*sheet.changes, final))
        return sheet


def grouped(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each exercise."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.id, []).append(row)
    return list(found.values())


def changed(rows: list[Row], one: Override) -> list[Row]:
    """The rows of an exercise after a line of the file is applied. Points fill the visible row first."""
    if rows[0].id != one.exercise:
        return rows
    left, found = one.points, []
    for row in rows:
        if left is not None:
            score = min(left, row.most)
            left -= score
            begun = "" if row.not_started else row.message
            row = replace(row, score=score, passed=score == row.most, busy=False, message=begun)
        found.append(row)
    said = "" if one.points is None else f"\n\n  Your teacher gives {several(one.points, 'point')}."
    said += f"\n\n  Your teacher says: {one.comment}" if one.comment else ""
    private = "\n".join(text for text in (found[0].private, one.private) if text)
    return [replace(found[0], output=f"{found[0].output}{said}", private=private, decided=bool(said)), *found[1:]]


def read_overrides(path: Path, course: Course, students: Sequence[Student]) -> dict[str, list[Override]]:
    """The lines of a CSV file, by student. Its columns are ``id``, ``exercise``, ``points``, ``comment``, ``private``.

    Raises
    ------
    CourseError
        If it cannot be read, or names a student or an exercise that is not there, or points that cannot be given,
        or if two lines are about the same.
    """
    there = {known(student.id) for student in students}
    found: dict[str, list[Override]] = {}
    lines: dict[tuple[str, str], int] = {}
    for number, row in read_table(path, ("id",), COLUMNS):
        where = f"{path}, line {number}"
        if known(row["id"]) not in there:
            raise CourseError(
                f"{where}: there is no student {row['id']!r}\n  expected one of this run, the roster or the journal"
            )
        entry = course.entry(row["exercise"]) if row.get("exercise") else None
        most = points_of(entry) if entry else course.points
        text = row.get("points", "")
        if text and not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
            raise CourseError(f"{where}: points are {text!r}\n  expected a whole number, 0 .. {most}")
        one = Override(
            entry.id if entry else "", int(text) if text else None, row.get("comment", ""), row.get("private", "")
        )
        first = lines.setdefault((known(row["id"]), one.exercise), number)
        if first != number:
            about = one.exercise or "the whole submission"
            raise CourseError(
                f"{path}, lines {first} and {number} are both about {about} of {row['id']!r}\n  expected one line"
            )
        found.setdefault(known(row["id"]), []).append(one)
    return found


def points_of(entry: Entry) -> int:
    return entry.points + entry.hidden
