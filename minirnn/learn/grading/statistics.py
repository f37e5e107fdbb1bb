"""Statistics of a class: which exercises were hard, which tell students apart, and the most frequent mistakes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from minirnn.learn.cleaned import several
from minirnn.learn.reports.csv import line
from minirnn.learn.reports.feedback import plain
from minirnn.learn.reports.sheet import Sheet

DIAGNOSES = 3
FEWEST = 3
"""The fewest students for which a correlation is computed."""


@dataclass(frozen=True)
class Item:
    """An exercise in numbers.

    Attributes
    ----------
    began, full : int
        How many students began, and how many have all points.
    mean : float
        The average fraction of the points among those who began. A low value means that the exercise is difficult.
    discrimination : float
        The correlation of an exercise's points with those of all other exercises, over those who began. Near zero or
        below, the exercise tests something else than the others, or is faulty. It is NaN if all have the same points,
        or if they are fewer than `FEWEST`.
    diagnoses : list
        The most frequent causes of wrong answers, and how many students have each.
    """

    id: str
    name: str
    most: int
    began: int
    full: int
    mean: float
    discrimination: float
    diagnoses: list[tuple[str, int]]


@dataclass
class Counted:
    """An exercise as it is counted."""

    name: str
    most: int
    points: list[int] = field(default_factory=list)
    rests: list[int] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)


def statistics(sheets: Iterable[Sheet]) -> tuple[int, list[Item]]:
    """How many students there are, and the exercises in numbers. One sheet at a time is in memory.

    Submissions that could not be graded, busy rows and those not graded yet count for nothing.
    """
    students, found = 0, dict[str, Counted]()
    for sheet in sheets:
        if sheet.problem or not sheet.finished:
            continue
        students += 1
        earned, most = Counter[str](), Counter[str]()
        for row in sheet.rows:
            earned[row.id] += row.score
            most[row.id] += row.most
        for row in sheet.rows:
            if row.hidden:
                continue
            item = found.setdefault(row.id, Counted(row.name, most[row.id]))
            if row.not_started or row.busy:
                continue
            item.points.append(earned[row.id])
            item.rests.append(sheet.earned - earned[row.id])
            if row.message:
                item.causes[row.message[:200]] += 1
    return students, [item_of(id, counted) for id, counted in found.items()]


def item_of(id: str, counted: Counted) -> Item:
    points, n = counted.points, len(counted.points)
    mean = sum(points) / (n * counted.most) if n and counted.most else math.nan
    common = sorted(counted.causes.items(), key=lambda cause: (-cause[1], cause[0]))[:DIAGNOSES]
    full = sum(p == counted.most for p in points)
    return Item(id, counted.name, counted.most, n, full, mean, correlation(points, counted.rests), common)


def correlation(a: list[int], b: list[int]) -> float:
    """Pearson's correlation of two lists."""
    if len(a) < FEWEST or len(set(a)) == 1 or len(set(b)) == 1:
        return math.nan
    return float(np.corrcoef(np.array(a, float), np.array(b, float))[0, 1])


def as_csv(items: Iterable[Item]) -> Iterator[str]:
    """The statistics as a table."""
    causes = [name for k in range(DIAGNOSES) for name in (f"diagnosis {k + 1}", f"students {k + 1}")]
    yield line(["id", "name", "points", "began", "full", "mean", "discrimination", *causes])
    for item in items:
        cells = [cell for cause in item.diagnoses for cell in cause]
        cells += [""] * (2 * DIAGNOSES - len(cells))
        numbers = item.most, item.began, item.full, number(item.mean), number(item.discrimination)
        yield line([item.id, item.name, *numbers, *cells])


def as_markdown(students: int, items: Iterable[Item], left_out: int = 0) -> Iterator[str]:
    """The statistics for readers: a table, and below it the most frequent mistakes."""
    items = list(items)
    without = f"; left out: {several(left_out, 'submission')} without grades" if left_out else ""
    yield f"{several(students, 'student')}{without}\n\n"
    yield "| exercise | points | began | full | mean | discrimination |\n|---|---:|---:|---:|---:|---:|\n"
    for item in items:
        mean = "" if math.isnan(item.mean) else f"{100 * item.mean:.0f} %"
        cells = (plain(item.name), item.most, item.began, item.full, mean, number(item.discrimination))
        yield f"| {' | '.join(map(str, cells))} |\n"
    yield "\nWhat was misunderstood:\n\n"
    for item in items:
        for cause, count in item.diagnoses:
            yield f"- {item.id}, {count} of {item.began}: {plain(cause)}\n"


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
