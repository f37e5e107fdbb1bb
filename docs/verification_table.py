"""The page "How every op is verified": the stored tables of ``python -m tests.verified`` in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minirnn.proof import report
from minirnn.proof import table as tables

STORED = Path(__file__).parent / "data" / "verify"


def files() -> list[Path]:
    """The stored tables, that of `cpu` and `cuda-sim` first."""
    return sorted(STORED.glob("*.json"), key=lambda path: (path.stem != "cpu_cuda-sim", path.stem))


def table() -> str:
    """Worst error / tolerance of every op in every way, for each device."""
    parts = []
    for path in files():
        head, results = tables.read(path)
        compared = sum(r.cases for r in results if r.status != tables.ABSENT)
        parts.append(markdown(head, results))
        used = f"NumPy {head['numpy']}" + (f" and torch {head['torch']}" if head["torch"] else "")
        parts.append(
            f"`docs/data/verify/{path.name}`: {compared} comparisons in {len(results)} cells, by minirnn"
            f" {head['minirnn']} with {used}.\n"
        )
    return "\n".join(parts)


def tolerances() -> str:
    """The tolerances that were nearest to being missed, and how they arise."""
    return tolerances_of([result for path in files() for result in tables.read(path)[1]])


def markdown(head: dict[str, Any], results: Sequence[tables.Result]) -> str:
    """The same tables for the documentation."""
    parts = []
    for device, rows in report.by_device(results):
        if all(r.status == tables.ABSENT for r in rows):
            parts.append(f"`{device}`: {head['devices'][device]}.")
            continue
        (_, *ways), *lines = report.table_of(rows)
        shown = [f"| op | {' | '.join(ways)} |", "|---" * (len(ways) + 1) + "|"]
        shown += [f"| {named(op)} | {' | '.join(fields)} |" for op, *fields in lines]
        parts.append("\n".join([f"On `{device}` ({head['devices'][device]}):", "", *shown]))
    return "\n\n".join(parts) + "\n"


def tolerances_of(results: Sequence[tables.Result]) -> str:
    """For each op and dtype the cell that came nearest to its tolerance, in Markdown."""
    lines = ["| op | dtype | error | tolerance | why this tolerance | where |", "|---" * 6 + "|"]
    for op in report.ops_of(results):
        for dtype in ("float64", "float32", "float16"):
            found = [r for r in results if r.cell.op == op and r.cell.dtype == dtype and r.tolerance]
            if found:
                r = max(found, key=lambda r: r.ratio)
                where = f"{r.cell.device}, {r.cell.way}: {r.cell.variant}, {r.at}"
                lines.append(f"| {named(op)} | {dtype} | {r.error:.1e} | {r.tolerance:.1e} | {r.reason} | {where} |")
    return "\n".join(lines) + "\n"


def named(op: str) -> str:
    """The name of a row in Markdown."""
    return op if op in ("primitives", "functional") else f"`{op}`"


def ways() -> str:
    """What the columns mean."""
    return "".join(f"- **{way}**: {meaning}\n" for way, meaning in tables.WAYS.items())


def write(path: Path) -> None:
    """Write the parts of the page next to each other: `path`, and two files whose names begin like it."""
    for suffix, text in (("", table()), ("_tolerances", tolerances()), ("_ways", ways())):
        path.with_name(f"{path.stem}{suffix}{path.suffix}").write_text(text, encoding="utf-8")
