"""The journal: a file to which every grade is added when it is there, so that no end of the grader loses one.

It holds JSON, a line a record: first what was graded with (the header), then a sheet a line. A line counts when it is whole,
with its end: what a killed grader left of its last one is cut off. Records are only added. If a student has two, the later
one counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from minirnn.learn.course import CourseError
from minirnn.learn.reports.sheet import Change, Row, Sheet

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

SYNC = 1.0
"""Seconds from one time to the next that records are brought to the disk itself, which only a loss of power needs."""
FORMAT = 1


class Journal:
    """A journal that is open to be read and added to. It is a context manager.

    Parameters
    ----------
    path : Path
        The file.
    header : mapping
        What is graded with, as JSON types: a journal is gone on with only if it says the same.
    resume : bool
        Whether to go on with the file as it is. Without, it begins anew; an older one is kept beside it with a ``~``.

    Attributes
    ----------
    students : list of str
        Whose sheets it holds, in the order in which they came first.

    Raises
    ------
    CourseError
        If the file cannot be written or read, another grader has it open, or it was made with something else.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], resume: bool = False) -> None:
        self.path, self.header = path, {"format": FORMAT, **header}
        if not resume:
            self._keep_older()
        try:
            self.file: IO[bytes] = open(path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise CourseError(f"{path}: the journal cannot be written: {error.strerror}") from None
        try:
            self._lock()
            self.places: dict[str, int] = {}
            self.synced = 0.0
            if resume and self.file.seek(0, os.SEEK_END):
                self._reread()
            else:
                self.file.truncate(0)
                self._add(self.header)
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self.file.fileno())
        self.file.close()

    @property
    def students(self) -> list[str]:
        return list(self.places)

    def add(self, sheet: Sheet) -> None:
        """Add a sheet. On return a process that is killed loses it no more."""
        self.places[sheet.student] = self._add(record_of(sheet))

    def read(self, student: str) -> Sheet | None:
        """A student's latest sheet."""
        if student not in self.places:
            return None
        with open(self.path, "rb") as file:
            file.seek(self.places[student])
            return sheet_of(json.loads(file.readline()))

    def _add(self, record: Mapping[str, Any]) -> int:
        """Add a line, and return where it begins."""
        place = self.file.seek(0, os.SEEK_END)
        data = memoryview(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        while data:  # an unbuffered write may take less than all
            data = data[self.file.write(data) :]
        if time.monotonic() - self.synced > SYNC:
            os.fsync(self.file.fileno())
            self.synced = time.monotonic()
        return place

    def _reread(self) -> None:
        """Take over what is there, and cut off what is not whole."""
        place = 0
        for number, (end, record) in enumerate(lines_of(self.path)):
            if number == 0:
                check_header(self.path, record, self.header)
            else:
                self.places[sheet_of(record).student] = place
            place = end
        self.file.truncate(place)
        if place == 0:
            self._add(self.header)

    def _keep_older(self) -> None:
        if self.path.is_file() and self.path.stat().st_size:
            with contextlib.suppress(OSError):
                os.replace(self.path, self.path.with_name(self.path.name + "~"))

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CourseError(f"{self.path}: another grader is at work with this journal") from None


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each whole record of a journal, and where it ends.

    Raises
    ------
    CourseError
        If a line in the middle is damaged: only the last can be torn by a kill.
    """
    torn = 0
    try:
        with open(path, "rb") as file:
            end = 0
            for number, line in enumerate(file, 1):
                if torn:
                    raise CourseError(f"{path}, line {torn}: the journal is damaged\n  expected a line of JSON")
                end += len(line)
                try:
                    record = json.loads(line) if line.endswith(b"\n") else None
                except (ValueError, RecursionError):
                    record = None
                if isinstance(record, dict):
                    yield end, record
                else:
                    torn = number
    except OSError as error:
        raise CourseError(f"{path}: the journal cannot be read: {error.strerror}") from None


def check_header(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises CourseError if a journal was made with another course or other settings."""
    for key, value in wanted.items():
        if found.get(key) != value:
            raise CourseError(
                f"{path} was graded with another {key}: {shown(found.get(key))}\n  expected {shown(value)}\n"
                f"  grade anew, with --regrade {path} to see what changes; or go on with what it was begun with"
            )


def shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:60] or "nothing"


def read_sheets(path: Path) -> dict[str, Sheet]:
    """All sheets of a finished or unfinished journal, by student.

    Raises
    ------
    CourseError
        If it is no journal.
    """
    records = [record for _, record in lines_of(path)]
    if not records or records[0].get("format") != FORMAT:
        raise CourseError(
            f"{path} is no journal of grades\n  expected the .journal that an earlier run left beside its reports"
        )
    sheets = [sheet_of(record) for record in records[1:]]
    return {sheet.student: sheet for sheet in sheets}


def record_of(sheet: Sheet) -> dict[str, Any]:
    """A sheet as JSON types."""
    return asdict(sheet)


def sheet_of(record: Mapping[str, Any]) -> Sheet:
    """The sheet of a record.

    Raises
    ------
    CourseError
        If it is none.
    """
    try:
        fields = dict(record)
        fields["rows"] = [Row(**row) for row in fields["rows"]]
        fields["changes"] = tuple(Change(**change) for change in fields["changes"])
        fields["notes"], fields["remarks"] = tuple(fields["notes"]), tuple(fields["remarks"])
        return Sheet(**fields)
    except (KeyError, TypeError) as error:
        raise CourseError(f"the journal has a record that is no sheet ({error})") from None
