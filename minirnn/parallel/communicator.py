"""The collective operations of ranks: the interface between `minirnn.parallel` and the transport of messages.

A *rank* is one of several equal processes (or threads, in class) that compute together. All of them call the same
method in the same order; that is a *collective* operation. This module has the interface and the world of one rank; the
others are `minirnn.parallel.mpi` (processes, over mpi4py) and `minirnn.parallel.threads` (in one process, for tests and
lessons).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

Wait = Callable[[], None]
"""Waits until the operation that was started is done."""


class Communicator(Protocol):
    """The collective operations that everything else uses. Arrays are contiguous NumPy arrays in host memory."""

    rank: int
    size: int

    def all_gather(self, value: Any) -> list[Any]:
        """The objects of all ranks, in the order of ranks."""

    def broadcast(self, value: Any, root: int) -> Any:
        """The object of rank `root`."""

    def start_sum(self, buffer: np.ndarray) -> Wait:
        """Start replacing `buffer` with the sum over all ranks, added in whatever order is fast."""

    def start_exchange(self, parts: list[np.ndarray], received: list[np.ndarray]) -> Wait:
        """Start sending ``parts[r]`` to every rank r, and receiving in ``received[r]`` what rank r sends here."""

    def join(self, part: np.ndarray, received: list[np.ndarray]) -> None:
        """Fill ``received[r]`` with the `part` of every rank r."""

    def abort(self, status: int) -> None:
        """End all ranks at once."""


class Alone:
    """The world of one rank, where collective operations change nothing."""

    rank, size = 0, 1

    def all_gather(self, value: Any) -> list[Any]:
        return [value]

    def broadcast(self, value: Any, root: int) -> Any:
        return value

    def start_sum(self, buffer: np.ndarray) -> Wait:
        return _done

    def start_exchange(self, parts: list[np.ndarray], received: list[np.ndarray]) -> Wait:
        received[0][...] = parts[0]
        return _done

    def join(self, part: np.ndarray, received: list[np.ndarray]) -> None:
        received[0][...] = part

    def abort(self, status: int) -> None:
        """Do nothing, because there are no other ranks."""


def _done() -> None:
    """Do nothing, because the operation is already done."""
