"""A full disk leaves the older file. `tests/io/test_atomic.py` also has closed folders and concurrent writers."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from minirnn import viz
from minirnn.io import save, write_arrays


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: a write fails in the middle, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "save": lambda path, n: save(path, {"w": np.full(9000, n)}, {"n": n}),
    "write_arrays": lambda path, n: write_arrays(path, {"w": np.full(9000, n)}, {"n": str(n)}),
    "viz.save": lambda path, n: viz.save(viz.gradient_flow(np.ones((2, 3))), path.with_suffix(".png")),
}


@pytest.mark.skipif(os.name != "posix", reason="limits are set the POSIX way")
@pytest.mark.parametrize(("writer", "room"), [("save", 0), ("save", 512), ("write_arrays", 4096), ("viz.save", 512)])
def test_on_a_full_disk_the_older_file_stays_and_nothing_else(writer: str, room: int, tmp_path: Path) -> None:
    WRITERS[writer](tmp_path / "c.safetensors", 1)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    assert len(before) > room
    with disk_with_room_for(room), pytest.raises(OSError, match="File too large"):
        WRITERS[writer](tmp_path / "c.safetensors", 2)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before
    WRITERS[writer](tmp_path / "c.safetensors", 3)
