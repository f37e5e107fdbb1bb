"""Whole answers in the styles of different people: loops, einsum, gate by gate, one expression.

Each begins with ``=== exNN name | expected diagnosis``, which is empty for right ones. `telling.txt` has mistakes that
were once not recognized, and `wrong.txt` and `kernels.txt` have other mistakes. `right.txt` has right but unusual
answers. `plain.txt` has right ones as most people write them, in which the mistakes of `numpy.txt` and `cuda.txt` are
replacements.
"""

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "whole"


class Answer(NamedTuple):
    """An answer: its exercise, name, expected diagnosis and text."""

    exercise: str
    name: str
    says: str
    text: str


def answers(file: str) -> list[Answer]:
    """The answers of a file of this folder."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    found = re.findall(r"^=== (ex\d\d) (\S+) \| (.*)\n((?:(?!=== ).*\n)*)", text, re.M)
    return [Answer(*one) for one in found]
