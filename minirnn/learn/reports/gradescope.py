"""Gradescope's ``results.json``: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from minirnn import __version__
from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = False


def render(sheets: Sequence[Sheet], stamp: Stamp | None = None) -> str:
    (sheet,) = sheets
    tests: list[dict[str, Any]] = []
    for row in sheet.rows:
        test: dict[str, Any] = {
            "score": float(row.score),
            "max_score": float(row.most),
            "status": "passed" if row.passed else "failed",
            "name": row.name,
            "name_format": "text",
            "number": row.number,
            "output": row.output,
            "output_format": "text",
            "tags": [row.id],
            "visibility": "after_published" if row.hidden else "visible",
        }
        if row.message:
            test["extra_data"] = {"diagnosis": row.message}
        tests.append(test)
    if private := for_the_teacher(sheet):
        tests.append({"name": "for the teacher", "output": private, "output_format": "text", "visibility": "hidden"})
    extra: dict[str, Any] = {"course": sheet.course, "finished": sheet.finished}
    if stamp:
        extra["graded_by"] = stamp.fields()
    report = {
        "score": float(sheet.score),
        "execution_time": round(sheet.seconds),
        "output": about(sheet, stamp),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": extra,
        "tests": tests,
    }
    return json.dumps(report, indent=2) + "\n"


def about(sheet: Sheet, stamp: Stamp | None) -> str:
    """The text that the student sees above all tests."""
    lines = [f"graded by {stamp.line() if stamp else f'minirnn {__version__}'}"]
    if not sheet.finished:
        lines[0] += "; the grader did not finish"
    if sheet.problem:
        lines.append(f"not graded: {sheet.problem}")
    if sheet.busy:
        lines.append(f"{', '.join(sheet.busy)} could not be judged and should be graded again")
    return "\n".join([*lines, *(f"{change.points:+d} {change.reason}" for change in sheet.changes), *sheet.notes])


def for_the_teacher(sheet: Sheet) -> str:
    """The text that students never see."""
    private = [f"{row.name}:\n{row.private}" for row in sheet.rows if row.private]
    return "\n".join([*sheet.remarks, *private])
