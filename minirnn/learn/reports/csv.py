"""A table for a spreadsheet, nbgrader or otter: one line per student."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from minirnn.learn.reports.sheet import Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = True
ABOUT = ["changes", "notes", "for the teacher", "graded by"]
"""Columns after the points, if there is a stamp: changes of the points, remarks for the student, remarks for the
teacher, and the stamp.
"""

FORMULAS = tuple(
    "=+-@\t\r\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
"""First characters of cells that spreadsheets interpret as formulas. East Asian ones also accept the wide forms."""


def render(sheets: Iterable[Sheet], stamp: Stamp | None = None) -> str:
    return "".join(pieces(sheets, stamp))


def pieces(sheets: Iterable[Sheet], stamp: Stamp | None = None) -> Iterator[str]:
    """The table, line by line; students are in the order of their ids."""
    ids: dict[str, None] = {}
    lines: dict[str, tuple[dict[str, str], dict[str, int], list[object]]] = {}
    for sheet in sheets:
        scores: dict[str, int] = {}
        for row in sheet.rows:
            scores[row.id] = scores.get(row.id, 0) + row.score
        ids.update(dict.fromkeys(scores))
        rest: list[object] = [
            sheet.score,
            sheet.most,
            "yes" if sheet.finished and not (sheet.busy or sheet.problem) else "no",
        ]
        who = {"name": sheet.name, "email": sheet.email}
        lines[sheet.student] = who, scores, [*rest, *(about(sheet, stamp) if stamp else [])]
    named = [k for k in ("name", "email") if any(who[k] for who, _, _ in lines.values())]
    yield line(["id", *named, *ids, "total", "max", "finished", *(ABOUT if stamp else [])])
    for student in sorted(lines):
        who, scores, rest = lines[student]
        yield line([student, *(who[k] for k in named), *(scores.get(id, 0) for id in ids), *rest])


def about(sheet: Sheet, stamp: Stamp) -> list[object]:
    changes = "; ".join(f"{change.reason}: {change.points:+d}" for change in sheet.changes)
    busy = [f"{id}: not judged, grade again" for id in sheet.busy]
    told = [f"not graded: {sheet.problem}"] if sheet.problem else []
    private = [f"{row.id}: {' '.join(row.private.split())[:200]}" for row in sheet.rows if row.private]
    return [changes, "; ".join([*told, *sheet.notes]), "; ".join([*busy, *sheet.remarks, *private]), stamp.full()]


def line(cells: list[object]) -> str:
    """A line of the table, no cell of which is a formula to a spreadsheet."""
    out = io.StringIO()
    flat = [c.replace("\r", " ") if isinstance(c, str) else c for c in cells]  # csv treats it as the end of a line
    safe = [f"'{c}" if isinstance(c, str) and c.lstrip(" ")[:1] in FORMULAS else c for c in flat]
    csv.writer(out, lineterminator="\n").writerow(safe)
    return out.getvalue()
