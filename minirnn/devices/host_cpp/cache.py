"""A cache on disk for compiled code."""

from __future__ import annotations

import atexit
import contextlib
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

CACHE_BYTES = 200 << 20


def cache_folder(room: str) -> Path:
    """The folder of this name in ``MINIRNN_CACHE``, or in the user's cache folder. It may not exist."""
    if named := os.environ.get("MINIRNN_CACHE"):
        return Path(named) / room
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "minirnn" / room
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minirnn" / room


def folder(device: str) -> Path:
    """The folder of a device's compiled kernels: ``MINIRNN_CACHE``, or the user's cache folder, or a temporary one."""
    found = cache_folder(device)
    try:
        found.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=found):
            return found
    except OSError:
        temporary = Path(tempfile.mkdtemp(prefix="minirnn-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return temporary


def built(folder: Path, key: str, make: Callable[[Path], None], suffix: str = ".so") -> Path:
    """The file called `key` in `folder`, made by ``make(path)`` unless it exists. Two processes may do so at once.

    The file's name ends with its `checksum`. A file that is truncated or full of zeros after a crash of the machine
    is made again, because loading it would end the process.
    """
    for path in folder.glob(f"{glob.escape(key)}.*{suffix}"):
        with contextlib.suppress(OSError):  # another process may have pruned it
            if path.name == f"{key}.{checksum(path)}{suffix}":
                os.utime(path)  # recently used: pruned last
                return path
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / f"{key}{suffix}"
        make(made)
        path = folder / f"{key}.{checksum(made)}{suffix}"
        os.replace(made, path)
    _prune(folder, suffix)
    return path


def checksum(path: Path) -> str:
    """A checksum of the contents."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _prune(folder: Path, suffix: str) -> None:
    """Delete the least recently used files until the rest is small enough."""
    found = []
    for path in folder.glob(f"*{suffix}"):
        with contextlib.suppress(OSError):  # another process may also be pruning
            found.append((path.stat().st_mtime, path.stat().st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > CACHE_BYTES:
            path.unlink(missing_ok=True)


def fingerprint(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
