"""The result of checking an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from minirnn.learn.course import Entry
from minirnn.learn.judge import Case, Part


@dataclass
class Result:
    """The result of checking an answer.

    Attributes
    ----------
    status : str
        "passed", "failed" or "not started".
    parts : list of Part
        Right or wrong, output by output; empty if the answer could not be run.
    score, hidden : int
        Points earned, at most `Entry.points` and `Entry.hidden`; those for hidden cases are earned only when graded.
    message : str
        What to tell the student, several lines.
    diagnosis : str
        The cause on one line; empty if none is known.
    prints, hidden_prints : str
        What the answer printed; in hidden cases only the teacher may see it.
    seconds : float
        The time of the cases that students see; that of the hidden ones would reveal something about them.
    text : str
        The student's file.
    comments : list of (int, str)
        What is wrong in lines of the file, as far as it may be told.
    place : str
        The line of the mistake, such as ``line 8 (where you assign dzc)``; empty if none is known.
    busy : bool
        Whether the machine was too busy to judge, twice: nothing is known about the answer then.
    remarks : list of str
        What only the teacher may see, such as that the answer imports minirnn.
    """

    entry: Entry
    status: str
    parts: list[Part] = field(default_factory=list)
    score: int = 0
    hidden: int = 0
    hidden_message: str = ""
    message: str = ""
    diagnosis: str = ""
    place: str = ""
    text: str = ""
    comments: list[tuple[int, str]] = field(default_factory=list)
    prints: str = ""
    hidden_prints: str = ""
    busy: bool = False
    seconds: float = 0.0
    cases: list[Case] = field(default_factory=list)
    exact: bool = False
    device: str = "cuda-sim"
    remarks: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.status == "passed"
