"""Whole answers, in the styles that people have: loops, einsum, gate by gate, one expression.

Each begins with ``=== exNN name | what must be said``; of right ones nothing is said. Those of `telling.txt` go wrong
in ways that were once not told; `wrong.txt` and `kernels.txt` have the others, `right.txt` right but unusual ones.
`plain.txt` has right ones as most people write them: the mistakes of `numpy.txt` and `cuda.txt` are replacements there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "whole"


class Answer(NamedTuple):
    """An answer: its exercise, a name, what must be said, its text."""

    exercise: str
    name: str
    says: str
    text: str


def answers(file: str) -> list[Answer]:
    """The answers of a file of this folder."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    found = re.findall(r"^=== (ex\d\d) (\S+) \| (.*)\n((?:(?!=== ).*\n)*)", text, re.M)
    return [Answer(*one) for one in found]
