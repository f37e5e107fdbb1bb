"""Grades in the formats that teaching platforms read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minirnn.io.atomic import atomic_write
from minirnn.learn.course import CourseError
from minirnn.learn.reports import classroom50, csv, feedback, gradescope, junit, page
from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

FORMATS: Mapping[str, Any] = {
    "gradescope": gradescope,
    "classroom50": classroom50,
    "csv": csv,
    "junit": junit,
    "feedback": feedback,
    "html": page,
}
"""The formats by name. A module has ``render(sheets, stamp) -> str``; ``MANY`` says whether it supports many sheets.
Such a module also has ``pieces(sheets, stamp)``, which yields the text in pieces, so that it is never in memory as a
whole.
"""
OTHERS = ("statistics", "similarity", "diff")
"""Other kinds of files that ``minirnn grade --out`` writes, about the whole class."""

MOST_BYTES = 150
"""Bytes of a student's name in a file's name, of which systems allow 255."""


class Reports:
    """The files that grading writes.

    Parameters
    ----------
    wanted : sequence of str
        Reports as ``FORMAT:FILE``. If FILE contains ``{id}``, each student gets a separate file. A missing folder is
        made.
    submissions : int
        The number of submissions.
    stamp : Stamp or None
        The versions and the machine that grade, for each report.

    Raises
    ------
    CourseError
        If a format is unknown, cannot hold that many submissions or lacks what its platform provides, or if the
        folder of a file cannot be made.
    """

    def __init__(self, wanted: Sequence[str], submissions: int = 1, stamp: Stamp | None = None) -> None:
        self.targets: list[tuple[Any, Path]] = []
        self.stamp = stamp
        for text in wanted:
            name, _, path = text.partition(":")
            if name not in FORMATS or not path:
                raise CourseError(
                    f"{text!r} is not a report\n  expected FORMAT:FILE with FORMAT in {', '.join([*FORMATS, *OTHERS])}"
                )
            module = FORMATS[name]
            if submissions > 1 and not module.MANY and "{id}" not in Path(path).name:
                raise CourseError(
                    f"{text}: this format holds one submission, not {submissions}\n"
                    "  use csv or junit, or one file per student, with {id} in its name"
                )
            if hasattr(module, "prepare"):
                module.prepare()
            make_folder(path)
            self.targets.append((module, Path(path)))

    def write(self, sheets: Iterable[Sheet]) -> None:
        """Write all files. Each file reads the sheets once, so that they need not all be in memory."""
        for module, path in self.targets:
            if "{id}" in path.name:
                for sheet in sheets:
                    write_text(own_file(path, sheet), module, [sheet], self.stamp)
            else:
                write_text(path, module, sheets, self.stamp)

    def try_out(self, sheet: Sheet) -> None:
        """Render one sheet in every format. Exceptions are passed on."""
        for module, _ in self.targets:
            "".join(pieces_of(module, [sheet], self.stamp)).encode()


def own_file(path: Path, sheet: Sheet) -> Path:
    """The file of one student."""
    return path.with_name(path.name.replace("{id}", file_name(sheet.student)))


def write_text(path: Path, module: Any, sheets: Iterable[Sheet], stamp: Stamp | None) -> None:
    with atomic_write(path) as file:
        file.writelines(pieces_of(module, sheets, stamp))


def pieces_of(module: Any, sheets: Iterable[Sheet], stamp: Stamp | None) -> Iterable[str]:
    """The text of a report, in pieces if the format supports that."""
    return module.pieces(sheets, stamp) if module.MANY else [module.render(list(sheets), stamp)]


def make_folder(path: str | Path) -> None:
    """Make the folder of a file that will be written. Raises CourseError if that is not possible."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"{path}: its folder cannot be made: {error.strerror}") from None


def file_name(student: str) -> str:
    """A student's name as a part of a file name. If characters are replaced or left out, a hash is added, so that no
    two students share a file.
    """
    name = re.sub(r"[^\w.@+-]", "_", student).lstrip(".")
    data = name.encode()
    if name == student and len(data) <= MOST_BYTES and not re.search("-[0-9a-f]{16}$", name):
        return name
    return f"{data[: MOST_BYTES - 17].decode(errors='ignore')}-{hashlib.sha256(student.encode()).hexdigest()[:16]}"
