"""Ranks as processes that MPI started: ``mpiexec -n 4 python program.py``, over mpi4py.

MPI must be told when a program fails: without `_abort`, an exception on one rank would leave the others waiting
forever.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType
from typing import Any

import numpy as np

from minirnn.parallel.communicator import Wait

SIZES = ("PMI_SIZE", "PMIX_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def launched() -> bool:
    """Whether a launcher of MPI (mpiexec, srun) started this process."""
    return any(name in os.environ for name in RANKS)


def launched_size() -> int | None:
    """The number of ranks that the launcher reports; None if it reports nothing."""
    for name in SIZES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


class Mpi:
    """This process among those that mpiexec started. Raises ImportError if mpi4py or an MPI library is missing."""

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise ImportError(
                f"minirnn.parallel: mpi4py cannot be used: {error}\n"
                '  install it, and an MPI with it: pip install "minirnn[parallel]"'
            ) from error
        self.MPI = MPI
        # a separate communicator, so that messages of user code are not mistaken for ours
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self.comm.rank, self.comm.size
        here = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.local_rank = here.rank
        here.Free()
        sys.excepthook = self._excepthook

    def all_gather(self, value: Any) -> list[Any]:
        return list(self.comm.allgather(value))

    def broadcast(self, value: Any, root: int) -> Any:
        return self.comm.bcast(value, root)

    def start_sum(self, buffer: np.ndarray) -> Wait:
        request = self.comm.Iallreduce(self.MPI.IN_PLACE, buffer, self.MPI.SUM)
        return lambda: request.wait()

    def start_exchange(self, parts: list[np.ndarray], received: list[np.ndarray]) -> Wait:
        requests = [self.comm.Irecv(target, source) for source, target in enumerate(received) if target.size]
        requests += [self.comm.Isend(part, target) for target, part in enumerate(parts) if part.size]
        return lambda: self.MPI.Request.Waitall(requests)

    def join(self, part: np.ndarray, received: list[np.ndarray]) -> None:
        counts = [a.size for a in received]
        flat = np.empty(sum(counts), part.dtype)
        self.comm.Allgatherv(part, [flat, counts])
        for target, piece in zip(received, np.split(flat, np.cumsum(counts)[:-1]), strict=True):
            target[...] = piece.reshape(target.shape)

    def abort(self, status: int) -> None:
        sys.stderr.flush()
        self.comm.Abort(status)

    def _excepthook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        print(f"rank {self.rank} of {self.size} failed, so all ranks end", file=sys.stderr, flush=True)
        self.abort(130 if issubclass(kind, KeyboardInterrupt) else 1)
