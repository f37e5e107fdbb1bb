"""Comparison with a stored table: it finds cells that disappeared and errors that grew tenfold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from minirnn.proof.table import ABSENT, Cell, Comparison, Result
from minirnn.proof.tolerance import LAMBDA, UNIT

WORSE = 10.0
FLOOR = 8.0
"""Errors below this (4 eps) never count as worse, because another library may add in another order."""


def count_cases(comparisons: Iterable[Comparison]) -> dict[Cell, int]:
    """The cells that these comparisons fill, and the number of cases of each."""
    return Counter(one.cell for one in comparisons)


def limit(then: Result) -> float:
    """The largest error that a cell may have now."""
    if then.error is None or not then.tolerance:
        return 0.0
    if then.cell.way == "differences":  # such errors and their changes are only rounding
        return max(WORSE * then.error, then.tolerance / LAMBDA)
    return max(WORSE * then.error, FLOOR * UNIT[then.cell.dtype])


def compare(
    baseline: Iterable[Result],
    listed: Mapping[Cell, int],
    results: Iterable[Result],
    devices: Container[str],
) -> tuple[list[str], list[str]]:
    """Lists the cells that are worse than in `baseline` and those that could not be compared, a line for each.

    Parameters
    ----------
    baseline : iterable of Result
        The stored cells.
    listed : mapping
        All cells that a full run would fill now, with the number of their cases.
    results : iterable of Result
        The cells computed now, perhaps fewer.
    devices : container of str
        The devices of this run. Other cells of the baseline are ignored, and those of ways that this run does
        not know: a clone has more ways than the installed package.
    """
    worse, notes = [], []
    ways = {cell.way for cell in listed}
    now = {result.cell: result for result in results}
    for then in baseline:
        cell = then.cell
        if cell.device not in devices or cell.way not in ways or then.status == ABSENT:
            continue
        found = now.get(cell)
        if cell not in listed:
            worse.append(f"{cell}: the cell disappeared")
        elif found is not None and found.status == ABSENT:
            notes.append(f"{cell}: {found.why}")
        elif listed[cell] < then.cases:
            worse.append(f"{cell}: {listed[cell]} cases, there were {then.cases}")
        elif found is not None and found.error is not None and then.error is not None and found.error > limit(then):
            allowed = f"more than {WORSE:g} times {then.error:.2g} ({then.at})"
            worse.append(f"{cell}: error {found.error:.2g} ({found.at}), {allowed}")
    return worse, notes
