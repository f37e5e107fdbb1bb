"""The journal: a file to which every grade is added at once, so that none is lost when the grader stops.

It is a header, which says what was graded with, and a line of JSON per sheet. Lines are only added. If a student has
two, the later one counts. Another kind of line has the options of the reports. What a killed grader left of its last
line is cut off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from minirnn.io.atomic import naming
from minirnn.learn.cleaned import cleaned_all
from minirnn.learn.course import CourseError
from minirnn.learn.reports.sheet import Change, Row, Sheet

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
BEGINNING = b'{"format":%d,' % FORMAT


class Records:
    """The sheets of a journal, read when they are asked for: only their places are kept in memory.

    Attributes
    ----------
    header : dict
        What was graded with.
    end : int
        Where the last whole line ends.
    exercises : set of str
        The exercises that a student has a grade of.
    reported : dict
        The options of the latest reports that change what they say.

    Raises
    ------
    CourseError
        If the file is not a journal, or damaged in its middle. A kill can only damage the last line.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.end, torn = path, 0, 0
        self.header: dict[str, Any] = {}
        self.places: dict[str, int] = {}
        self.exercises: set[str] = set()
        self.reported: dict[str, str] = {}
        try:
            with open(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if number == 1 and not (line.startswith(BEGINNING) or BEGINNING.startswith(line)):
                        raise CourseError(
                            f"{path} is not a journal of grades\n  expected the .journal of an earlier run"
                        )
                    if torn:
                        raise CourseError(f"{path}, line {torn}: the journal is damaged\n  expected a line of JSON")
                    try:
                        record = json.loads(line) if line.endswith(b"\n") else None
                    except (ValueError, RecursionError):
                        record = None
                    if not isinstance(record, dict):
                        torn = number
                        continue
                    if number == 1:
                        self.header = record
                    elif "reported" in record:
                        self.reported = cleaned_all(dict(record["reported"]))
                    else:
                        self._found(sheet_of(record), self.end)
                    self.end += len(line)
        except OSError as error:
            raise CourseError(f"{path}: the journal cannot be read: {error.strerror}") from None

    def _found(self, sheet: Sheet, place: int) -> None:
        self.places[sheet.student] = place
        self.exercises.update(row.id for row in sheet.rows)

    @property
    def students(self) -> list[str]:
        """The students who have a sheet, in the order of their first one."""
        return list(self.places)

    def read(self, student: str) -> Sheet | None:
        """A student's latest sheet; None if there is none."""
        if student not in self.places:
            return None
        with open(self.path, "rb") as file:
            file.seek(self.places[student])
            return sheet_of(json.loads(file.readline()))


class Journal(Records):
    """A journal that is open to be added to. It is a context manager.

    Parameters
    ----------
    path : Path
        The file.
    header : mapping
        What is used for grading, as JSON types. A journal is continued only if it has the same header.
    resume : bool
        Whether to continue the file. Otherwise a new one begins, and an older one is kept next to it with a ``~``.

    Raises
    ------
    CourseError
        If the file cannot be written or read, another grader has it open, or it was made with something else.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], resume: bool = False) -> None:
        self.file = opened(path)
        try:
            if self.file.seek(0, os.SEEK_END) and not resume:
                os.replace(path, path.with_name(path.name + "~"))  # the lock goes along with it
                self.file.close()
                self.file = opened(path)
            super().__init__(path)
            self.file.truncate(self.end)
            if self.end:
                check_header(path, self.header, header)
            else:
                self.header = {"format": FORMAT, **header}
                self._add(self.header)
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()

    def add(self, sheet: Sheet) -> None:
        """Add a sheet. Once this returns, it is on the disk."""
        self._found(sheet, self._add(asdict(sheet)))

    def report(self, options: dict[str, str]) -> None:
        """Record the options that the reports are made with."""
        if options != self.reported:
            self.reported = options
            self._add({"reported": options})

    def _add(self, record: Mapping[str, Any]) -> int:
        """Add a line, and return where it begins."""
        place = self.file.seek(0, os.SEEK_END)
        data = memoryview(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        with naming(self.path):
            while data:  # an unbuffered write may take less than all
                data = data[self.file.write(data) :]
            os.fsync(self.file.fileno())
        return place


def opened(path: Path) -> IO[bytes]:
    """Open the file for reading and adding, and lock it until it is closed."""
    try:
        file = open(path, "a+b", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise CourseError(f"{path}: the journal cannot be written: {error.strerror}") from None
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise CourseError(f"{path}: another grader is using this journal") from None
    return file


def check_header(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises CourseError if a journal was made with another course or other settings."""
    for key, value in wanted.items():
        if found.get(key) != value:
            other = "other" if key.endswith("s") else "another"
            raise CourseError(
                f"{path} was graded with {other} {key}: {short_text(found.get(key))}\n"
                f"  expected {short_text(value)}\n"
                f"  grade again with --regrade {path} to see what changes, or continue with the earlier settings"
            )


def short_text(value: object) -> str:
    text = ", ".join(map(str, value)) or "all" if isinstance(value, list) else str(value)
    return text[:60] or "nothing"


def sheet_of(record: Mapping[str, Any]) -> Sheet:
    """The sheet of a line.

    Raises
    ------
    CourseError
        If it is not a sheet.
    """
    try:
        fields = cleaned_all(dict(record))  # an older minirnn may have written it
        for row in fields["rows"]:
            row.update({name: tuple(map(tuple, row[name])) for name in ("parts", "comments") if name in row})
        fields["rows"] = [Row(**row) for row in fields["rows"]]
        fields["changes"] = tuple(Change(**change) for change in fields["changes"])
        return Sheet(**{**fields, "notes": tuple(fields["notes"]), "remarks": tuple(fields["remarks"])})
    except (AttributeError, KeyError, TypeError) as error:
        raise CourseError(f"the journal has a record that is not a sheet ({error})") from None
