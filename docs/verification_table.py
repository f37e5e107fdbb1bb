"""The page "How every op is verified": the stored tables of ``minirnn verify`` in Markdown."""

from __future__ import annotations

from pathlib import Path

from minirnn.proving import report
from minirnn.proving import table as tables

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
        parts.append(report.markdown(head, results))
        used = f"NumPy {head['numpy']}" + (f" and torch {head['torch']}" if head["torch"] else "")
        parts.append(
            f"`docs/data/verify/{path.name}`: {compared} comparisons in {len(results)} cells, by minirnn"
            f" {head['minirnn']} with {used}.\n"
        )
    return "\n".join(parts)


def tolerances() -> str:
    """The tolerances that were nearest to being missed, and how they arise."""
    return report.tolerances([result for path in files() for result in tables.read(path)[1]])


def ways() -> str:
    """What the columns mean."""
    return "".join(f"- **{way}**: {meaning}\n" for way, meaning in tables.WAYS.items())


def write(path: Path) -> None:
    """Write the parts of the page next to each other: `path`, and two files whose names begin like it."""
    for suffix, text in (("", table()), ("_tolerances", tolerances()), ("_ways", ways())):
        path.with_name(f"{path.stem}{suffix}{path.suffix}").write_text(text, encoding="utf-8")
