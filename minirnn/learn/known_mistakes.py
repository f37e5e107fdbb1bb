"""Diagnoses that were found before, because the same wrong numbers always have the same cause.

All students get the same inputs, and many make the same mistake. Finding a cause takes longer than everything else that
the judge does.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import Exercise
from minirnn.learn.judge import Case
from minirnn.learn.sandbox import protocol

MOST = 1000
"""How many diagnoses are kept. Each is a few kilobytes."""


class KnownMistakes:
    """Diagnoses by exercise and by what the answer returned."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[int, bytes], tuple[Exercise, Diagnosis | None]] = OrderedDict()
        self._lock = threading.Lock()

    def diagnosis(
        self, exercise: Exercise, cases: Sequence[Case], find: Callable[[], Diagnosis | None]
    ) -> Diagnosis | None:
        """The diagnosis of these cases. ``find()`` computes it if they are new."""
        key = id(exercise), fingerprint(cases)  # the exercise is also kept, so that its id() is not reused
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key][1]
        found = find()
        with self._lock:
            self._found[key] = exercise, found
            while len(self._found) > MOST:
                self._found.popitem(last=False)
        return found


def fingerprint(cases: Sequence[Case]) -> bytes:
    """A hash of the values that an answer returned in each case. The inputs are the same for all answers."""
    returned = [{"got": dict(case.got), "primed": dict(getattr(case, "primed", {}))} for case in cases]
    return hashlib.sha256(protocol.pack({"returned": returned})).digest()
