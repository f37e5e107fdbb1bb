"""The change to a student's kernel that makes it right: its line, and what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from minirnn.learn.calls import value_of
from minirnn.learn.catalog.cuda import CudaExercise
from minirnn.learn.cause import told
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import PUBLIC_CASES, Sizes
from minirnn.learn.judge import Failed, compare, outputs_of
from minirnn.learn.kernel_changes import CHOICE, KernelChange, changes, compiled_together, of_types
from minirnn.learn.repair import Change
from minirnn.learn.sandbox.parent import ORDERS, Child, Limits

TRIALS = 120
"""How many changes are tried."""
LIMITS = Limits(seconds=6.0)
"""For all of them together: a change may make a kernel wait for ever."""


def kernel_repair(exercise: CudaExercise, child: Child, text: str, types: bool = False) -> Diagnosis | None:
    """The first change with which the kernel gives the right numbers in every case and order of threads.

    With `types`, only the types of variables are changed: no formula explains their numbers as well.
    """
    some = of_types(text, exercise.function) + ([] if types else changes(text, exercise.function))[:TRIALS]
    if not some:
        return None
    whole, where = compiled_together(text, exercise.function, some)
    file = Path(child.folder) / "changed.cu"
    file.write_text(whole, encoding="utf-8")
    other = type(child)(file, child.shown, exercise.function, "cuda", LIMITS, secret=child.secret)
    try:
        loaded = other.wait()
        if loaded.fatal or loaded.error:
            return None
        for change, (name, number) in zip(some, where, strict=True):
            if name and repairs(exercise, other, name, number):
                return as_told(text, change)
            if other.session.status is not None:  # it did not end, or took the process with it
                return None
    finally:
        other.close()
    return None


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


def as_told(text: str, change: KernelChange) -> Diagnosis | None:
    """The change in words, with its line."""
    start, stop_at = change.mark or (change.start, change.end)
    row = text.count("\n", 0, start)
    lead = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", lead)
    end = min(stop_at, stop if stop >= 0 else len(text))
    columns = [len(text[lead:place].encode()) for place in (start, end)]
    return told(text, [Change(0, row + 1, columns[0], columns[1], change.says, change.rank, "")])
