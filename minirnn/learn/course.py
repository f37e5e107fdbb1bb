"""A course: its exercises in order, their points and hints; and a student's copy of it."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from minirnn.io.atomic import atomic_write, naming
from minirnn.learn.catalog import EXERCISES
from minirnn.learn.course_file import OF_A_COURSE, OF_AN_EXERCISE, count, field, only, read_toml, seed, without_seed
from minirnn.learn.course_file import CourseError as CourseError
from minirnn.learn.exercise import Exercise
from minirnn.learn.sandbox.parent import Limits

HERE = Path(__file__).parent / "course"
"""The course that comes with minirnn."""
DETAILS = ("full", "place", "yes-no")
"""The detail of a check about a wrong answer: the line of the formula with marks, the term and the place in words, or
only that it is wrong. The first is the default while learning, the second for graded work."""


@dataclass(frozen=True)
class Entry:
    """An exercise as a course uses it."""

    id: str
    title: str
    points: int
    hidden: int
    hints: tuple[str, ...]
    detail: str
    limits: Limits
    number: str
    """``4.2``: chapter and place in it."""
    chapter: str = ""
    needs: tuple[str, ...] = ()
    """Ids of the exercises to do first."""
    own: str = ""
    """The reference of an exercise of a teacher's own: a file in `references/`."""
    secret: bool = False
    """Whether the reference stays with the teacher."""
    tutorial: int = 0
    """The number of the tutorial to read first; 0 for none."""
    graded_detail: str = "place"
    made: Exercise | None = None
    """A teacher's own exercise; None for one of minirnn's."""

    @property
    def exercise(self) -> Exercise:
        return EXERCISES[self.id] if self.made is None else self.made

    @property
    def file(self) -> str:
        """The path in a student's tree."""
        return f"exercises/{self.exercise.path}"


@lru_cache(maxsize=8)
def stretched(seed: str) -> str:
    """A hash that takes a twentieth of a second to compute."""
    return hashlib.scrypt(seed.encode(), salt=b"minirnn", n=1 << 14, r=8, p=1, maxmem=1 << 26).hex()


