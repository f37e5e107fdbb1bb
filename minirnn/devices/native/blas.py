"""BLAS in one thread while the device `native` is in use, and in as many as before afterwards.

OpenBLAS's threads keep polling for work for about 30 ms after a product, on the cores that the threads of the kernels
need: with two threads each, training took three times as long. `threadpoolctl` (the extra `native`) can limit the
threads of each BLAS. Without it, BLAS is unchanged: the results are the same, but large NumPy operations may be slow.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.RLock()
_holders = 0
_before: list[tuple[Any, int]] = []

if hasattr(os, "register_at_fork"):
    # A forked child frees what the threads of its parent had, their holds included, before its first instruction. The
    # lock must be its own by then, so a fork waits for it.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries of this process, or none without `threadpoolctl`."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def available() -> bool:
    """Whether the number of BLAS threads can be set."""
    return bool(_libraries())


def hold() -> None:
    """Let BLAS compute in one thread until `release` has been called as often as `hold`."""
    global _holders
    with _lock:
        _holders += 1
        if _holders == 1:
            _before[:] = [(library, library.get_num_threads()) for library in _libraries()]
            for library, count in _before:
                if count != 1:
                    _tell(library, 1)


def release() -> None:
    """Undo one `hold`; the last one gives BLAS back the threads it had."""
    global _holders
    with _lock:
        _holders -= 1
        if _holders == 0:
            for library, count in _before:
                if count != 1:
                    _tell(library, count)


def _tell(library: Any, count: int) -> None:
    """Set the number of threads of a BLAS.

    threadpoolctl (3.8) accepts settings only from the first thread that sets them, so that threads do not undo each
    other's settings. Here the holders are counted, and the last one may be any thread, so the inner function is called.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS compute in one thread within the block."""
    hold()
    try:
        yield
    finally:
        release()
