"""Feedback for a student in Markdown: points, causes and comments, without the remarks for the teacher."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = False


def render(sheets: Sequence[Sheet], stamp: Stamp | None = None) -> str:
    (sheet,) = sheets
    lines = [f"# {sheet.course}: {plain(sheet.who)}", "", f"**{sheet.score} of {sheet.most} points**", ""]
    if sheet.changes:
        lines += [f"{sheet.earned} points for the answers, and:", ""]
        lines += [f"- {plain(change.reason)}: {change.points:+d}" for change in sheet.changes] + [""]
    if sheet.problem:
        lines += [f"Nothing could be graded: {plain(sheet.problem)}.", ""]
    lines += [f"- {plain(note)}" for note in sheet.notes] + ([""] if sheet.notes else [])
    for row in sheet.rows:
        lines += [f"## {row.number} {plain(row.name)}: {row.score} / {row.most}", ""]
        if row.busy:
            lines += ["This could not be judged. It will be graded again.", ""]
        if row.output.strip():
            lines += [*fenced(row.output), ""]
    if not sheet.finished:
        lines += ["The grader did not finish.", ""]
    if stamp:
        lines += [f"Graded by {plain(stamp.line())}."]
    return "\n".join(lines).rstrip() + "\n"


def fenced(text: str) -> list[str]:
    """The text as a code block that nothing in the text can close."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}text", text.rstrip(), fence]


def plain(text: str) -> str:
    """The text, escaped so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))
