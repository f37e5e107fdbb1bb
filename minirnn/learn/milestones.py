"""The milestones of a course: four runs in historical order, each of which needs some of the learner's answers.

Elman 1990; Hochreiter and Schmidhuber 1997; Graves 2013, who let an LSTM write text; Diamos et al. 2016, who kept all
steps in one kernel. The runs themselves are in `minirnn.learn.mine.runs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minirnn.learn.course import Course, Tree

FOLDER = "milestones"
"""The folder of the pictures, in a course folder."""


@dataclass(frozen=True)
class Milestone:
    """A run, named after its year. `needs` are the exercises whose answers it uses."""

    year: int
    title: str
    needs: tuple[str, ...]

    @property
    def file(self) -> str:
        """The path of its picture, in a course folder."""
        return f"{FOLDER}/milestone_{self.year}.png"

    def reached(self, tree: Tree) -> bool:
        return (tree.root / self.file).is_file()

    def missing(self, tree: Tree) -> list[str]:
        """The exercises that still have to be passed."""
        entries = tree.course.entries
        return [id for id in self.needs if id not in entries or not tree.passed(entries[id])]


MILESTONES = (
    Milestone(1990, "an Elman network", ("ex06",)),
    Milestone(1997, "an LSTM", ("ex09", "ex15", "ex16")),
    Milestone(2013, "a character model", ("ex09", "ex15", "ex16", "ex24", "ex25", "ex35")),
    Milestone(2016, "all steps in one launch", ("ex40",)),
)


def milestone_lines(course: Course, tree: Tree | None) -> list[str]:
    """The milestones that a course's exercises lead to, one line each for its map."""
    lines = []
    for one in MILESTONES:
        if not set(one.needs) <= course.entries.keys():
            continue
        mark = ""
        if tree is not None:
            mark = "[x] " if one.reached(tree) else " .  " if one.missing(tree) else "[ ] "
        lines.append(f"    {mark}{one.year}  {one.title}, by your {' '.join(one.needs)}")
    return ["", "Milestones, each a run with your own parts: minirnn learn milestone YEAR", *lines] if lines else []
