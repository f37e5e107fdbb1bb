"""The change to a student's kernel that makes it right: its line, and what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minirnn.learn.calls import value_of
from minirnn.learn.cause import told
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import PUBLIC_CASES, CudaExercise, Sizes
from minirnn.learn.judge import Failed, compare, outputs_of
from minirnn.learn.repair import Change
from minirnn.learn.sandbox.kernel_changes import CHOICE, MOST
from minirnn.learn.sandbox.parent import ORDERS, Child

SECONDS = 3.0
"""The time limit for running all changes, because one may make a kernel wait forever."""


def kernel_repair(exercise: CudaExercise, child: Child, text: str, types: bool = False) -> Diagnosis | None:
    """The first change with which the kernel gives the right numbers in every case and order of threads.

    With `types`, only the types of variables are changed, because no formula explains their numbers as well.
    """
    with child.changed("types" if types else "all", SECONDS) as other:
        loaded = other.wait()
        if loaded.fatal or loaded.error:
            return None
        for change, name, number in rows_of(loaded.changes, text):
            if repairs(exercise, other, name, number):
                return told(text, [change])
            if other.session.status is not None:  # it did not end by itself, or it ended the process
                return None
    return None


def rows_of(rows: Sequence[Any], text: str) -> Iterator[tuple[Change, str, int]]:
    """The changes that the answer's process lists, with their kernels and numbers. Malformed rows are skipped."""
    for row in rows[:MOST]:
        match row:
            case [int(start), int(end), str(says), int(rank), str(name), int(number)] if (
                0 <= start <= end <= len(text) and name and abs(number) < 1 << 31
            ):
                yield placed(text, start, end, says[:300], rank), name, number


def repairs(exercise: CudaExercise, child: Child, name: str, number: int) -> bool:
    """Whether a changed kernel is right."""
    cases: Sequence[tuple[Sequence[int], Sizes]] = [([0, k], sizes) for k, sizes in PUBLIC_CASES]
    for seed, sizes in cases:
        inputs = exercise.case(seed, sizes)
        expected = exercise.expected(inputs)
        grid, block = exercise.launch(inputs)
        for order in ORDERS:
            message = {"arguments": {**inputs, CHOICE: np.int32(number)}, "order": order, "grid": list(grid),
                       "block": list(block), "outputs": list(exercise.outputs), "counted": False,
                       "function": name}  # fmt: skip
            try:
                got = outputs_of(exercise, value_of(child.call(message), exercise))
            except Failed:
                return False
            if not all(part.ok for part in compare(exercise, expected, got)):
                return False
    return True


def placed(text: str, start: int, end: int, says: str, rank: int) -> Change:
    """The change, with its line and columns."""
    row = text.count("\n", 0, start)
    lead = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", lead)
    columns = [len(text[lead:place].encode()) for place in (start, min(end, stop if stop >= 0 else len(text)))]
    return Change(0, row + 1, columns[0], columns[1], says, rank, "")
