"""Which tests enter a segment, read from the records of the test files."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mutation.record import stored

Test = tuple[str, float]
"""The id of a test, and its time in seconds."""


def entries(root: Path, cache: Path, files: Iterable[str]) -> dict[str, list[Test]]:
    """The tests of the files that enter each segment."""
    found: dict[str, list[Test]] = defaultdict(list)
    for path in filter(Path.exists, (stored(cache, root, file) for file in files)):
        with np.load(path) as record:
            keys = str(record["keys"]).split("\n")
            tests = json.loads(str(record["tests"]))
            bits = np.unpackbits(record["bits"], axis=1, count=len(keys))
        for column, key in enumerate(keys):
            rows = (tests[row] for row in np.flatnonzero(bits[:, column]))
            found[key] += [(name, seconds) for name, seconds, outcome in rows if outcome == "passed"]
    return found


def affordable(tests: Iterable[Test], budget: float) -> list[Test]:
    """As many tests as fit in the budget of seconds: one case of each function first, then fast ones."""
    cases: Counter[str] = Counter()
    ranked = []
    for name, seconds in sorted(tests, key=lambda test: test[1]):
        function = name.partition("[")[0]
        ranked.append((min(cases[function], 2), seconds, name))
        cases[function] += 1
    chosen: list[Test] = []
    total = 0.0
    for _, seconds, name in sorted(ranked):
        if total + seconds <= budget or not chosen:
            total += seconds
            chosen.append((name, seconds))
    return chosen
