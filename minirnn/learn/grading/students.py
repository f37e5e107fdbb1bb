"""Students and their submissions: by a roster, by a pattern of paths, or by the names of their submissions.

Two submissions never share a student. That is an error before grading begins, because one grade would be lost.
"""

from __future__ import annotations

import csv
import datetime
import io
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minirnn.learn.cleaned import cleaned, printable
from minirnn.learn.course import CourseError

ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".xz", ".bz2")
"""Endings of what students hand in; only the first can be read, but the others also get a grade and a reason."""
COLUMNS = ("id", "name", "email", "submission", "submitted", "due")


@dataclass(frozen=True)
class Student:
    """A student.

    Attributes
    ----------
    id : str
        The name of the student in all reports.
    submission : Path or None
        The submission; None if there is none.
    inside : str
        The folder or zip file in the zip file `submission` that is the student's; empty for the whole.
    link : str
        The link that leads to the submission, if a student could have made it. Such a submission is not read.
    name, email : str
        More about the student, from the roster.
    submitted, due : datetime or None
        When it was handed in, and until when this student may, from the roster.
    listed : bool
        Whether the student is on the roster, if there is one.
    kept : bool
        Whether an earlier run has grades of the student, which count if there is no submission this time.
    """

    id: str
    submission: Path | None = None
    name: str = ""
    email: str = ""
    submitted: datetime.datetime | None = None
    due: datetime.datetime | None = None
    listed: bool = True
    inside: str = ""
    link: str = ""
    kept: bool = False

    @property
    def handed_in(self) -> bool:
        """Whether there is a submission, of this run or an earlier one."""
        return self.submission is not None or self.kept


def students_of(
    submissions: Sequence[Path],
    template: str = "",
    roster: Path | None = None,
    parts: Callable[[Path], list[str]] = lambda path: [],
) -> list[Student]:
    """The students of the submissions, in the order given; then those of the roster who handed in nothing.

    Parameters
    ----------
    submissions : sequence of Path
        Folders and zip files.
    template : str
        A path with ``{id}`` where the student's name is and ``*`` for anything within a name; it is compared with
        the end of each submission's path.
    roster : Path or None
        A CSV file with a column ``id`` and, if wanted, ``name``, ``email``, ``submission`` (a name of what is handed
        in, if that does not have the id), ``submitted`` and ``due`` (times).
    parts : callable
        The submissions in a folder or zip file of a class. It is asked if there is one submission and the roster does
        not name it.

    Raises
    ------
    CourseError
        If a submission is missing or is neither a folder nor a zip file, if the template does not fit one, if two have
        the same student, or if the roster cannot be read.
    """
    listed = read_roster(roster) if roster else []
    by_name = {known(s.id): s for s in listed} | {known(s.submission.name): s for s in listed if s.submission}
    found: dict[str, Student] = {}
    for path in submissions:
        check_submission(path)
    places = [(path, "") for path in submissions]
    if len(places) == 1 and known(name_of(path := submissions[0])) not in by_name:
        packed = path.is_file()
        places = [(path, part) if packed else (path / part, "") for part in parts(path)] or places
    for path, inside in places:
        shown = path / inside
        id = id_of(shown, template)
        names = [id, *([] if template else [Path(os.path.abspath(shown)).name])]
        student = next((by_name[known(name)] for name in names if known(name) in by_name), None)
        if student is None:
            student = Student(id, listed=roster is None)
        key = known(student.id)
        if key in found:
            raise CourseError(
                f"two submissions are from {student.id!r}: {where(found[key])} and {shown}\n"
                "  expected one per student, because only one of their grades could be kept\n"
                "  tell them apart with --id, such as --id '{id}/*', or with a roster's column submission"
            )
        found[key] = replace(student, submission=path, inside=inside, link="" if inside else link_to(path, template))
    missing = [replace(s, submission=None) for s in listed if known(s.id) not in found]
    return [*found.values(), *missing]


def where(student: Student) -> str:
    """The place of a submission."""
    return os.path.join(str(student.submission), student.inside).rstrip("/")


def link_to(path: Path, template: str) -> str:
    """The first link on the way to a submission; empty if there is none.

    The names above the one with the student's id are the teacher's and may be links. Everything below could come from
    a student, who could make it lead to another student's answers.
    """
    whole = os.path.abspath(path)
    match = re.search(pattern_of(template), whole) if template else None
    names = whole[match.start("id") :].strip("/").count("/") + 1 if match else 1
    tried = [Path(whole), *Path(whole).parents][:names]
    return next((str(one) for one in reversed(tried) if one.is_symlink()), "")


def known(name: str) -> str:
    """A normal form of a name, so that two names that look the same are equal."""
    return unicodedata.normalize("NFC", name.strip()).casefold()


