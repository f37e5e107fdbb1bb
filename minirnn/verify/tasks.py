"""The comparisons of the table as tasks that can be sent to other processes: by name, and made there.

A comparison holds functions that cannot be pickled, so a worker lists all comparisons itself, once, and finds those
that a task names. Neighbors that share inputs and reference values travel together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from minirnn._version import __version__
from minirnn.executors import outcomes
from minirnn.proving.table import Cell, Comparison, Finding, made
from minirnn.verify.comparisons import all_comparisons

Key = tuple[Cell, str]
"""A cell and a case: the name of a comparison."""
Devices = tuple[tuple[str, str | None], ...]

_one_at_a_time = threading.Lock()
"""A device counts what it did, and a comparison reads these counts: threads take turns."""


class Task(NamedTuple):
    """Some comparisons, by name."""

    minirnn: str
    """The version that named them."""
    devices: Devices
    golden: str | None
    keys: tuple[Key, ...]


def do(task: Task) -> list[Finding | str]:
    """Make the comparisons that a task names. The worker's part."""
    if task.minirnn != __version__:
        raise ValueError(f"the worker has minirnn {__version__}\n  expected {task.minirnn}, as where the table is made")
    with _one_at_a_time:
        known = listed(task.devices, task.golden)
        return [made(known[key]) for key in task.keys]


@lru_cache(maxsize=1)
def listed(devices: Devices, golden: str | None) -> Mapping[Key, Comparison]:
    """All comparisons by name."""
    return {(one.cell, one.case): one for one in all_comparisons(dict(devices), Path(golden) if golden else None)}


def tasks(
    comparisons: Iterable[Comparison],
    devices: Mapping[str, str | None],
    labels: Mapping[str, str],
    golden: Path | None,
) -> Iterator[Task]:
    """The comparisons that can run as tasks; `labels` is what the table calls devices."""
    names = {label: name for name, label in labels.items()}
    where, place = tuple(devices.items()), None if golden is None else str(golden.resolve())
    able = [one for one in comparisons if one.run is not None]
    for _, group in groupby(able, key=lambda one: (one.cell.op, one.cell.variant, one.case)):
        keys = tuple((replace(one.cell, device=names[one.cell.device]), one.case) for one in group)
        yield Task(__version__, where, place, keys)


def by_workers(
    executor: Executor,
    comparisons: list[Comparison],
    devices: Mapping[str, str | None],
    labels: Mapping[str, str],
    golden: Path | None,
) -> Callable[[Comparison], Finding | str]:
    """Have workers make all comparisons; the function that `minirnn.verify.comparisons.compute` asks for each."""
    found: dict[Key, Finding | str] = {}
    work = list(tasks(comparisons, devices, labels, golden))
    count = sum(len(task.keys) for task in work)
    with tqdm(total=count, unit=" checks", disable=not sys.stderr.isatty(), leave=False) as bar:
        for outcome in outcomes(executor, do, work):
            keys = outcome.task.keys
            told = outcome.result or [f"{type(outcome.error).__name__}: {outcome.error}"] * len(keys)
            for (cell, case), one in zip(keys, told, strict=True):
                found[replace(cell, device=labels[cell.device]), case] = one
            bar.update(len(keys))
    return lambda one: one.absent if one.run is None else found[one.cell, one.case]
