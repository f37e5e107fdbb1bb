"""Finds the files of the exercises in a submission, wherever they are, and says what was ignored and why."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from minirnn.learn.cleaned import printable, several
from minirnn.learn.grading.archive import Archive, Unreadable
from minirnn.learn.grading.folder import DEEPEST, SKIPPED, Folder
from minirnn.learn.grading.handed import MOST_NAMES, MOST_NOTES, MOST_TOGETHER, Handed
from minirnn.learn.grading.nested import ARCHIVES, NOISE, Below, Opened, Source, unpacked
from minirnn.learn.grading.notebook import answer_in, code_cells

STATE = ".minirnn/state.json"
MOST_STRANGE = 300
"""Names of other files that are compared with those of the exercises."""
ENDINGS = {".py", ".cu", ".ipynb", ".txt", ".cuh", ".cpp", ".pyc", ""}
IS_LINK = "it is a link, which could lead to answers of others: hand in the files themselves"

NUMBERED = re.compile(r"\d{3}|_assignsubmission_")
"""What platforms put into the names of students' folders: a number, which no chapter or week has."""
NUMBER = re.compile(r"(?<![a-z])ex[\s_-]*0*(\d{1,3})(?!\d)")
ADDED = re.compile(r"\s*+(?:\)\d+\(|(?:\d++[\s_-]*+)?ypoc|eipok|lanif|wen|\d++v|\d++-)[\s_-]*")
"""What systems and people add to a name. It is matched from the end, which is fast for any name."""


@dataclass(frozen=True)
class Wanted:
    """An exercise to look for: its file in the course, the path by which the catalog knows it, and its function."""

    id: str
    file: str
    path: str
    function: str


def collect(submission: Path | bytes, wanted: Sequence[Wanted], notebooks: bool = False, inside: str = "") -> Handed:
    """Read what `submission` has of the exercises `wanted`.

    Parameters
    ----------
    submission : Path or bytes
        A folder, a zip file, or the bytes of a zip file.
    wanted : sequence of Wanted
        What to look for.
    notebooks : bool
        Whether an exercise without a file of its own is looked for in the cells of notebooks.
    inside : str
        The folder or zip file in a zip file that is the submission, ``ann/`` or ``ann.zip``; empty for the whole.

    Returns
    -------
    Handed
        The result, whatever the submission is. If it cannot be read at all, it has a `problem`.
    """
    try:
        if isinstance(submission, bytes):
            return collected(Archive(submission), wanted, notebooks)
        if submission.is_symlink():
            raise Unreadable(IS_LINK)
        if submission.is_dir():
            with Folder(submission) as folder:
                handed = collected(folder, wanted, notebooks)
            cut = f"only the first {MOST_NAMES} files were looked at" if folder.cut else ""
            return replace(handed, notes=(*handed.notes, *([cut] if cut else [])))
        if not submission.is_file():
            raise Unreadable("it is neither a folder nor a file")
        with open(submission, "rb", opener=opened) as file:
            source: Source = Archive(file)
            if inside:
                source = Below(source, inside) if inside.endswith("/") else unpacked(source, inside)
            return collected(source, wanted, notebooks)
    except Unreadable as error:
        return Handed(problem=str(error))
    except OSError as error:
        return Handed(problem=f"it cannot be read: {error.strerror or error}")


