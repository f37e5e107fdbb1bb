"""Writes the reports from the journal: at the end, and before that so rarely that it costs almost nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from minirnn.learn.course import Course
from minirnn.learn.grading.journal import Records
from minirnn.learn.grading.overrides import Decisions
from minirnn.learn.grading.regrade import merged
from minirnn.learn.grading.students import Student
from minirnn.learn.grading.task import Grades, nothing_from
from minirnn.learn.reports import Reports
from minirnn.learn.reports.sheet import Sheet

INTERVAL = 5.0
"""Seconds from one report to the next, at least."""
SHARE = 200
"""Between two reports, grading takes at least this many times as long as a report: half a percent."""


@dataclass
class Publisher:
    """The valid sheets of a class in the order of the students, and the reports on them.

    Attributes
    ----------
    partial : dict
        Sheets of submissions that are being graded, by student.
    unread : dict
        Sheets that are not kept, by student: of those whose grading failed.
    spent : float
        Seconds that writing has taken.
    """

    course: Course
    students: Sequence[Student]
    records: Records
    reports: Reports
    decisions: Decisions = field(default_factory=Decisions)
    only: Sequence[str] = ()
    partial: dict[str, Sheet] = field(default_factory=dict)
    unread: dict[str, Sheet] = field(default_factory=dict)
    spent: float = 0.0
    next: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def __iter__(self) -> Iterator[Sheet]:
        for student in self.students:
            yield self.sheet(student)

    def sheet(self, student: Student) -> Sheet:
        """The valid sheet of a student at this moment."""
        sheet = self.partial.get(student.id) or self.unread.get(student.id) or self.records.read(student.id)
        graded = {*self.only, *self.records.exercises} if self.only else self.course.entries
        ids = [id for id in self.course.entries if id in graded]
        asked = set(self.only or ids)
        if student.submission is None or (sheet is not None and asked <= {row.id for row in sheet.rows}):
            blank = nothing_from(self.course, student.id, ids)
        else:
            blank = Grades(student.id, self.course, only=ids).sheet()
        if sheet is not None:  # what it does not have was not handed in, or is not graded yet
            blank = replace(merged(blank, sheet), finished=sheet.finished and blank.finished)
        return self.decisions.applied(blank, student)

    def try_out(self, sheet: Sheet) -> None:
        """Make all reports on one sheet and discard them, because a bad sheet must not stop the reports on others.

        Exceptions are passed on.
        """
        student = next(student for student in self.students if student.id == sheet.student)
        self.reports.try_out(self.decisions.applied(sheet, student))

    def now_and_then(self) -> None:
        """Write the reports if it is time."""
        if self.clock() >= self.next:
            self.now()

    def now(self) -> None:
        """Write the reports."""
        begin = self.clock()
        self.reports.write(self)
        took = self.clock() - begin
        self.spent += took
        self.next = self.clock() + max(INTERVAL, SHARE * took)