@dataclass(frozen=True)
class Course:
    """A course, read from a folder with ``course.toml``.

    Attributes
    ----------
    folder : Path
        Where its own files are; what is not there (stubs, solutions) is taken from minirnn's course.
    entries : dict
        The exercises in order, by id.
    hidden_seed : str
        A secret of the teacher. Everything hidden is derived from it.
    """

    folder: Path
    name: str
    title: str
    version: int
    hidden_seed: str
    entries: dict[str, Entry]

    def derived(self, *what: object) -> int:
        """A number of 256 bits: SHA-256 of the hidden seed, stretched, and of what it is for. It does not lead back to
        the seed. An answer sees numbers that depend on it, so trying out seeds must be slow.
        """
        return int.from_bytes(hashlib.sha256(repr((stretched(self.hidden_seed), *map(str, what))).encode()).digest())

    def entry(self, id: str) -> Entry:
        """The exercise `id`; ``7`` and ``ex7`` mean ``ex07``."""
        digits = id.lower().removeprefix("ex")
        name = f"ex{int(digits):02d}" if digits.isdecimal() and id not in self.entries else id
        if name not in self.entries:
            raise CourseError(f"no exercise {id!r}\n  there are: {', '.join(self.entries)}")
        return self.entries[name]

    def stub(self, entry: Entry) -> str:
        """The file as a student gets it."""
        return self._file("exercises", entry).read_text(encoding="utf-8")

    def solution(self, entry: Entry) -> str:
        """The text of the right answer: a file in ``solutions/`` of the course, or else the source of the reference."""
        path = self._file("solutions", entry)
        if path.is_file():
            return path.read_text(encoding="utf-8")
        if entry.made is not None:
            from minirnn.learn.held_back import Numbers

            if isinstance(entry.made, Numbers):
                raise CourseError(f"the solution of {entry.id} stays with your teacher")
        return "import numpy as np\n\n\n" + inspect.getsource(entry.exercise.reference)

    def _file(self, kind: str, entry: Entry) -> Path:
        own = file_below(self.folder / kind, entry.exercise.path)
        return own if own.is_file() else HERE / kind / entry.exercise.path

    @property
    def chapters(self) -> dict[str, list[Entry]]:
        """The exercises of each chapter, in order."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            found.setdefault(entry.chapter, []).append(entry)
        return found

    @property
    def points(self) -> int:
        return sum(entry.points + entry.hidden for entry in self.entries.values())


def load(folder: Path | str = HERE) -> Course:
    """Read the course in `folder`.

    Raises
    ------
    CourseError
        If ``course.toml`` is missing, is not TOML, or has an entry that makes no sense; the message names
        the entry and says what was expected.
    """
    path = Path(folder) / "course.toml"
    table = read_toml(path)
    only(path, table, OF_A_COURSE)
    entries: dict[str, Entry] = {}
    chapters: dict[str, int] = {}
    wrong: list[str] = []
    for k, row in enumerate(field(path, table, "exercise", list)):
        where = f"{path}, exercise number {k + 1}"
        if not isinstance(row, dict):
            raise CourseError(f"{where} is {row!r}\n  expected a table: [[exercise]]")
        try:
            only(where, row, OF_AN_EXERCISE)
            entry = entry_of(Path(folder), where, row, table, entries)
        except CourseError as error:
            wrong.append(str(error))
            continue
        chapters[entry.chapter] = chapters.get(entry.chapter, 0) + 1
        number = f"{list(chapters).index(entry.chapter) + 1}.{chapters[entry.chapter]}"
        entries[entry.id] = replace(entry, number=number)
    if wrong:
        raise CourseError("\n".join(wrong))
    if not entries:
        raise CourseError(f"{path} has no exercise\n  expected at least one [[exercise]]")
    return Course(
        Path(folder).absolute(), field(path, table, "name", str, "course"), field(path, table, "title", str, ""),
        count(path, table, "version", 1), seed(path, table), entries,
    )  # fmt: skip


def entry_of(
    folder: Path, where: str, row: Mapping[str, Any], table: Mapping[str, Any], before: Mapping[str, Entry]
) -> Entry:
    """The exercise that a row of course.toml describes: one of minirnn's or, with a `reference`, a teacher's own."""
    id = field(where, row, "id", str)
    if id in before:
        raise CourseError(f"{where} has id {id!r}, which is already used\n  expected each exercise once")
    exercise = None
    if "reference" in row:
        from minirnn.learn.teacher_exercise import own_exercise

        exercise = own_exercise(folder, where, row)
    elif id not in EXERCISES:
        own = f"one of your own has a reference: minirnn course new-exercise {id} {folder}"
        if folder == HERE:
            own = "MODULES in minirnn/learn/catalog/__init__.py says which module has the exercise of a number"
        raise CourseError(
            f"{where} has id {id!r}: an exercise that minirnn does not have\n"
            f"  there are: {', '.join(EXERCISES)}\n  {own}"
        )
    given = row.get("detail", table.get("detail"))
    detail = field(where, {"detail": given or DETAILS[0]}, "detail", str)
    if detail not in DETAILS:
        raise CourseError(f"{where}: detail is {detail!r}\n  expected one of {', '.join(DETAILS)}")
    hints, needs = field(where, row, "hints", list, []), field(where, row, "needs", list, [])
    if not all(isinstance(h, str) for h in hints):
        raise CourseError(f"{where}: hints must be strings")
    if not all(isinstance(n, str) for n in needs):
        raise CourseError(f"{where}: needs must be ids of exercises")
    known = exercise or (None if {"points", "chapter"} <= row.keys() else EXERCISES[id])
    return Entry(
        id, field(where, row, "title", str, id), count(where, row, "points", len(known.outputs) if known else 1),
        count(where, row, "hidden", 0), tuple(hints), detail,
        Limits(float(count(where, row, "seconds", table.get("seconds", 20), 1)),
               count(where, row, "megabytes", table.get("megabytes", 2048), 64)),
        "", field(where, row, "chapter", str, known.path.partition("/")[0] if known else ""), tuple(needs),
        field(where, row, "reference", str, ""), field(where, row, "secret", bool, False),
        count(where, row, "tutorial", 0), detail if given else DETAILS[1], exercise,
    )  # fmt: skip


# ---- a student's tree

STATE = ".minirnn/state.json"
COURSE = ".minirnn/course"
"""A teacher's course in a student's tree: without the hidden seed, and without solutions."""
PLUGIN = "minirnn.learn.plugin"
PYTEST_INI = f"[pytest]\naddopts = -p {PLUGIN}\ntestpaths = exercises\n"
"""The settings of plain pytest in a student's tree: without the plugin it finds no exercises."""