def opened(path: str, flags: int) -> int:
    """A descriptor of a regular file that is not a link. A pipe does not block."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("it is neither a folder nor a file")
    return descriptor


def parts_of_a_class(path: Path, wanted: Sequence[Wanted]) -> list[str] | str:
    """The submissions in a folder or zip file of a class: folders, each with a final ``/``, or archives.

    The result is empty if `path` is the submission of one student, or cannot be read. It is a text if `path` may be
    either: the pattern of the submissions below it.
    """
    try:
        with Folder(path) if path.is_dir() else open(path, "rb", opener=opened) as file:
            source: Source = file if isinstance(file, Folder) else Archive(file)
            names = [n for n, _ in source.names() if not any(map(is_noise, PurePosixPath(n).parts))]
    except (Unreadable, OSError):
        return []
    endings = {PurePosixPath(entry.file).name: (entry.file, entry.path) for entry in wanted}
    roots, times, works = set(), Counter[str](), []
    for name in names:
        last = PurePosixPath(name).name
        if last in endings:
            roots.add(name.removesuffix(next((e for e in endings[last] if f"/{name}".endswith(f"/{e}")), last)))
            times[last] += 1
            works.append(name)
        elif PurePosixPath(name).suffix.lower() in ARCHIVES:
            works.append(name)
    top = ""
    for _ in range(DEEPEST):  # down to where there is more than one folder with something
        below = [n.removeprefix(top).partition("/") for n in names if n.startswith(top)]
        folders = {folder for folder, slash, _ in below if slash}
        packed = {file for file, slash, _ in below if not slash and PurePosixPath(file).suffix.lower() in ARCHIVES}
        alike = len(folders) > 1 and all(map(NUMBERED.search, folders))
        places = {n.removeprefix(top).partition("/")[:2] for n in works if n.startswith(top)}
        if alike or [slash for _, slash in places] != ["/"]:
            break
        top += "".join(*places)
    own = any(top.startswith(root) for root in roots)  # files next to the folders, which are then copies
    if not own and not packed and (alike or len(roots) > 1 and max(times.values()) > 1):
        if path.is_dir():  # with empty ones, and links, which are not read
            folders |= {entry.name for entry in os.scandir(path / top) if entry.is_dir() and not is_noise(entry.name)}
        return [f"{top}{folder}/" for folder in sorted(folders)]
    if not own and not folders and len(packed) > 1:
        return [f"{top}{file}" for file in sorted(packed)]
    archives = {n.removeprefix(top).partition("/")[0] for n in works if PurePosixPath(n).name not in endings}
    unclear = alike or len(archives | ({name for name, _ in places} if archives and not own else set())) > 1
    return f"{top}*" if unclear else []


def is_noise(name: str) -> bool:
    """Whether a file or folder is one of those that systems and editors make."""
    return name.startswith(".") or name in NOISE


def collected(source: Source, entries: Sequence[Wanted], notebooks: bool) -> Handed:
    """The exercises that `source` and the zip files in it have."""
    source = Opened(source)
    wanted = {PurePosixPath(entry.file).name for entry in entries}
    candidates: dict[str, list[str]] = {name: [] for name in wanted}
    nearly: dict[str, list[str]] = {name: [] for name in wanted}
    sizes: dict[str, int] = {}
    strange: list[str] = []
    compared = count = 0
    for name, size in source.names():
        path = PurePosixPath(name)
        count += 1
        if not SKIPPED.isdisjoint(path.parts):
            continue
        if path.name in wanted and len(candidates[path.name]) < MOST_NOTES:
            candidates[path.name].append(name)
            sizes[name] = size
        elif path.name not in wanted and compared < MOST_STRANGE and path.suffix.lower() in ENDINGS:
            compared += 1
            file = meant(path.name, wanted)
            if path.suffix.lower() == ".ipynb" or file is not None:
                strange.append(name)
            if file is not None and path.suffix.lower() == PurePosixPath(file).suffix and printable(name) == name:
                nearly[file].append(name)
    files: dict[str, bytes] = {}
    reasons: dict[str, str] = {}
    notes: list[str] = []
    roots: set[str] = set()
    together = 0
    for entry in entries:
        file = PurePosixPath(entry.file).name
        names = candidates[file]
        loose = [name for name in names if not name.startswith((*source.archives,))]
        place = place_of(entry, [name for name in loose or names if sizes[name] >= 0] or names)
        if place is None:
            if names or len(nearly[file]) != 1 or is_other_exercise(entries, entry, [file] * 2):
                continue
            names = nearly[file]
            place = names[0]
            strange.remove(place)
            notes.append(f"{printable(place)} is taken for {file}")
        if (others := len(names) - 1) and not is_other_exercise(entries, entry, names):
            notes.append(f"{printable(place)} is graded; {others} more with that name ignored")
        try:
            data = source.read(place)
            together += len(data)
            if together > MOST_TOGETHER:
                raise Unreadable(f"does not count: all files together have more than {MOST_TOGETHER >> 20} MB")
            files[entry.id] = data
            roots |= {place.removesuffix(entry.file)} if place.endswith(entry.file) else set()
        except Unreadable as error:
            reasons[entry.id] = f"{printable(place)} {error}"
            notes.append(f"ignored: {printable(place)} {error}")
    if notebooks:
        notes += from_notebooks(source, [n for n in strange if n.lower().endswith(".ipynb")], entries, files)
        strange = [n for n in strange if not n.lower().endswith(".ipynb")]
    notes += ignored(sorted(strange), entries, files, reasons)
    problem = "" if files else nothing_found(count, source.closed, [*reasons.values()])
    if files:
        notes += [f"ignored: {why}" for why in source.closed]
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES} more"]
    hints = hints_in(source, min(roots, key=len), entries) if roots else {}
    return Handed(files, tuple(notes), reasons, problem, hints)


def nothing_found(count: int, closed: Sequence[str], reasons: Sequence[str]) -> str:
    """Why nothing can be graded of a submission of `count` files: none is a file of an exercise that can be read."""
    if reasons:
        return reasons[0] + (f"; and {len(reasons) - 1} more could not be read" if reasons[1:] else "")
    if closed:
        more = f"; and {len(closed) - 1} more could not be opened" if closed[1:] else ""
        return f"no file of an exercise was found; {closed[0]}{more}"
    other = f"it has {several(count, 'other file')}" if count else "it is empty"
    return f"no file of an exercise was found: {other}"


def hints_in(source: Source, root: str, entries: Sequence[Wanted]) -> dict[str, int]:
    """How many hints the state of the course folder at `root` says were used; none if it cannot be read."""
    try:
        hints = json.loads(source.read(f"{root}{STATE}"))["hints"]
        return {entry.id: hints[entry.id] for entry in entries if type(hints.get(entry.id)) is int}
    except (Unreadable, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return {}


def place_of(entry: Wanted, names: list[str]) -> str | None:
    """The file of an exercise: at its place, below a folder, or alone under its name."""
    for ending in (entry.file, entry.path, PurePosixPath(entry.path).name):
        matches = [n for n in names if n == ending or n.endswith(f"/{ending}")]
        if matches:
            return min(matches, key=lambda n: (n.count("/"), n))
    return None


def is_other_exercise(entries: Sequence[Wanted], entry: Wanted, names: list[str]) -> bool:
    """Whether several exercises have a file of this name, in different folders."""
    same = sum(PurePosixPath(e.file).name == PurePosixPath(entry.file).name for e in entries)
    return same >= len(names)


def meant(name: str, wanted: Iterable[str]) -> str | None:
    """The exercise's file that a file called `name` was probably meant to be."""
    if name.startswith("."):  # such as the ._ex01 that macOS adds to zip files
        return None
    stem = bare(name)
    stems = {bare(w): w for w in wanted}
    if stem in stems:
        return stems[stem]
    if number := NUMBER.search(stem):  # ex03 alone, with anything after it; never the file of another number
        for known, file in stems.items():
            if known.startswith(f"ex{int(number[1]):02d}_"):
                return file
        stems = {known: file for known, file in stems.items() if not NUMBER.search(known)}
    if whole := [known for known in stems if len(known) > 3 and known in stem]:  # such as my_softplus
        return stems[max(whole, key=len)]
    close = difflib.get_close_matches(stem, list(stems), 1, 0.85)
    return stems[close[0]] if close else None


