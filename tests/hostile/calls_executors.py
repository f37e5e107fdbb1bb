"""Wrong calls of executors: texts that name none, and functions that cannot be called."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minirnn.executors import open_executor, outcomes
from tests.hostile.wrong_call import Wrong, wrong

POOL = ThreadPoolExecutor(1)


def entered(text: Any, **options: Any) -> None:
    """Errors come when the block is entered."""
    with open_executor(text, **options):
        raise AssertionError("entered")


entered.__name__ = "open_executor"

ROWS: list[Wrong] = [
    wrong("open_executor: a number", "got 4 & threads[:N]", entered, 4),
    wrong("open_executor: None", "got None & dask:ADDRESS", entered, None),
    wrong("open_executor: nothing", "got '' & processes[:N]", entered, ""),
    wrong("open_executor: a typing mistake", "'threds:4' & likely 'threads' is meant", entered, "threds:4"),
    wrong("open_executor: one thread", "'thread:4' & likely 'threads' is meant", entered, "thread:4"),
    wrong("open_executor: another word", "'distributed:h:1' & likely 'dask' is meant", entered, "distributed:h:1"),
    wrong("open_executor: capitals", "likely 'mpi' is meant", entered, "MPI"),
    wrong("open_executor: an address alone", "'tcp://head:8786' & dask:ADDRESS", entered, "tcp://head:8786"),
    wrong("open_executor: no workers", "1 .. 4096", entered, "threads:0"),
    wrong("open_executor: a negative number", "'processes:-2' & 1 .. 4096", entered, "processes:-2"),
    wrong("open_executor: half a worker", "'threads:1.5' & whole number", entered, "threads:1.5"),
    wrong("open_executor: too many workers", "1 .. 4096", entered, "threads:99999"),
    wrong("open_executor: a number of 10000 digits", "1 .. 4096", entered, "threads:" + "9" * 10000),
    wrong("open_executor: other digits", "1 .. 4096", entered, "threads:\u0664"),
    wrong("open_executor: the number left out", "1 .. 4096", entered, "threads:"),
    wrong("open_executor: a word for the number", "'processes:all' & whole number", entered, "processes:all"),
    wrong("open_executor: Dask without an address", "no address & dask:tcp://head:8786", entered, "dask"),
    wrong("open_executor: Dask with half an address", "no address & dask:tcp://head:8786", entered, "dask:"),
    wrong("open_executor: ranks counted here", "mpi alone & mpiexec -n N", entered, "mpi:4"),
    wrong("open_executor: no patience", "patience is 0 & more than 0", entered, "threads", patience=0),
    wrong("open_executor: patience in words", "patience is 'long' & seconds", entered, "threads", patience="long"),
    wrong(
        "outcomes: a text for the executor", "executor is 'threads:4' & open_executor", outcomes, "threads:4", abs, []
    ),
    wrong("outcomes: None for the executor", "executor is None & open_executor", outcomes, None, abs, []),
    wrong("outcomes: no function", "function is 3 & of one task", outcomes, POOL, 3, []),
    wrong("outcomes: a number for the tasks", "tasks is 3 & iterable", outcomes, POOL, abs, 3),
    wrong("outcomes: no tries", "tries is 0 & 1 or more", outcomes, POOL, abs, [], tries=0),
    wrong("outcomes: tries as a bool", "tries is True & an integer", outcomes, POOL, abs, [], tries=True),
    wrong("outcomes: ahead by half a task", "ahead is 0.5 & an integer", outcomes, POOL, abs, [], ahead=0.5),
]
