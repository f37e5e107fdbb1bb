"""What all formats tell about a submission, whoever graded it: a sheet with a row for all that has points."""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_STARTED = "not started"


@dataclass(frozen=True)
class Row:
    """One line of a grade book.

    Attributes
    ----------
    id : str
        The exercise; several rows may belong to one.
    name, number : str
        What people call it, and its number in the course, such as ``4.2``.
    score, most : int
        The points earned, and those that could be earned.
    output : str
        What the student is told.
    message : str
        The cause on one line; `NOT_STARTED` if nothing was handed in.
    file : str
        The path of the answer.
    hidden : bool
        Whether students see the row only after grades are published.
    """

    id: str
    name: str
    number: str
    score: int
    most: int
    passed: bool
    output: str
    message: str = ""
    seconds: float = 0.0
    file: str = ""
    hidden: bool = False

    @property
    def not_started(self) -> bool:
        return self.message == NOT_STARTED


@dataclass(frozen=True)
class Sheet:
    """All rows of a submission, graded so far or not."""

    student: str
    course: str
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    finished: bool = True

    @property
    def score(self) -> int:
        return sum(row.score for row in self.rows)

    @property
    def most(self) -> int:
        return sum(row.most for row in self.rows)
