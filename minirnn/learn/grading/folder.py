"""A folder as a list of names and a way to read one of them, such that no link leads out of it.

A student's process or another user may replace files with links while we read. So every folder on the path is opened
from the one above it, and only if it is not a link. An open folder stays the same.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from minirnn.learn.grading.archive import Unreadable, too_large
from minirnn.learn.grading.handed import MOST_FILE, MOST_NAMES

DEEPEST = 24
SKIPPED = {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".minirnn"}
"""Folders that hold no answers and often very many files; the stubs that minirnn keeps are not answers either."""


class Folder:
    """A folder that a student handed in. It is a context manager.

    Attributes
    ----------
    cut : bool
        Whether there were more than `MOST_NAMES` names, so that not all have been looked at.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise Unreadable(f"the folder cannot be read: {error.strerror}") from None
        self.cut = False

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self.root)

    def names(self) -> Iterator[tuple[str, int]]:
        """Each file's path below the folder and its size, those nearest to the top first; -1 is a link or a device."""
        waiting, seen = deque([""]), 0
        while waiting:
            folder = waiting.popleft()
            try:
                descriptor = self.open_folder(folder)
            except OSError:
                continue
            with contextlib.closing(Closing(descriptor)), os.scandir(descriptor) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST_NAMES:
                        self.cut = True
                        return
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name not in SKIPPED and name.count("/") < DEEPEST:
                                waiting.append(name)
                        elif entry.is_file(follow_symlinks=False):
                            yield name, entry.stat(follow_symlinks=False).st_size
                        else:
                            yield name, -1
                    except OSError:
                        continue

    def open_folder(self, name: str) -> int:
        """A descriptor of a folder below this one; nothing on the way may be a link."""
        here = os.dup(self.root)
        for part in name.split("/") if name else ():
            above, here = here, -1
            try:
                here = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            finally:
                os.close(above)
        return here

    def read(self, name: str, most: int = MOST_FILE) -> bytes:
        """The bytes of a file, `most` of them.

        Raises
        ------
        Unreadable
            If it is too large, a link or a device, or cannot be read.
        """
        folder, _, file = name.rpartition("/")
        try:
            descriptor = self.open_folder(folder)
            with contextlib.closing(Closing(descriptor)):
                # Without O_NONBLOCK a pipe that nobody writes to would block us forever.
                opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
            with open(opened, "rb") as stream:
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    raise Unreadable("is not a regular file")
                data = stream.read(most + 1)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise Unreadable("is a link" if error.errno == errno.ELOOP else "is not a regular file") from None
            raise Unreadable(f"cannot be read: {error.strerror}") from None
        if len(data) > most:
            raise Unreadable(too_large(os.stat(name, dir_fd=self.root, follow_symlinks=False).st_size, most))
        return data


class Closing:
    """Closes a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def close(self) -> None:
        os.close(self.descriptor)
