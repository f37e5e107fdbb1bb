"""Bounds of what a process may use; the system enforces them, on every platform."""

from __future__ import annotations

import contextlib
import resource

FILE_BYTES = 16 << 20
"""The largest file that an answer may write, if it may write at all."""
THREADS = 64
"""Threads of an answer. The judge also counts them (`clock`), because the system does not count those of root."""


def limit_softly(seconds: int, megabytes: int) -> None:
    """Bound the processor time and the addresses of this process, so that `limit` can set other bounds later."""
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, megabytes << 20)):
        _, hard = resource.getrlimit(kind)
        with contextlib.suppress(ValueError, OSError):  # as in `limit`
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def limit(
    seconds: float, megabytes: int, file_bytes: int = FILE_BYTES, processes: int | None = THREADS, more: int = 10
) -> None:
    """Bound processor time, memory, files and threads of this process.

    Parameters
    ----------
    seconds : float
        Of processor time. If all else fails: the judge stops an answer before, and says where it was.
    megabytes : int
        Of addresses.
    file_bytes : int
        Of a file that it writes.
    more : int
        Seconds in addition: somebody else ends it before.
    processes : int or None
        Of this user, in the user namespace; None for no bound, where the user's other processes would count.
    """
    wanted = [
        (resource.RLIMIT_CPU, int(seconds) + more),
        (resource.RLIMIT_AS, megabytes << 20),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ]
    if processes is not None:
        wanted.append((resource.RLIMIT_NPROC, processes))
    for name in ("RLIMIT_MSGQUEUE", "RLIMIT_MEMLOCK"):
        if hasattr(resource, name):
            wanted.append((getattr(resource, name), 0))
    for kind, most in wanted:
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS knows RLIMIT_AS and refuses it
            resource.setrlimit(kind, (most, most))
