"""Gradescope's ``results.json``: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""

from __future__ import annotations

import json
from typing import Any

from minirnn._version import __version__
from minirnn.learn.reports.sheet import Sheet

MANY = False


def render(sheets: list[Sheet]) -> str:
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
    report = {
        "score": float(sheet.score),
        "execution_time": round(sheet.seconds),
        "output": f"graded by minirnn {__version__}"
        + ("" if sheet.finished else "; the grader did not come to the end"),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"course": sheet.course, "finished": sheet.finished},
        "tests": tests,
    }
    return json.dumps(report, indent=2) + "\n"
