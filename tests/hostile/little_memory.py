"""A fixture under which a huge allocation fails, as it does on a small machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="limits of memory are set the POSIX way")

ROOM = 2**29  # bytes more than now: none of the good files needs 1 MB


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Let allocations of more than `ROOM` fail with a MemoryError, which is not a ValueError."""
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if os.path.exists("/proc") else 0
    )
    before = resource.getrlimit(resource.RLIMIT_AS)
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
