"""Grades in the formats that teaching platforms read. After every exercise the whole report is written anew."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minirnn.io.atomic import atomic_write
from minirnn.learn.course import CourseError
from minirnn.learn.reports import classroom50, csv, github_classroom, gradescope, junit
from minirnn.learn.reports.sheet import Sheet

FORMATS: Mapping[str, Any] = {
    "gradescope": gradescope,
    "classroom50": classroom50,
    "csv": csv,
    "junit": junit,
    "github-classroom": github_classroom,
}
"""The formats by name. A module has ``render(list of Sheet) -> str``; ``MANY`` says whether the list may be long."""


class Reports:
    """The files that grading writes.

    Parameters
    ----------
    wanted : sequence of str
        Reports as ``FORMAT:FILE``.
    submissions : int
        How many submissions there will be.

    Raises
    ------
    CourseError
        If a format is unknown, cannot hold that many submissions or lacks what its platform provides, or if the
        folder of a file does not exist.
    """

    def __init__(self, wanted: Sequence[str], submissions: int = 1) -> None:
        self.targets: list[tuple[Any, Path]] = []
        for text in wanted:
            name, _, path = text.partition(":")
            if name not in FORMATS or not path:
                raise CourseError(
                    f"{text!r} is no report\n  expected FORMAT:FILE with a format of {', '.join(FORMATS)}"
                )
            module = FORMATS[name]
            if submissions > 1 and not module.MANY:
                raise CourseError(f"{text}: this format holds one submission, not {submissions}\n  take csv or junit")
            if hasattr(module, "prepare"):
                module.prepare()
            if not Path(path).absolute().parent.is_dir():
                raise CourseError(f"{text}: the folder {Path(path).parent} does not exist")
            self.targets.append((module, Path(path)))
        self.sheets: dict[str, Sheet] = {}
        self.lock = threading.Lock()

    def write(self, sheet: Sheet) -> None:
        """Take in one submission as it is graded so far, and write all files."""
        with self.lock:
            self.sheets[sheet.student] = sheet
            for module, path in self.targets:
                with atomic_write(path) as file:
                    file.write(module.render(list(self.sheets.values())))
