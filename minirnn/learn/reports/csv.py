"""A table for a spreadsheet, nbgrader or otter: one line a student."""

from __future__ import annotations

import csv
import io

from minirnn.learn.reports.sheet import Sheet

MANY = True


def render(sheets: list[Sheet]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ids = list(dict.fromkeys(row.id for sheet in sheets for row in sheet.rows))
    writer.writerow(["id", *ids, "total", "max", "finished"])
    for sheet in sorted(sheets, key=lambda s: s.student):
        scores = [sum(row.score for row in sheet.rows if row.id == id) for id in ids]
        # A cell that begins so would be a formula to a spreadsheet.
        safe = f"'{sheet.student}" if sheet.student[:1] in tuple("=+-@\t\r") else sheet.student
        writer.writerow([safe, *scores, sheet.score, sheet.most, "yes" if sheet.finished else "no"])
    return out.getvalue()
