"""The ranks that compute together, as a program sees them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.parallel.communicator import Alone, Communicator
from minirnn.parallel.mpi import Mpi, launched
from minirnn.parallel.sums import tree_sum
from minirnn.parallel.threads import run_ranks

REDUCTIONS: dict[str, Callable[[list[np.ndarray]], np.ndarray]] = {
    "sum": tree_sum,
    "mean": lambda parts: tree_sum(parts) / len(parts),
    "max": lambda parts: np.maximum.reduce(parts),
    "min": lambda parts: np.minimum.reduce(parts),
}
"""The operations of `World.all_reduce`; sums are added in the order of the tree of `minirnn.parallel.sums`."""


class World:
    """The ranks that compute together: every method except `rows` and `now` is collective, so all ranks must call it.

    Attributes
    ----------
    rank, size : int
        The number of this rank, 0 .. size-1, and the number of ranks.
    local_rank : int
        The number of this rank among those on its machine.
    communicator : Communicator
        The transport of the messages.
    """

    def __init__(self, communicator: Communicator | None = None) -> None:
        self.communicator: Communicator = Alone() if communicator is None else communicator
        self.rank, self.size = self.communicator.rank, self.communicator.size
        self.local_rank = int(getattr(self.communicator, "local_rank", 0))
        self._start = time.perf_counter()

    def rows(self, B: int, unit: int = 1) -> slice:
        """This rank's rows of a batch of B: contiguous, as equal as possible, in whole units of `unit` rows.

        A rank may get none. Rows that do not fill a unit go to the last rank.
        """
        B, unit = check.integer("rows", "B", B, 0), check.integer("rows", "unit", unit, 1)
        units = B // unit
        lo, hi = (units * r // self.size * unit for r in (self.rank, self.rank + 1))
        return slice(lo, B if self.rank == self.size - 1 else hi)

    def shards(self, count: int) -> range:
        """This rank's part of `count` shards. Raises ValueError unless the ranks divide them evenly."""
        count = check.integer("shards", "count", count, 1)
        if count % self.size:
            raise ValueError(
                f"shards: {count} shards on {self.size} ranks\n"
                f"  expected the same number on every rank: a multiple of {self.size}"
            )
        own = count // self.size
        return range(self.rank * own, (self.rank + 1) * own)

    def all_reduce(self, array: Any, op: str = "sum") -> np.ndarray:
        """The sum, mean, max or min over all ranks of an array of one shape and dtype, the same bits on every rank."""
        check.choice("all_reduce", "op", op, tuple(REDUCTIONS))
        array = np.asarray(array)
        parts = [np.asarray(part) for part in self.communicator.all_gather(array)]
        if len({(part.shape, part.dtype) for part in parts}) > 1:
            found = ", ".join(f"rank {r}: {part.dtype} {part.shape}" for r, part in enumerate(parts))
            raise ValueError(f"all_reduce: got {found}\n  expected one shape and dtype")
        return np.asarray(REDUCTIONS[op](parts))

    def all_gather(self, value: Any) -> list[Any]:
        """The objects of all ranks, in the order of ranks. They must be picklable."""
        return self.communicator.all_gather(value)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """The object of rank `root`; those of the others are ignored."""
        root = check.integer("broadcast", "root", root, 0)
        if root >= self.size:
            raise ValueError(f"broadcast: root is {root}\n  expected a rank, 0 .. {self.size - 1}")
        return self.communicator.broadcast(value, root)

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.communicator.all_gather(None)

    def now(self) -> float:
        """Seconds since this world began; every rank has its own clock."""
        return time.perf_counter() - self._start

    def __repr__(self) -> str:
        return f"World(rank={self.rank}, size={self.size})"


_world: World | None = None


def init() -> World:
    """The world of this process: all ranks that mpiexec or srun started, or this one alone.

    Without a launcher mpi4py is not imported. With one, an uncaught exception ends all ranks; otherwise the others
    would wait forever. Raises ImportError if a launcher started this process, and mpi4py is missing: ``pip install
    "minirnn[parallel]"``.
    """
    global _world
    if _world is None:
        _world = World(Mpi() if launched() else None)
    return _world


def simulate(function: Callable[[World], Any], size: int) -> list[Any]:
    """Call ``function(world)`` once for each rank, in threads of this process: for tests and lessons without MPI.

    Parameters
    ----------
    function : callable
        The program of every rank. Each has its own random stream (`minirnn.manual_seed`), as processes have.
    size : int
        The number of ranks, 1 or more.

    Returns
    -------
    list
        The results of the calls, in the order of ranks.
    """
    size = check.integer("simulate", "size", size, 1)
    if not callable(function):
        raise TypeError(f"simulate: function is {shown(function)}\n  expected a callable that takes a World")
    return run_ranks(lambda communicator: function(World(communicator)), size)
