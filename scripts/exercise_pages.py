#!/usr/bin/env python3
"""The parts of the docs about exercises: their table, which the site's build writes, and the chapters' last lines.

    python scripts/exercise_pages.py            # write what has changed
    python scripts/exercise_pages.py --check    # say what would be written; exit status 1 if that is anything

An exercise names its tutorial in course.toml (`tutorial = 3`). The last paragraph of that tutorial, which begins with
"Then write it yourself", must name the exercise; if it does, its wording is left alone.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from minirnn.learn.course import Course, Entry, load

ROOT = Path(__file__).parents[1]
CLOSING = "Then write it yourself"
NAMES = ("Adam",)


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


def write(path: Path) -> None:
    """Write the table for the site."""
    path.write_text(table(load()), encoding="utf-8")


def row(entry: Entry, tutorial: Path | None) -> str:
    link = f"[tutorial {entry.tutorial}](tutorials/{tutorial.stem})" if tutorial else ""
    points = f"{entry.points} + {entry.hidden}"
    needs = ", ".join(entry.needs)
    return f"| {entry.id} | {entry.title} | `{entry.exercise.function}` | {points} | {link} | {needs} |"


def closing(entries: list[Entry]) -> str:
    """The last lines of a tutorial, as a comment."""
    names = [f"``{entry.id}`` ({lowered(entry.title)})" for entry in entries]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    word = "exercise" if len(names) == 1 else "exercises"
    text = f"{CLOSING}: :doc:`{word} </exercises>` {listed}."
    lines = textwrap.wrap(text, 116, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def lowered(title: str) -> str:
    """A title for the middle of a sentence, in which names keep their capital letters."""
    return title if title[1:2].isupper() or title in NAMES else title[:1].lower() + title[1:]


def ended(text: str, entries: list[Entry]) -> str:
    """A tutorial's text with a last paragraph that names `entries`."""
    found = re.search(rf"^# {CLOSING}.*\n(?:# .*\n)*", text, flags=re.MULTILINE)
    if found is None:
        return f"{text.rstrip()}\n#\n{closing(entries)}"
    if all(f"``{entry.id}``" in found[0] for entry in entries):
        return text
    return text[: found.start()] + closing(entries) + text[found.end() :]


def changes() -> Iterator[tuple[Path, str]]:
    """The outdated files, with their new text."""
    course = load()
    for number, path in tutorials().items():
        entries = [entry for entry in course.entries.values() if entry.tutorial == number]
        text = path.read_text(encoding="utf-8")
        if entries and (new := ended(text, entries)) != text:
            yield path, new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    found = list(changes())
    for path, text in found:
        print(path.relative_to(ROOT))
        if not args.check:
            path.write_text(text, encoding="utf-8")
    return 1 if args.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
