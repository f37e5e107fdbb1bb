"""The number of threads: ``MINIRNN_NUM_THREADS``, or the number of cores for this process."""

from __future__ import annotations

import os
import signal
import threading
from functools import lru_cache

from minirnn.arguments.messages import shown

MOST = 256


def count() -> int:
    """The number of threads of a kernel, the caller's among them."""
    return _count(os.environ.get("MINIRNN_NUM_THREADS", ""))


@lru_cache(maxsize=4)
def _count(named: str) -> int:
    if not named:
        return min(usable_cores(), MOST)
    try:
        number = int(named)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST:
        raise ValueError(f"MINIRNN_NUM_THREADS is {shown(named)}\n  expected a number of threads, 1 .. {MOST}")
    return number


def usable_cores() -> int:
    """The cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_be_interrupted() -> bool:
    """Whether Ctrl-C would raise `KeyboardInterrupt` in this thread: in the main one, unless a handler is installed."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
