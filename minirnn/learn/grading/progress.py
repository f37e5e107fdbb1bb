"""How far grading has come, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

INTERVAL = 30.0
"""Seconds between two lines of output without a terminal."""


class Progress:
    """Counts graded submissions; prints each score, and from time to time the time left.

    Parameters
    ----------
    most : int
        How many there are to grade.
    workers : int
        How many are graded at the same time.
    """

    def __init__(
        self,
        most: int,
        out: TextIO | None = None,
        told: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self.done = most, 0
        self.out, self.told, self.clock = out or sys.stdout, told or sys.stderr, clock
        self.begun = self.last = clock()
        self.live = self.told.isatty()

    def add(self, line: str) -> None:
        """Count one more graded submission; `line` is its score in words."""
        self.done += 1
        self._clear()
        print(line, file=self.out, flush=True)
        moment = self.clock()
        if self.live:
            self.told.write(f"  {self}")
            self.told.flush()
        elif moment - self.last >= INTERVAL:
            self.last = moment
            print(self, file=self.told, flush=True)

    def close(self) -> None:
        self._clear()

    def _clear(self) -> None:
        if self.live:
            self.told.write("\r\x1b[K")
            self.told.flush()

    def __str__(self) -> str:
        return f"{self.done} of {self.most} graded{f', about {self.left()} left' if self.done < self.most else ''}"

    def left(self) -> str:
        """The time that the rest will take at the present speed."""
        seconds = (self.clock() - self.begun) / max(1, self.done) * (self.most - self.done)
        if seconds < 90:
            return f"{seconds:.0f} s"
        return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
