"""Finding the file and line of a place in preprocessed text, from the preprocessor's markers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

MARKER = re.compile(r'^# (\d+) "([^"]*)"([ \d]*)\n', re.MULTILINE)


class Markers:
    """The line markers of a text.

    Parameters
    ----------
    text : str
        The output of ``c++ -E``.
    own : str
        A folder whose files are not the user's: the simulator's headers.
    """

    def __init__(self, text: str, own: str = "") -> None:
        self.text, self.own = text, own
        self.markers = list(MARKER.finditer(text))
        self.starts = [marker.start() for marker in self.markers]
        self.begin = self._begin()

    def _begin(self) -> int:
        """The start of the user's text, after the simulator's headers that are included before every file."""
        own = [number for number, marker in enumerate(self.markers) if self._is_own(marker)]
        behind = self.markers[own[0] :] if own else []
        return next((marker.start() for marker in behind if self._is_users(marker)), 0)

    def _is_own(self, marker: re.Match[str]) -> bool:
        return bool(self.own) and marker.group(2).startswith(self.own)

    def _is_users(self, marker: re.Match[str]) -> bool:
        return "3" not in marker.group(3).split() and not self._is_own(marker)

    def before(self, position: int) -> re.Match[str] | None:
        """The last marker before a position."""
        number = bisect_right(self.starts, position)
        return self.markers[number - 1] if number else None

    def line(self, position: int) -> str:
        """``file:line`` of a position."""
        marker = self.before(position)
        if marker is None:
            return f"line {self.text.count(chr(10), 0, position) + 1}"
        return f"{marker.group(2)}:{int(marker.group(1)) + self.text.count(chr(10), marker.end(), position)}"

    def users(self) -> Iterator[tuple[int, int]]:
        """The start and end of each piece of the user's files, without headers of the system or the simulator, which
        are most of a text.
        """
        ends = [*self.starts, len(self.text)]
        yield 0, ends[0]
        for marker, end in zip(self.markers, ends[1:], strict=True):
            if self._is_users(marker):
                yield marker.end(), end

    def headers(self) -> Iterator[tuple[int, int, str, bool]]:
        """The start and end of each piece of the simulator's and the system's headers, its file, and whether it is the
        system's.
        """
        for marker, end in zip(self.markers, [*self.starts, len(self.text)][1:], strict=True):
            if not self._is_users(marker):
                yield marker.end(), end, marker.group(2), not self._is_own(marker)

    def is_users(self, position: int) -> bool:
        """Whether a place is in a file of the user."""
        marker = self.before(position)
        return marker is None or self._is_users(marker)
