"""A course that can be sent to the machines that grade, so that they do not need the teacher's disk."""

from __future__ import annotations

import atexit
import functools
import hashlib
import io
import re
import shutil
import tempfile
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

from minirnn import __version__
from minirnn.learn.course import HERE, Course, CourseError, load

SEED = re.compile(rb"^[ \t]*hidden_seed[ \t]*=.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class PackedCourse:
    """A course as it is sent.

    Attributes
    ----------
    digest : str
        The identity of the course: a hash of its files and of those of minirnn's course, on which it is based.
    version : str
        The minirnn that it was packed with.
    data : bytes
        A zip file of its folder; empty for minirnn's own course, which is everywhere.
    """

    digest: str
    version: str
    data: bytes = b""


def pack_course(course: Course) -> PackedCourse:
    """Pack a course as it is now, so that later changes on the disk do not affect a run."""
    if course.folder.resolve() == HERE.resolve():
        return PackedCourse(digest_of(course.folder), __version__)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_of(course.folder):
            info = zipfile.ZipInfo(
                path.relative_to(course.folder).as_posix()
            )  # without a time: the same bytes each time
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return PackedCourse(digest_of(course.folder), __version__, buffer.getvalue())


def files_of(folder: Path) -> list[Path]:
    """The files of a course, without those that editors and Python leave behind."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [
        p
        for p in found
        if not any(part.startswith(".") or part == "__pycache__" for part in p.relative_to(folder).parts)
    ]


def digest_of(folder: Path, seed: bool = True) -> str:
    """A hash of a course's files. Without the hidden seed it may be shown to anybody, because it says nothing about the
    seed.
    """
    found = hashlib.sha256()
    for root in dict.fromkeys((folder, HERE)):
        for path in files_of(root):
            data = path.read_bytes()
            if path.name == "course.toml" and not seed:
                data = SEED.sub(b"", data)
            found.update(f"{path.relative_to(root).as_posix()} {len(data)}\n".encode())
            found.update(data)
    return found.hexdigest()


def course_of(course: PackedCourse | Path | str) -> Course:
    """The course to grade with, read once.

    Raises
    ------
    CourseError
        If it cannot be read, or this machine has another minirnn than the one that sent it.
    """
    if not isinstance(course, PackedCourse):
        return _loaded(Path(course))
    if course.version != __version__:
        raise CourseError(
            f"this machine has minirnn {__version__}\n  expected {course.version}, the version that sent the course"
        )
    with _UNPACKING:  # two threads would unpack it twice
        return _unpacked(course)


_UNPACKING = threading.Lock()
_loaded = functools.lru_cache(maxsize=4)(load)


@functools.cache
def _unpacked(course: PackedCourse) -> Course:
    folder = HERE
    if course.data:
        folder = Path(tempfile.mkdtemp(prefix="minirnn-course-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        with zipfile.ZipFile(io.BytesIO(course.data)) as archive:
            archive.extractall(folder)  # the teacher's own files
    if digest_of(folder) != course.digest:
        raise CourseError("this machine's course differs from the grader's\n  expected the same files of minirnn")
    return load(folder)
