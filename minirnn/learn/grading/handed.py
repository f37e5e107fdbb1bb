"""A submission as grading needs it: the bytes of the exercises' files, and notes about the rest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

MOST_FILE = 1 << 20
"""The most bytes of a file."""
MOST_PACKED = 64 << 20
"""The most bytes of a zip file in a folder or another zip file."""
MOST_OPENED = 8
"""Zip files in a submission that are opened."""
MOST_TOGETHER = 8 << 20
"""The most bytes of all graded files together."""
MOST_NAMES = 200_000
"""The most files and folders that are examined."""
MOST_NOTES = 20


@dataclass(frozen=True)
class Handed:
    """A submission.

    Attributes
    ----------
    files : dict
        The files of the exercises by id.
    notes : tuple of str
        What the student is told about what was found, such as a file that was ignored.
    reasons : dict
        Why the file of an exercise is missing, by id, where that is known.
    problem : str
        Why nothing can be graded; empty if something can.
    hints : dict
        How many hints the student used, by id, as the course folder says. It is no part of the digest.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    hints: dict[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A hash that shows whether something else was handed in since."""
        found = hashlib.sha256(repr((self.notes, sorted(self.reasons.items()), self.problem)).encode())
        for id, data in sorted(self.files.items()):
            found.update(f"{id} {len(data)}\n".encode() + data)
        return found.hexdigest()[:16]