@dataclass
class Tree:
    """A student's copy of a course: the exercises, and what has been done in it."""

    root: Path
    course: Course
    state: dict[str, Any]

    def file(self, entry: Entry) -> Path:
        return file_below(self.root / "exercises", entry.exercise.path)

    def passed(self, entry: Entry) -> bool:
        """Whether the file as it is now has passed."""
        return self.state["passed"].get(entry.id) == digest(self.file(entry))

    def note_passed(self, entry: Entry, passed: bool) -> None:
        self.reread()
        self.state["passed"].pop(entry.id, None)
        if passed:
            self.state["passed"][entry.id] = digest(self.file(entry))
        self.save()

    def note_hint(self, entry: Entry) -> int:
        """Give one more hint, and return how many have been given now."""
        self.reread()
        given = min(self.state["hints"].get(entry.id, 0) + 1, len(entry.hints))
        self.state["hints"][entry.id] = given
        self.save()
        return given

    def current(self) -> Entry | None:
        """The first exercise not passed yet."""
        return next((entry for entry in self.course.entries.values() if not self.passed(entry)), None)

    def reread(self) -> None:
        """Read what pytest or another command has noted since."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            self.state = read_state(self.root)

    def save(self) -> None:
        with atomic_write(self.root / STATE) as file:
            json.dump(self.state, file, indent=1)


def file_below(root: Path, path: str) -> Path:
    """A file of an exercise, also in the folder that an older minirnn had for it."""
    new = root / path
    return new if new.exists() else next(root.glob(f"*/{new.name}"), new)


def digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def new_tree(root: Path, course: Course, missing: bool = False) -> Tree:
    """Copy the course's exercises to `root`, which must not exist or be empty; with `missing` add what is not there.

    Raises
    ------
    CourseError
        If something is there already, or belongs to another course; nothing is written then.
    """
    if not missing and root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise CourseError(
            f"{root} is there already and not empty\n  expected a new folder; --missing adds what is not there yet"
        )
    tree = Tree(root, course, {"course": course.name, "version": course.version, "passed": {}, "hints": {}})
    if there := (root / STATE).exists():
        tree = find_tree(root, course)
    if course.folder.resolve() not in (HERE.resolve(), (root / COURSE).resolve()):
        hand_out(course, root / COURSE)
    for entry in course.entries.values():
        target = file_below(root / "exercises", entry.exercise.path)
        if not target.exists():
            write(target, course.stub(entry))
    readme = next(f for f in (course.folder / "README.md", HERE / "README.md") if f.is_file())
    example = "ex05" if "ex05" in course.entries else next(iter(course.entries))
    if not (root / "README.md").exists():
        write(root / "README.md", readme.read_text(encoding="utf-8").replace("ex05", example))
    if not (root / "pytest.ini").exists():  # so that the settings of a surrounding project do not apply
        write(root / "pytest.ini", PYTEST_INI)
    if not there:
        (root / STATE).parent.mkdir(exist_ok=True)
        tree.save()
    return tree


def write(path: Path, text: str) -> None:
    """Write a text file, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        path.write_text(text, encoding="utf-8", newline="\n")


def hand_out(course: Course, target: Path) -> None:
    """Copy the parts of a teacher's course that students need: all but the hidden seed and the solutions."""
    from minirnn.learn.held_back import write_numbers
    from minirnn.learn.teacher_exercise import NUMBERS, REFERENCES

    text = (course.folder / "course.toml").read_text(encoding="utf-8")
    public = re.sub(r"^[ \t]*hidden_seed[ \t]*=.*\n?", "", text, flags=re.MULTILINE)
    if without_seed(text) != without_seed(public, allowed=False):
        raise CourseError(
            f"{course.folder / 'course.toml'}: hidden_seed cannot be taken out\n  expected it on one line"
        )
    with tempfile.TemporaryDirectory() as work:  # what is there stays until all of it is made
        made = Path(work) / "course"
        write(made / "course.toml", public)
        if (course.folder / "exercises").is_dir():
            shutil.copytree(course.folder / "exercises", made / "exercises")
        for entry in course.entries.values():
            if entry.secret:
                write_numbers(entry.exercise, made / NUMBERS / f"{entry.id}.numbers")
            elif entry.own:
                (made / REFERENCES).mkdir(exist_ok=True)
                shutil.copyfile(course.folder / REFERENCES / entry.own, made / REFERENCES / entry.own)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)


def read_state(root: Path) -> dict[str, Any]:
    """The state of a tree. Raises ValueError or OSError if it cannot be read."""
    state = json.loads((root / STATE).read_text(encoding="utf-8"))
    fields = {"course": str, "version": int, "passed": dict, "hints": dict}
    if not isinstance(state, dict) or not all(isinstance(state.get(name), kind) for name, kind in fields.items()):
        raise ValueError(f"expected the fields {', '.join(fields)}")
    if not all(isinstance(count, int) for count in state["hints"].values()):
        raise ValueError("hints are not numbers")
    return state


def find_tree(start: Path, course: Course | None = None) -> Tree:
    """The student's tree that `start` is in.

    Raises
    ------
    CourseError
        If there is none, its state cannot be read, or it belongs to another course or version.
    """
    root = next((folder for folder in (start, *start.parents) if (folder / STATE).is_file()), None)
    if root is None:
        raise CourseError("this is not a course folder\n  make one with: minirnn learn init DIR, then cd DIR")
    if course is None:
        course = load(root / COURSE) if (root / COURSE).is_dir() else load()
    try:
        state = read_state(root)
        known = (state["course"], state["version"])
    except (ValueError, OSError, RecursionError) as error:
        raise CourseError(
            f"{root / STATE}: cannot be read ({error})\n  delete it and run: minirnn learn init . --missing"
        ) from error
    if known != (course.name, course.version):
        own = "" if course.folder == HERE.absolute() else f" --course {course.folder}"
        advice = f"make a new folder with: minirnn learn init DIR{own}, and copy your exercises into it"
        if known[0] != course.name:
            advice = f"get a new folder of {known[0]!r}, then: minirnn learn init {root} --missing --course"
            advice += f" NEWFOLDER/{COURSE}"
        raise CourseError(
            f"{root} holds the course {known[0]!r}, version {known[1]}; {course.folder if own else 'this minirnn'} has"
            f" {course.name!r}, version {course.version}\n  {advice}"
        )
    return Tree(root, course, state)
