"""Ranks as threads of one process: for tests, lessons and pictures on machines without MPI.

This makes nothing faster. Every rank computes, sends and receives the same as over MPI, in the same order; `start_sum`
adds in the order of ranks.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.parallel.communicator import Wait


class Meeting:
    """A meeting point where all ranks leave values and take those of the others."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.left: list[Any] = [None] * size
        self.started: list[list[Any]] = [[] for _ in range(size)]  # for each rank, the messages that it has sent so far
        self.taken: Counter[int] = Counter()  # the number of ranks that have taken the k-th messages
        self.news = threading.Condition()
        self.ended: int | None = None  # the status with which a rank ended all


class Threads:
    """A rank that is a thread. `run_ranks` makes them."""

    def __init__(self, meeting: Meeting, rank: int, size: int) -> None:
        self.meeting, self.rank, self.size = meeting, rank, size

    def all_gather(self, value: Any) -> list[Any]:
        self.meeting.left[self.rank] = value
        self.meeting.barrier.wait()
        found = list(self.meeting.left)
        self.meeting.barrier.wait()  # all have taken the previous values before any rank leaves new ones
        return found

    def broadcast(self, value: Any, root: int) -> Any:
        return self.all_gather(value)[root]

    def start_sum(self, buffer: np.ndarray) -> Wait:
        take = self._send(buffer.copy())

        def wait() -> None:
            parts = take()
            buffer[...] = parts[0]
            for part in parts[1:]:
                np.add(buffer, part, buffer)

        return wait

    def start_exchange(self, parts: list[np.ndarray], received: list[np.ndarray]) -> Wait:
        take = self._send([part.copy() for part in parts])

        def wait() -> None:
            for target, sent in zip(received, take(), strict=True):
                target[...] = sent[self.rank]

        return wait

    def join(self, part: np.ndarray, received: list[np.ndarray]) -> None:
        for target, sent in zip(received, self._send(part.copy())(), strict=True):
            target[...] = sent

    def abort(self, status: int) -> None:
        with self.meeting.news:
            self.meeting.ended = status
            self.meeting.news.notify_all()
        self.meeting.barrier.abort()

    def _send(self, what: Any) -> Callable[[], list[Any]]:
        """Leave the k-th message of this rank; the result waits for the k-th messages of the others and returns all."""
        meeting = self.meeting
        with meeting.news:
            own = meeting.started[self.rank]
            k = len(own)
            own.append(what)
            meeting.news.notify_all()

        def take() -> list[Any]:
            with meeting.news:
                meeting.news.wait_for(lambda: meeting.ended is not None or all(len(s) > k for s in meeting.started))
                if meeting.ended is not None:
                    raise threading.BrokenBarrierError
                found = [sent[k] for sent in meeting.started]
                meeting.taken[k] += 1
                if meeting.taken[k] == self.size:  # no longer needed
                    del meeting.taken[k]
                    for sent in meeting.started:
                        sent[k] = None
                return found

        return take


def run_ranks(function: Callable[[Any], Any], size: int) -> list[Any]:
    """Call ``function(communicator)`` in `size` threads; returns their results in the order of ranks.

    Raises the exception of the first rank that failed by itself. The others are ended.
    """
    meeting = Meeting(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def work(rank: int) -> None:
        communicator = Threads(meeting, rank, size)
        try:
            results[rank] = function(communicator)
        except threading.BrokenBarrierError:
            pass  # another rank failed
        except BaseException as error:
            errors.append(error)
            communicator.abort(1)

    threads = [threading.Thread(target=work, args=(rank,), name=f"rank {rank}") for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    if meeting.ended is not None:
        raise RuntimeError(f"a rank ended all ranks with status {meeting.ended}")
    return results
