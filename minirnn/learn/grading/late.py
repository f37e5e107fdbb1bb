"""The cost of a late submission: points or percent off for every started day, with a grace period and a cut-off."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from minirnn.learn.cleaned import several
from minirnn.learn.course import CourseError
from minirnn.learn.grading.students import Student, time_of
from minirnn.learn.reports.sheet import Change

DAY = datetime.timedelta(days=1)
UNITS = {"m": datetime.timedelta(minutes=1), "h": datetime.timedelta(hours=1), "d": DAY}


@dataclass(frozen=True)
class Late:
    """A policy.

    Attributes
    ----------
    due : datetime or None
        When it is due; a student's own ``due`` in the roster takes precedence.
    off : float
        The cost of each started day: points, or a share of the points earned if `percent`.
    grace : timedelta
        How much lateness is ignored. Anything later counts as late from the due time on.
    cut_off : timedelta or None
        A submission that is later than this earns no points.
    """

    due: datetime.datetime | None
    off: float
    percent: bool
    grace: datetime.timedelta = datetime.timedelta()
    cut_off: datetime.timedelta | None = None

    def change(self, student: Student, earned: int) -> Change | None:
        """The deduction from the points that a student has earned, rounded to whole points in the student's favor."""
        due = student.due or self.due
        if not student.handed_in or student.submitted is None or due is None:
            return None
        late = student.submitted - due
        if late <= self.grace:
            return None
        days = math.ceil(late / DAY)
        said = f"{several(days, 'day')} late"
        if self.cut_off is not None and late > self.cut_off:
            return Change(f"handed in {said}, after the cut-off", -earned)
        off = days * self.off * earned / 100 if self.percent else days * self.off
        return Change(f"handed in {said}", -min(earned, math.floor(off + 1e-9)))


def read_policy(off: str, due: str = "", grace: str = "", cut_off: str = "") -> Late:
    """The policy that the command line describes.

    Raises
    ------
    CourseError
        If a number, time or duration cannot be read.
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)\s*(%?)", off.strip())
    if match is None:
        raise CourseError(f"--late is {off!r}\n  expected points or percent per day, such as 2 or 10%")
    return Late(
        time_of("--due", due, datetime.time(23, 59, 59)), float(match[1]), match[2] == "%",
        duration_of("--grace", grace) or datetime.timedelta(),
        duration_of("--cut-off", cut_off),
    )  # fmt: skip


def duration_of(name: str, text: str) -> datetime.timedelta | None:
    """Parse a duration such as ``15m``, ``2h`` or ``7d``."""
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)\s*([mhd])", text.strip())
    if match is None:
        raise CourseError(f"{name} is {text!r}\n  expected minutes, hours or days, such as 15m, 2h or 7d")
    return float(match[1]) * UNITS[match[2]]


def check_times(late: Late, students: Sequence[Student]) -> None:
    """Raises CourseError if it is not known when a student handed in, or until when it was due. Of students who are not
    on the roster it is not known, so nothing is deducted.
    """
    handed = [s for s in students if s.handed_in and s.listed]
    for what, missing in (
        ("was submitted", [s for s in handed if s.submitted is None]),
        ("was due", [s for s in handed if s.due is None and late.due is None]),
    ):
        if missing:
            names = [s.id for s in missing[:5]]
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise CourseError(
                f"--late: it is not known when the work of {', '.join(names)}{more} {what}\n"
                "  expected a roster with the columns submitted and due; --due sets the latter for all"
            )
