"""Writes a file so that at every moment either the old or the new version is there, complete.

The new content goes to a temporary file in the same folder. When all of it is on the disk, one rename puts it in the
place of the old file. POSIX guarantees that no process sees an intermediate state. A process that is killed before the
rename leaves the old file unchanged and its temporary file behind. Such leftovers are found by their name and
distinguished from files still being written by a lock, which ends with the process. The next write removes them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from minirnn.arguments.user_error import FULL

try:
    import fcntl
except ImportError:  # not a POSIX system: there, a file that is open can't be removed, and no lock is needed
    fcntl = None  # type: ignore[assignment]

PREFIX, SUFFIX = ".minirnn-", ".tmp"


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the place of `path` when the block ends without an exception.

    Raises ValueError if `path` is a folder or a device, its folder is missing or not writable, or `mode` is not one of
    the two, and OSError if the disk is full or failed. `path` stays as it was.

    Parameters
    ----------
    path : path
        The file to write. Symbolic links are followed, and the permissions of an older file are kept.
    mode : {"w", "wb"}
        Text (UTF-8, line ends as written) or bytes.

    Yields
    ------
    file
        An open file. If the block raises, it is removed, and `path` stays as it was.

    Examples
    --------
    >>> with atomic_write("losses.txt") as file:  # doctest: +SKIP
    ...     file.write("2.31")
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"atomic_write: mode is {mode!r}\n  expected 'w' (text) or 'wb' (bytes)")
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL byte, which no name can hold
        raise ValueError(f"can't write {os.fspath(path)!r}: {error}\n  expected a usable name") from None
    permissions = check_target(target)
    remove_leftovers(target.parent)
    descriptor, temporary = _create_temporary(target)
    try:
        encoding, newline = (None, None) if mode == "wb" else ("utf-8", "")
        with naming(target), open(descriptor, mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(descriptor)  # first the content: a rename without it would leave an empty file
            if permissions is not None:
                temporary.chmod(permissions)
            if fcntl is None:
                file.close()  # only POSIX renames a file that is open
            os.replace(temporary, target)  # while the lock is held, no process mistakes the file for a leftover
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Inside this block, the error of a full or failed disk names the file, which the error of a write does not."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def check_target(target: Path) -> int | None:
    """Return the permissions of the file at `target`, or None; raise ValueError if no file can be written there."""
    if not os.path.isdir(target.parent):
        raise ValueError(
            f"can't write {str(target)!r}: there is no folder {str(target.parent)!r}\n  expected an existing folder"
        )
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"can't write {str(target)!r}: {error.strerror or error}\n  expected a usable name") from error
    if not stat.S_ISREG(found):  # a rename would replace /dev/null itself
        what = "a folder" if stat.S_ISDIR(found) else "not a regular file (a device or a pipe)"
        raise ValueError(f"can't write {str(target)!r}: this is {what}\n  expected the name of a file")
    return stat.S_IMODE(found)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes from `folder`."""
    for leftover in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with contextlib.suppress(OSError):  # locked or already gone: another process is writing it, or also cleaning up
            if fcntl is None:
                leftover.unlink()
                continue
            descriptor = os.open(leftover, os.O_RDWR)
            try:
                _lock(descriptor, wait=False)
                leftover.unlink()
            finally:
                os.close(descriptor)


def _create_temporary(target: Path) -> tuple[int, Path]:
    while True:
        temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise ValueError(
                f"can't write {str(target)!r}: {error.strerror or error}\n  expected a folder that can be written to"
            ) from error
        # If the file system has no locks, continue. No process will mistake this file for a leftover, for the same
        # reason.
        with contextlib.suppress(OSError):
            _lock(descriptor, wait=True)
        if os.fstat(descriptor).st_nlink > 0:
            return descriptor, temporary
        os.close(descriptor)  # another process cleaned up between creating and locking: take another name


def _lock(descriptor: int, wait: bool) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    # The rename is an entry in the folder: it lasts through a power cut once the folder is on the disk.
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse to sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
