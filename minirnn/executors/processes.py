"""Processes of this machine, each a separate pool: one that dies only loses its own task.

A `concurrent.futures.ProcessPoolExecutor` is broken for good once one of its processes was killed, and all its
unfinished tasks are lost with it, including those of other processes. So each worker here is such a pool with one
process, which a thread feeds; the thread makes a new one when it breaks.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue
from typing import Any


class Processes(ThreadPoolExecutor):
    """An executor with `count` processes, spawned when they are first needed."""

    def __init__(self, count: int) -> None:
        super().__init__(count, thread_name_prefix="feeds-a-process")
        self.workers = [Worker() for _ in range(count)]
        self.free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self.workers:
            self.free.put(worker)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._do, function, args, kwargs)

    def _do(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        worker = self.free.get()
        try:
            return worker.do(function, args, kwargs)
        finally:
            self.free.put(worker)

    def kill(self) -> None:
        """End all processes at once, whatever they are doing. Their tasks fail with BrokenProcessPool."""
        for worker in self.workers:
            worker.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for worker in self.workers:
            worker.close(wait)


class Worker:
    """One process, replaced when it has died."""

    def __init__(self) -> None:
        self.pool: ProcessPoolExecutor | None = None
        self.pid: int | None = None
        self.ended = False

    def do(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        try:
            if self.pool is None:
                self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin)
                self.pid = self.pool.submit(os.getpid).result()
            if self.ended:
                raise BrokenProcessPool("the process was ended")
            return self.pool.submit(function, *args, **kwargs).result()
        except BrokenProcessPool:
            self.close(wait=False)
            raise

    def kill(self) -> None:
        self.ended = True  # also one that is just being started
        if (pid := self.pid) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def close(self, wait: bool) -> None:
        pool, self.pool, self.pid = self.pool, None, None
        if pool is not None:
            pool.shutdown(wait)


def begin() -> None:
    """The start of each process: it leaves Ctrl-C to its parent, and ends when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # no process is left to take a result
