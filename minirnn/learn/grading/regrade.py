"""Grading again after a course was corrected: what is kept from the earlier run, and whose points changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from minirnn.learn.reports.csv import line
from minirnn.learn.reports.sheet import Row, Sheet


class Difference(NamedTuple):
    """Points of a student that differ; `exercise` is ``total`` for the sum, and None stands for no points at all."""

    student: str
    exercise: str
    before: int | None
    after: int | None


def merged(old: Sheet, new: Sheet) -> Sheet:
    """The earlier sheet with the exercises that were graded again in place of the earlier ones."""
    fresh: dict[str, list[Row]] = {}
    for row in new.rows:
        fresh.setdefault(row.id, []).append(row)
    by_id: dict[str, list[Row]] = {}
    for row in old.rows:
        by_id.setdefault(row.id, []).append(row)
    rows = [row for part in (by_id | fresh).values() for row in part]  # in the order of the earlier ones
    remarks = [remark for remark in old.remarks if remark.split()[0] not in fresh]
    return replace(new, rows=rows, seconds=sum(row.seconds for row in rows), remarks=(*remarks, *new.remarks))


def differences(pairs: Iterable[tuple[Sheet | None, Sheet | None]]) -> Iterator[Difference]:
    """What differs between earlier and later sheets of the same students."""
    for old, new in pairs:
        known = new or old
        before, after, student = points_of(old), points_of(new), known.student if known else ""
        for key in dict.fromkeys((*after, *before)):
            if before.get(key) != after.get(key):
                yield Difference(student, key, before.get(key), after.get(key))


def points_of(sheet: Sheet | None) -> dict[str, int]:
    """The points of each exercise, followed by the total."""
    if sheet is None:
        return {}
    found: dict[str, int] = {}
    for row in sheet.rows:
        found[row.id] = found.get(row.id, 0) + row.score
    return {**found, "total": sheet.score}


def as_csv(found: Iterable[Difference]) -> Iterator[str]:
    """The differences as a table."""
    yield line(["id", "exercise", "before", "after"])
    for one in found:
        yield line(["" if cell is None else cell for cell in one])


def in_words(found: Iterable[Difference]) -> list[str]:
    """A line for each student whose points differ."""
    by_student: dict[str, list[str]] = {}
    for one in found:
        before, after = ("none" if v is None else v for v in (one.before, one.after))
        by_student.setdefault(one.student, []).append(f"{one.exercise} {before} -> {after}")
    return [f"{student}: {', '.join(changes)}" for student, changes in by_student.items()]
