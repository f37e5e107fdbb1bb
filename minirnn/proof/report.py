"""The table for readers on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from minirnn.proof.table import ABSENT, FAILED, PASSED, WAYS, Result, row_of

DOES_NOT_APPLY = "-"


def text(results: Sequence[Result], devices: dict[str, str]) -> str:
    """A table for each device: ops as rows, ways as columns; an entry has worst error / tolerance and the number of
    comparisons.
    """
    blocks = []
    for device, rows in by_device(results):
        if all(r.status == ABSENT for r in rows):
            continue  # the summary gives the reason
        lines = table_of(rows)
        width = max(len(op) for op, *_ in lines)
        shown = [f"{op:{width}}" + "".join(f"{field:>18}" for field in fields) for op, *fields in lines]
        blocks.append("\n".join([f"{device}: {devices[device]}", *shown]))
    return "\n\n".join([*blocks, *([legend(results)] if blocks else []), summary(results)])


def legend(results: Sequence[Result]) -> str:
    """The meaning of the entries and columns of the tables."""
    ways = ways_of([r for r in results if r.status != ABSENT])
    return "\n".join(
        [
            "each entry: the worst error, as a fraction of what rounding may cause (above 1: failed; 0: exact),",
            f"and in parentheses the number of comparisons; {DOES_NOT_APPLY}: there is no such comparison",
            *(f"  {way:{max(map(len, ways))}}  {WAYS[way]}" for way in ways),
        ]
    )


def table_of(rows: Sequence[Result]) -> list[list[str]]:
    """The fields of a table: a line of ways, and for each op a line with its name and an entry for each way."""
    ways = ways_of(rows)
    lines = [["", *ways]]
    for op in ops_of(rows):
        fields = {way: entry([r for r in rows if r.cell.op == op and r.cell.way == way]) for way in ways}
        lines.append([op, *fields.values()])
    return lines


def summary(results: Sequence[Result]) -> str:
    """The cells that failed, those that are not available and why, and how many passed."""
    lines = [f"FAILED {r.cell}: {'; '.join(r.why.splitlines())}" for r in results if r.status == FAILED]
    absent = [r for r in results if r.status == ABSENT]
    for device, why in dict.fromkeys((r.cell.device, r.why) for r in absent):
        cells = [r for r in absent if (r.cell.device, r.why) == (device, why)]
        where = f"{device}, {', '.join(ways_of(cells))} ({len(cells)} cells)"
        lines.append(f"not available: {where}: {'; '.join(why.splitlines())}")
    counts = {status: sum(r.status == status for r in results) for status in (PASSED, FAILED, ABSENT)}
    compared = sum(r.cases for r in results if r.status != ABSENT)
    said = ", ".join(f"{n} {status}" for status, n in counts.items())
    return "\n".join([*lines, f"{len(results)} cells: {said}; {compared} comparisons"])


def entry(cells: Sequence[Result]) -> str:
    """One field of the table."""
    if not cells:
        return DOES_NOT_APPLY
    if any(r.status == FAILED for r in cells):
        return FAILED
    found = [r for r in cells if r.status == PASSED]
    if not found:
        return ABSENT
    worst = max(r.ratio for r in found)
    return f"{short(worst)} ({sum(r.cases for r in found)})"


def short(ratio: float) -> str:
    """A ratio with two digits; 0 means exact results."""
    return "0" if ratio == 0 else f"{ratio:.2g}" if isfinite(ratio) else "inf"


def by_device(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    """The cells of each device."""
    devices = dict.fromkeys(r.cell.device for r in results)
    return [(device, [r for r in results if r.cell.device == device]) for device in devices]


def ops_of(results: Iterable[Result]) -> list[str]:
    """The rows that these cells fill, in the order of the table."""
    return sorted({r.cell.op for r in results}, key=row_of)


def ways_of(results: Iterable[Result]) -> list[str]:
    """The columns that these cells fill, in the order of the table."""
    used = {r.cell.way for r in results}
    return [way for way in WAYS if way in used]
