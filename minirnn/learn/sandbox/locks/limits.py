"""Limits on the resources of a process, enforced by the operating system on every platform."""

from __future__ import annotations

import contextlib
import resource

FILE_BYTES = 16 << 20
"""The largest file that an answer may write, if it may write at all."""
THREADS = 64
"""The largest number of threads of an answer. `clock` also counts them, because the system does not limit root."""


def limit_softly(seconds: int, megabytes: int) -> None:
    """Limit the processor time and address space of this process. `limit` can set other limits later."""
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, megabytes << 20)):
        _, hard = resource.getrlimit(kind)
        with contextlib.suppress(ValueError, OSError):  # as in `limit`
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def limit(
    seconds: float, megabytes: int, file_bytes: int = FILE_BYTES, processes: int | None = THREADS, more: int = 10
) -> None:
    """Limit the processor time, memory, files and threads of this process.

    Parameters
    ----------
    seconds : float
        Seconds of processor time. This is a last resort, because the judge normally stops an answer earlier.
    megabytes : int
        The size of the address space.
    file_bytes : int
        The size of each file that it writes.
    more : int
        Additional seconds, because normally another process ends this one earlier.
    processes : int or None
        The number of processes of this user in the user namespace. None sets no limit, for systems where the user's
        other processes would count.
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
        with contextlib.suppress(ValueError, OSError):  # macOS has RLIMIT_AS but refuses to set it
            resource.setrlimit(kind, (most, most))
