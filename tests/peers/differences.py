"""The second table of docs/disagreements.md: where results of minirnn differ from torch's on torch's own samples."""

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "disagreements.md"
KINDS = {"value", "dtype", "shape", "structure", "gradient", "second", "refused", "accepted"}


@cache
def rows() -> list[tuple[list[str], list[str], list[str]]]:
    """The names, the words, and the texts of which a sample must contain one; no text holds for all samples."""
    _, _, part = PAGE.read_text(encoding="utf-8").partition("\n## torch\n")
    found = []
    for line in [line for line in part.splitlines() if line.startswith("| `")]:
        names, kinds, where, *_ = line.strip("| ").split(" | ")
        found.append((re.findall(r"`([^`]+)`", names), kinds.split(", "), re.findall(r"`([^`]+)`", where)))
        assert set(found[-1][1]) <= KINDS, line
    return found


def is_documented(name: str, kind: str, text: str) -> bool:
    """Whether a row describes this difference; `text` has the dtype, the arguments and the message."""
    return any(
        kind in kinds and any(fnmatchcase(name, n) for n in names) and (not where or any(w in text for w in where))
        for names, kinds, where in rows()
    )
