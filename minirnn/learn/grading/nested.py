"""What is inside a submission: a folder of it, or the zip files in it, which are opened one level deep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from minirnn.learn.cleaned import printable
from minirnn.learn.grading.archive import Archive, Unreadable
from minirnn.learn.grading.folder import SKIPPED
from minirnn.learn.grading.handed import MOST_FILE, MOST_NOTES, MOST_OPENED, MOST_PACKED

ARCHIVES = {".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".xz", ".bz2"}
NOISE = SKIPPED | {"__MACOSX"}


class Source(Protocol):
    """A folder or an archive: names with sizes, and the bytes of one."""

    def names(self) -> Iterable[tuple[str, int]]: ...

    def read(self, name: str, most: int = MOST_FILE) -> bytes: ...


@dataclass(frozen=True)
class Below:
    """The part of a source that is below a folder."""

    source: Source
    folder: str

    def names(self) -> Iterable[tuple[str, int]]:
        return ((n.removeprefix(self.folder), size) for n, size in self.source.names() if n.startswith(self.folder))

    def read(self, name: str, most: int = MOST_FILE) -> bytes:
        return self.source.read(self.folder + name, most)


@dataclass
class Opened:
    """A source with the zip files in it, each like a folder with its name. Zip files in these stay closed.

    Attributes
    ----------
    archives : dict
        The zip files that are open, by their names with a final ``/``, once `names` is at its end.
    closed : list of str
        Why others are not, each with its name.
    """

    source: Source
    archives: dict[str, Archive] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)

    def names(self) -> Iterator[tuple[str, int]]:
        packed: list[str] = []
        for name, size in self.source.names():
            yield name, size
            path = PurePosixPath(name)
            if len(packed) < MOST_NOTES and path.suffix.lower() in ARCHIVES and NOISE.isdisjoint(path.parts):
                packed.append(name)
        for name in sorted(packed, key=lambda n: (n.count("/"), n)):
            if not name.lower().endswith(".zip") or len(self.archives) == MOST_OPENED:
                why = f"is one of more than {MOST_OPENED} archives: hand in one zip file"
                self.closed.append(
                    f"{printable(name)} {why if name.lower().endswith('.zip') else 'is not a zip file: make one'}"
                )
                continue
            try:
                archive = self.archives[f"{name}/"] = unpacked(self.source, name)
            except Unreadable as error:
                self.closed.append(str(error))
                continue
            for inner, size in archive.names():
                yield f"{name}/{inner}", size
                if PurePosixPath(inner).suffix.lower() in ARCHIVES and len(self.closed) < MOST_NOTES:
                    self.closed.append(f"{printable(name)} contains {printable(inner)}, which is not opened")

    def read(self, name: str, most: int = MOST_FILE) -> bytes:
        for start, archive in self.archives.items():
            if name.startswith(start) and name.removeprefix(start) in archive.members:
                return archive.read(name.removeprefix(start), most)
        return self.source.read(name, most)


def unpacked(source: Source, name: str) -> Archive:
    """A zip file in a source.

    Raises
    ------
    Unreadable
        If it is too large, a link, damaged, or another kind of file.
    """
    try:
        data = source.read(name, MOST_PACKED)
    except Unreadable as error:
        raise Unreadable(f"{printable(name)} {error}") from None
    try:
        return Archive(data)
    except Unreadable as error:
        raise Unreadable(f"{printable(name)}: {error}") from None
