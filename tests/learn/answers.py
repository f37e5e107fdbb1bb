"""Answers for tests: the reference with changes, or any text, checked with small limits."""

import inspect
import textwrap
from dataclasses import replace
from pathlib import Path

from minirnn.learn.check import check
from minirnn.learn.course import Course, Entry, load
from minirnn.learn.result import Result
from minirnn.learn.sandbox.parent import Limits

COURSE = load()
RIGHT = "da = dh * (1 - h * h)\nreturn da @ W.T, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0)"
"""The body of a right answer to ex05."""


def entry_of(id: str, seconds: float = 20.0, megabytes: int = 2048) -> Entry:
    return replace(COURSE.entry(id), limits=Limits(seconds, megabytes))


def solution(id: str, *changes: tuple[str, str]) -> str:
    """The solution's text with replacements. Each replaced text must occur in it."""
    text = COURSE.solution(COURSE.entry(id))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def body(id: str, code: str) -> str:
    """A file whose function has the right signature and the body `code`."""
    exercise = COURSE.entry(id).exercise
    arguments = ", ".join(inspect.signature(exercise.reference).parameters)
    return f"import numpy as np\n\n\ndef {exercise.function}({arguments}):\n" + textwrap.indent(
        textwrap.dedent(code).strip("\n"), "    "
    )


def checked(
    folder: Path, id: str, text: str | bytes, course: Course = COURSE, hidden: bool = False, **limits: float
) -> Result:
    """Check `text` as the answer to `id`."""
    entry = entry_of(id, **limits) if limits else course.entry(id)  # type: ignore[arg-type]
    file = folder / entry.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check(course, entry, file, hidden=hidden)
