"""Reading a whole file that a user named, with a one-sentence error if it cannot be read."""

from __future__ import annotations

import os
from pathlib import Path


def read_bytes(what: str, path: str | os.PathLike[str], kind: str) -> bytes:
    """The content of a regular file. It is not mapped: a mapped file that shrinks kills the process that reads it.

    Parameters
    ----------
    what : str
        The beginning of a message: ``"checkpoint"``.
    path : path
        The file.
    kind : str
        What it should be: ``"UTF-8 text file"``.

    Raises
    ------
    ValueError
        The file is missing, a folder, a device, or cannot be read.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise ValueError(f"{what} {name!r}: no such file\n  expected a {kind}\n  check the spelling")
    if not os.path.isfile(name):
        found = "a folder" if os.path.isdir(name) else "not a regular file (a device or a pipe)"
        raise ValueError(f"{what} {name!r}: this is {found}\n  expected one {kind}")
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{what} {name!r}: can't be read ({error.strerror or error})\n  expected a readable {kind}"
        ) from error
