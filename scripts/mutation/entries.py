"""Which tests enter a segment, read from the records of the test files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from mutation.record import stored

Test = tuple[str, float]
"""The id of a test, and its time in seconds."""


class Entries:
    """The records of many test files."""

    def __init__(self) -> None:
        self.read_files: set[tuple[str, str]] = set()
        self.found: dict[str, dict[str, list[Test]]] = {"default": {}, "slow": {}}

    def read(self, root: Path, cache: Path, layer: str, files: Iterable[str]) -> None:
        for file in files:
            path = stored(cache, root, layer, file)
            if (layer, file) in self.read_files or not path.exists():
                continue
            self.read_files.add((layer, file))
            with np.load(path) as record:
                keys = str(record["keys"]).split("\n")
                tests = json.loads(str(record["tests"]))
                bits = np.unpackbits(record["bits"], axis=1, count=len(keys))
            for column, key in enumerate(keys):
                known = self.found[layer].setdefault(key, [])
                known += [(tests[row][0], tests[row][1]) for row in np.flatnonzero(bits[:, column])
                          if tests[row][2] == "passed"]  # fmt: skip

    def tests(
        self, segment: str, layer: str, first: tuple[str, ...], budget: float, shown: Collection[str] = ()
    ) -> list[Test]:
        """The tests of a layer that enter a segment, as many as fit in the budget of seconds.

        If the segment ends in a colon, it stands for its whole file. Tests of the room itself come first, with one case
        of each test function before the others, and faster tests before slower ones. Tests that were already `shown`
        are omitted.
        """
        known = self.found[layer]
        if segment.endswith(":"):
            entering = {test for key, tests in known.items() if key.startswith(segment) for test in tests}
        else:
            entering = set(known.get(segment, ()))
        cases: dict[str, int] = {}
        ranked = []
        for name, seconds in sorted((test for test in entering if test[0] not in shown), key=lambda test: test[1]):
            function = name.partition("[")[0]
            cases[function] = cases.get(function, 0) + 1
            ranked.append((not name.startswith(first), min(cases[function] - 1, 2), seconds, name))
        chosen: list[Test] = []
        total = 0.0
        for _, _, seconds, name in sorted(ranked):
            if total + seconds <= budget or not chosen:
                total += seconds
                chosen.append((name, seconds))
        return chosen
