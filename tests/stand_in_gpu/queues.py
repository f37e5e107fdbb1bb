"""Streams of the stand-in GPU: work is done late, and between streams in a random order.

Every piece of work knows which work must be done first: its predecessor in the stream, the work that an event waits
for, and by the rules of the default stream the last work of the others. Nothing runs until the program waits for it.
Then runnable work is chosen at random until the awaited work is done. A missing wait therefore gives a wrong result.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable

PATIENCE = 4096
"""The largest number of queued pieces of work. Beyond it, some are done, as on a GPU whose queue is full."""


class Work:
    """Something to be done by the GPU.

    Attributes
    ----------
    after : list of Work
        What must be done first.
    memory : frozenset of int
        The allocations that it reads or writes.
    """

    __slots__ = ("after", "do", "done", "memory")

    def __init__(self, do: Callable[[], None], after: list[Work], memory: frozenset[int]) -> None:
        self.do, self.after, self.memory, self.done = do, after, memory, False


Noted = tuple[Callable[[], None], frozenset[int]]


class Stream:
    """A queue. `captured` is the work recorded since a capture began, or None; `broken` is set by an illegal call."""

    def __init__(self, blocking: bool) -> None:
        self.blocking = blocking  # whether it waits for the default stream, and is waited for by it
        self.waiting: deque[Work] = deque()
        self.last: Work | None = None
        self.captured: list[Noted] | None = None
        self.broken = False


class Event:
    """A mark in a stream: `work` is the last recorded one, `at` the time when it was reached."""

    work: Work | None = None
    at = 0.0
    timed = True


class Queues:
    """All streams, and the order in which their work is done."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.default = Stream(blocking=True)
        self.streams = [self.default]
        self.failed: Callable[[BaseException], None] = lambda error: None

    def new(self, blocking: bool) -> Stream:
        self.streams.append(Stream(blocking))
        return self.streams[-1]

    def drop(self, stream: Stream) -> None:
        """A destroyed stream still does its queued work."""
        if stream.last is not None:
            self.finish([stream.last])
        self.streams.remove(stream)

    def push(
        self, stream: Stream, do: Callable[[], None], memory: frozenset[int] = frozenset(), after: Iterable[Work] = ()
    ) -> Work:
        """Put work at the end of a stream."""
        others = []
        if stream is self.default:
            others = [s.last for s in self.streams if s.blocking]
        elif stream.blocking:
            others = [self.default.last]
        work = Work(do, [w for w in (stream.last, *others, *after) if w is not None and not w.done], memory)
        stream.waiting.append(work)
        stream.last = work
        if sum(len(s.waiting) for s in self.streams) > PATIENCE:
            self.some(PATIENCE // 2)
        return work

    def runnable(self) -> list[Stream]:
        """The streams whose next work may run now."""
        return [s for s in self.streams if s.waiting and all(w.done for w in s.waiting[0].after)]

    def finish(self, wanted: Iterable[Work]) -> None:
        """Do runnable work, chosen at random, until all `wanted` work is done."""
        left = [work for work in wanted if not work.done]
        while left:
            self.run_next(self.random.choice(self.runnable()))
            left = [work for work in left if not work.done]

    def finish_all(self) -> None:
        self.finish([s.last for s in self.streams if s.last is not None])

    def some(self, count: int) -> None:
        """Do a few pieces of work, if there are any, as if time had passed."""
        for _ in range(count):
            ready = self.runnable()
            if not ready:
                return
            self.run_next(self.random.choice(ready))

    def run_next(self, stream: Stream) -> None:
        work = stream.waiting.popleft()
        work.done, work.after = True, []
        try:
            work.do()
        except Exception as error:
            self.failed(error)

    def forget(self) -> None:
        """The GPU is lost: nothing more is done."""
        for stream in self.streams:
            for work in stream.waiting:
                work.done, work.after = True, []
            stream.waiting.clear()

    def using(self, allocation: int) -> bool:
        """Whether unfinished work needs this memory."""
        return any(allocation in work.memory for s in self.streams for work in s.waiting)
