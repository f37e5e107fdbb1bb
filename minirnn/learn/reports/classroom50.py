"""Classroom 50's ``result.json`` (classroom50/result/v1): whole numbers, and who and what from the environment."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
from collections.abc import Sequence
from typing import Any

from minirnn.learn.course import CourseError
from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = False
VARIABLES = {"classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "owner": "OWNER", "submission": "SUBMISSION_TAG",
             "commit": "COMMIT_URL", "release": "RELEASE_URL"}  # fmt: skip


def prepare() -> None:
    """Raises `CourseError` if the runner's variables are missing."""
    missing = [name for name in VARIABLES.values() if not os.environ.get(name)]
    if missing:
        raise CourseError(
            f"classroom50 needs the environment variables {', '.join(missing)}\n"
            "  Classroom 50's runner sets them; outside of it use another format"
        )


def submitted(tag: str) -> str:
    """The time of submission, from the tag (``submit/2027-02-01T14-32-05Z-a1b2c3d``), so that it is the same in every
    run.

    If the tag has no time, this is the current time.
    """
    found = re.fullmatch(r"submit/(?:manual-)?(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(-.*)?", tag)
    if found:
        text = f"{found[1]}T{found[2]}:{found[3]}:{found[4]}Z"
        with contextlib.suppress(ValueError):
            datetime.datetime.fromisoformat(text)
            return text
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render(sheets: Sequence[Sheet], stamp: Stamp | None = None) -> str:
    (sheet,) = sheets
    known = {key: os.environ.get(name, "") for key, name in VARIABLES.items()}
    tests: list[dict[str, Any]] = [
        {"test-name": row.name, "passed": row.passed, "score": row.score, "max-score": row.most,
         "message": row.message, "output": row.output}
        for row in sheet.rows
    ]  # fmt: skip
    if stamp:
        told = [f"graded by {stamp.line()}", *(f"not graded: {p}" for p in [sheet.problem] if p)]
        told += [f"{change.points:+d} {change.reason}" for change in sheet.changes]
        about = {"test-name": "about this submission", "passed": not sheet.problem, "score": 0, "max-score": 0}
        tests.append({**about, "message": "", "output": "\n".join([*told, *sheet.notes])})
    report = {
        "schema": "classroom50/result/v1",
        **known,
        "assignment_type": os.environ.get("ASSIGNMENT_TYPE") or "individual",
        "review": os.environ.get("REVIEW_URL") or known["commit"],
        "datetime": submitted(known["submission"]),
        "score": sheet.score,
        "max-score": sheet.most,
        "tests": tests,
    }
    return json.dumps(report, indent=2) + "\n"
