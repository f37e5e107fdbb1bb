"""The source of the characters: the code of the Python standard library, or a file of the user."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from minirnn.io.files import read_bytes

# Long, plain, pure Python, and in the library for decades. The order is part of the text: do not sort, do not insert.
PYTHON_MODULES = (
    "bisect",
    "calendar",
    "collections",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "difflib",
    "functools",
    "heapq",
    "json.decoder",
    "json.encoder",
    "queue",
    "statistics",
    "textwrap",
    "weakref",
)


def python_source_text() -> str:
    """Return about half a million characters of Python: the source of the modules in ``PYTHON_MODULES``, in order.

    Every machine that runs minirnn already has this text, without a download or a license, and readers see at a glance
    how good a sample is. It is the same for the same Python version (line ends become ``\\n``).

    Returns
    -------
    str

    Raises
    ------
    ValueError
        This Python keeps no .py files of its standard library on disk.
    """
    library = Path(sysconfig.get_path("stdlib"))
    parts, missing = [], []
    for module in PYTHON_MODULES:
        stem = library.joinpath(*module.split("."))
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):  # modules become packages from time to time
            if file.is_file():
                parts.append(read_text(file, minimum=1))
                break
        else:
            missing.append(module)
    if missing:
        raise ValueError(
            f"default text: no source of {', '.join(missing)} in {library}\n"
            "  expected the standard library as .py files on disk\n"
            "  this Python may keep it in a zip file or as compiled files only; give your own text (--text FILE)"
        )
    return "\n".join(parts)


def read_text(path: str | os.PathLike[str], *, minimum: int = 1000) -> str:
    """Read a UTF-8 text file to learn from; line ends become ``\\n``, a byte order mark is dropped.

    Parameters
    ----------
    path : path
        A regular file.
    minimum : int
        The fewest characters worth training on.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        The file is missing, a folder, unreadable, not text (NUL bytes), not UTF-8 or too short.

    Notes
    -----
    With fewer than about 1000 characters, the tenth kept for validation is a line or two. Its loss means nothing, and
    the network memorizes the other nine tenths.
    """
    name = os.fspath(path)
    text = _decode(name, read_bytes("text file", path, "UTF-8 text file"))
    if len(text) < minimum:
        raise ValueError(
            f"text file {name!r}: {len(text)} characters\n"
            f"  expected at least {minimum}\n"
            "  a model memorizes a shorter text, and its validation loss then means nothing"
        )
    return text


def _decode(name: str, data: bytes) -> str:
    # UTF-16 is checked before NUL bytes: half of its bytes are NUL, and the advice is different.
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(
            f"text file {name!r}: byte 0 starts a UTF-16 byte order mark\n"
            "  expected UTF-8\n"
            '  save it again as "UTF-8" (Windows editors call UTF-16 "Unicode")'
        )
    if (position := data.find(b"\0")) >= 0:
        raise ValueError(
            f"text file {name!r}: byte {position} is NUL\n"
            "  expected UTF-8 text, which has no NUL bytes\n"
            "  probably a binary file: an archive, an image, a document or a compiled file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts positions after the byte order mark, in `error.object`.
        position = error.start + len(data) - len(error.object)
        raise ValueError(
            f"text file {name!r}: byte {position} (0x{data[position]:02x}) is not UTF-8 ({error.reason})\n"
            "  expected UTF-8 text\n"
            "  an older encoding such as Latin-1 or Windows-1252? convert it: iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