def bare(name: str) -> str:
    """A file's name without ending, capitals, and what systems and people add: (1), copy, final, v2."""
    left = name[:120].lower().partition(".")[0][::-1]
    while found := ADDED.match(left):
        left = left[found.end() :]
    return left[::-1].strip()


def ignored(
    strange: list[str], entries: Sequence[Wanted], files: dict[str, bytes], reasons: dict[str, str]
) -> list[str]:
    """Notes about files that were perhaps meant to be an exercise. It also fills in `reasons` for missing ones."""
    by_file = {PurePosixPath(entry.file).name: entry for entry in entries}
    notes = []
    for name in strange:
        file = meant(PurePosixPath(name).name, by_file)
        shown = printable(name)
        if name.lower().endswith(".ipynb"):
            notes.append(f"ignored: {shown} is a notebook, which minirnn grade --notebooks reads")
        else:
            notes.append(f"ignored: {shown}, did you mean {file}?")
        if file and by_file[file].id not in files:
            reasons.setdefault(by_file[file].id, f"{file} was not handed in; there is {shown}: was it meant?")
    return notes


def from_notebooks(source: Source, names: list[str], entries: Sequence[Wanted], files: dict[str, bytes]) -> list[str]:
    """Add answers from notebooks to `files`, and return notes about them."""
    notes = []
    for name in sorted(names)[:MOST_NOTES]:
        shown = printable(name)
        try:
            cells = code_cells(source.read(name))
        except Unreadable as error:
            notes.append(f"ignored: {shown} {error}")
            continue
        found = []
        for entry in entries:
            if entry.id not in files and entry.file.endswith(".py"):
                text = answer_in(cells, entry.function)
                if text is not None:
                    files[entry.id] = text.encode("utf-8", errors="replace")
                    found.append(entry.id)
        notes.append(f"{shown}: {', '.join(found) or 'no exercise'} found in its cells")
    return notes
