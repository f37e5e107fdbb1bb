"""A zip file as a list of names and a way to read one of them, with a limit on what any zip file can cost.

Nothing is ever unpacked to the disk, so it does not matter where a name points. A file is read only if it is wanted,
and only up to the size limit, whatever the archive declares.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from minirnn.learn.grading.handed import MOST_FILE

MOST_DIRECTORY = 4 << 20
"""The most bytes of the list of contents: Python makes an object of every entry before anybody can count them."""
END, END64, LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
OTHER_KINDS = {"gzip (.tar.gz)": b"\x1f\x8b", "7-Zip": b"7z\xbc\xaf", "RAR": b"Rar!"}
"""Names of other archives -> their first bytes."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGED = (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError, zlib.error,
           struct.error, OverflowError, MemoryError)  # fmt: skip
"""The exceptions that reading a damaged or hostile zip file raises."""


class Unreadable(Exception):
    """Raised if a submission or one of its files cannot be read. The text says why."""


class Archive:
    """A zip file.

    Raises
    ------
    Unreadable
        If it is not a zip file, is damaged, or lists more files than a submission can have.
    """

    def __init__(self, data: bytes | IO[bytes]) -> None:
        file = io.BytesIO(data) if isinstance(data, bytes) else data
        if (size := directory_size(file)) > MOST_DIRECTORY:
            raise Unreadable(
                f"the zip file's list of contents is {size / 1e6:.0f} MB large, so it contains too many files"
            )
        try:
            self.zip = zipfile.ZipFile(file)
        except DAMAGED as error:
            raise Unreadable(f"the zip file is damaged ({error or type(error).__name__})") from None
        members = [(member.filename.replace("\\", "/"), member) for member in self.zip.infolist()]
        self.members = {name: member for name, member in members if not name.endswith("/")}

    def names(self) -> Iterator[tuple[str, int]]:
        """Each file's name, with ``/`` between folders (some programs on Windows write backslashes), and its declared
        size.
        """
        for name, member in self.members.items():
            yield name, member.file_size

    def read(self, name: str, most: int = MOST_FILE) -> bytes:
        """The bytes of a file, `most` of them.

        Raises
        ------
        Unreadable
            If it is too large, a link, encrypted, packed in an unusual way, or damaged.
        """
        member = self.members[name]
        kind = member.external_attr >> 28
        if member.create_system == 3 and kind not in (0, 8):  # made on Unix, and neither unknown nor a regular file
            raise Unreadable("is a link" if kind == 10 else "is not a regular file")
        if member.flag_bits & 1:
            raise Unreadable("is encrypted: the zip file must have no password")
        if member.compress_type not in METHODS:
            raise Unreadable(f"is packed by method {member.compress_type}: make an ordinary zip file")
        if member.file_size > most:
            raise Unreadable(too_large(member.file_size, most))
        try:
            with self.zip.open(member) as file:
                data = file.read(most + 1)
                if len(data) <= most and file.read(1):  # the checksum is verified at the end
                    raise Unreadable(too_large(most + 1, most))
        except DAMAGED as error:
            raise Unreadable(f"is damaged in the zip file ({error or type(error).__name__})") from None
        if len(data) > most:
            raise Unreadable(too_large(len(data), most))
        return data


def too_large(size: int, most: int) -> str:
    return f"has {size / 1e6:.1f} MB: more than {most >> 20} MB is left out"


def directory_size(file: IO[bytes]) -> int:
    """The bytes of the list of contents as the end of the file declares them; 0 if there is no such end."""
    length = file.seek(0, io.SEEK_END)
    start = max(0, length - (1 << 16) - 22)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + 22:
        file.seek(0)
        head = file.read(8)
        for kind, first in OTHER_KINDS.items():
            if head.startswith(first):
                raise Unreadable(f"it is a {kind} file: make an ordinary zip file")
        raise Unreadable("it is not a zip file, or its end is missing: was it copied completely?")
    (size,) = struct.unpack_from("<I", tail, at + 12)
    if at >= 20 and tail[at - 20 : at - 16] == LOCATOR64:
        (record,) = struct.unpack_from("<Q", tail, at - 12)
        for place in (record, start + at - 76):  # its declared place, and its place if something was put in front
            if 0 <= place <= length - 56:
                file.seek(place)
                found = file.read(56)
                if found[:4] == END64:
                    size = max(size, struct.unpack_from("<Q", found, 40)[0])
    file.seek(0)
    return size
