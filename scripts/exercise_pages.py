"""The table of exercises, which the site's build writes. An exercise names its tutorial in course.toml."""

from __future__ import annotations

from pathlib import Path

from minirnn.learn.course import Course, Entry, load

ROOT = Path(__file__).parents[1]


def tutorials() -> dict[int, Path]:
    """The tutorials by their numbers."""
    return {int(path.name[:2]): path for path in sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))}


def table(course: Course) -> str:
    """The exercises, chapter by chapter."""
    files = tutorials()
    lines = ["| | | you write | points | read before | needs |", "|---|---|---|---|---|---|"]
    for number, (chapter, entries) in enumerate(course.chapters.items(), 1):
        lines.append(f"| **{number}** | **{chapter}** | | | | |")
        lines += [row(entry, files.get(entry.tutorial)) for entry in entries]
    return "\n".join(lines) + "\n"


def row(entry: Entry, tutorial: Path | None) -> str:
    link = f"[tutorial {entry.tutorial}](tutorials/{tutorial.stem})" if tutorial else ""
    points = f"{entry.points} + {entry.hidden}"
    needs = ", ".join(entry.needs)
    return f"| {entry.id} | {entry.title} | `{entry.exercise.function}` | {points} | {link} | {needs} |"


def write(path: Path) -> None:
    """Write the table for the site."""
    path.write_text(table(load()), encoding="utf-8")