def check_submission(path: Path) -> None:
    """Raises CourseError if there is no file, or something that cannot be a submission."""
    if path.is_dir():
        return
    if not path.is_file() or not (path.suffix.lower() in ARCHIVES or begins_like_zip(path)):
        raise CourseError(f"{path}: no such folder or zip file\n  expected a submission")


def begins_like_zip(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def id_of(path: Path, template: str = "") -> str:
    """The name of the student: where the template says, else the submission's own name without ``.zip``.

    Raises
    ------
    CourseError
        If the template has no ``{id}`` or does not fit.
    """
    shown = os.fsencode(os.path.abspath(path)).decode("utf-8", errors="replace")
    if not template:
        return name_of(path).removesuffix(".zip") or "submission"
    match = re.search(pattern_of(template), shown)
    if match is None:
        raise CourseError(f"{path} does not fit --id {template!r}\n  expected a path that ends like it")
    return unicodedata.normalize("NFC", printable(match["id"], 200))


def name_of(path: Path) -> str:
    """The last name of a path in a form that can be printed."""
    name = os.path.basename(os.path.abspath(path))
    return unicodedata.normalize("NFC", printable(os.fsencode(name).decode("utf-8", errors="replace"), 200))


def pattern_of(template: str) -> str:
    """A template as a regular expression for the end of a path."""
    if template.count("{id}") != 1:
        raise CourseError(f"--id is {template!r}\n  expected a path with {{id}} in it, such as 'hw1/{{id}}_*.zip'")
    parts = re.split(r"(\{id\}|\*)", template.strip("/"))
    pattern = "".join({"{id}": "(?P<id>[^/]+?)", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)
    return rf"(?:^|/){pattern}(?:\.zip)?/?$"


def read_roster(path: Path) -> list[Student]:
    """The students of a roster.

    Raises
    ------
    CourseError
        If it cannot be read, has no column ``id``, lists a student twice, or has an invalid time.
    """
    students: dict[str, Student] = {}
    for line, row in read_table(path, ("id",), COLUMNS, others=True):
        if known(row["id"]) in students:
            raise CourseError(f"{path}, line {line}: {row['id']!r} is listed twice\n  expected every student once")
        submission = Path(row["submission"]) if row.get("submission") else None
        where = f"{path}, line {line}"
        students[known(row["id"])] = Student(
            unicodedata.normalize("NFC", row["id"]), submission, row.get("name", ""), row.get("email", ""),
            time_of(where, row.get("submitted", "")), time_of(where, row.get("due", ""), datetime.time(23, 59, 59)),
        )  # fmt: skip
    return list(students.values())


def read_table(
    path: Path, needed: Sequence[str], columns: Iterable[str], others: bool = False
) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by column, with their line numbers; empty lines are left out.

    Raises
    ------
    CourseError
        If it cannot be read, or lacks one of the `needed` columns, or has one that is not known (unless `others`).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte order mark in front
        sample = text.partition("\n")[0]
        delimiter = ";" if sample.count(";") > sample.count(",") else ","  # as spreadsheets do in half of Europe
        reader = csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
        names = [(name or "").strip().lower() for name in reader.fieldnames or []]
        reader.fieldnames = names
        if missing := [name for name in needed if name not in names]:
            raise CourseError(f"{path} has no column {missing[0]!r}\n  expected the columns {', '.join(columns)}")
        if strange := [name for name in names if name not in columns and not others]:
            raise CourseError(f"{path} has a column {strange[0]!r}\n  expected the columns {', '.join(columns)}")
        rows = []
        for row in reader:
            if any(cell.strip() for cell in row.get(None, [])):
                raise CourseError(
                    f"{path}, line {reader.line_num} has more cells than the header\n"
                    "  expected one cell per column; put quotes around a text that contains a comma"
                )
            clean = {k: cleaned(v or "").strip() for k, v in row.items() if k and not isinstance(v, list)}
            if not any(clean.values()):
                continue
            if empty := [name for name in needed if not clean.get(name)]:
                raise CourseError(f"{path}, line {reader.line_num}: {empty[0]} is empty")
            rows.append((reader.line_num, clean))
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}\n  expected a CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"{path}: cannot be read ({error})\n  expected a CSV file in UTF-8") from error
    return rows


def time_of(where: str, text: str, of_a_day: datetime.time = datetime.time()) -> datetime.datetime | None:
    """A time such as ``2027-02-01T23:59+01:00``; without an offset it is in this machine's zone. A date alone means the
    time `of_a_day`.

    Raises
    ------
    CourseError
        If it is not a time.
    """
    if not text:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
        if len(text) <= len("2027-02-01"):
            time = datetime.datetime.combine(time, of_a_day)
        return time.astimezone()
    except (ValueError, OverflowError, OSError):
        raise CourseError(
            f"{where}: {text!r} is not a time\n"
            "  expected, for example, 2027-02-01T23:59+01:00; without an offset it is in this machine's zone"
        ) from None
