"""The contents of all report formats: a sheet per submission, with a row for everything that has points."""

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
        Its title, and its number in the course, such as ``4.2``.
    score, most : int
        The points earned, and the most that could be earned.
    output : str
        What the student is told.
    message : str
        The cause on one line; `NOT_STARTED` if nothing was handed in.
    file : str
        The path of the answer.
    hidden : bool
        Whether students see the row only after grades are published.
    busy : bool
        Whether the machine had no time to judge the answer, so that it should be graded again.
    private : str
        What only the teacher is told.
    parts : tuple of (str, int, int)
        Everything that has points: its name, the points earned, and those that could be earned.
    answer : str
        The text of an answer that did not earn all points.
    comments : tuple of (int, str)
        What is said about lines of `answer`.
    hints : int
        How many hints the student used, as the course folder that was handed in says.
    decided : bool
        Whether the teacher has given points or a comment.
    digest : str
        A hash of what was graded; empty if it has to be graded again when it is given.
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
    busy: bool = False
    private: str = ""
    parts: tuple[tuple[str, int, int], ...] = ()
    answer: str = ""
    comments: tuple[tuple[int, str], ...] = ()
    hints: int = 0
    decided: bool = False
    digest: str = ""

    @property
    def not_started(self) -> bool:
        return self.message == NOT_STARTED


@dataclass(frozen=True)
class Change:
    """A change of points, such as for a late submission: the reason and the number of points."""

    reason: str
    points: int


@dataclass(frozen=True)
class Sheet:
    """All rows of a submission, graded so far or not.

    Attributes
    ----------
    notes : tuple of str
        What the student is told about the submission as a whole.
    remarks : tuple of str
        What only the teacher is told about it.
    problem : str
        Why nothing could be graded; empty if something was.
    changes : tuple of Change
        The changes of the rows' points.
    digest : str
        A hash of the files that were graded.
    name, email : str
        More about the student, from the roster.
    """

    student: str
    course: str
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    finished: bool = True
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    problem: str = ""
    changes: tuple[Change, ...] = ()
    digest: str = ""
    name: str = ""
    email: str = ""

    @property
    def who(self) -> str:
        """The student for a title: the name, if there is one, and the id."""
        return f"{self.name} ({self.student})" if self.name else self.student

    @property
    def earned(self) -> int:
        """The points of the rows."""
        return sum(row.score for row in self.rows)

    @property
    def score(self) -> int:
        """The points that count: those of the rows with all changes applied, but at least zero."""
        return max(0, self.earned + sum(change.points for change in self.changes))

    @property
    def most(self) -> int:
        return sum(row.most for row in self.rows)

    @property
    def busy(self) -> list[str]:
        """The exercises that should be graded again because the machine was too busy or the grader failed."""
        return list(dict.fromkeys(row.id for row in self.rows if row.busy))
