"""Finds students whose answers are more alike than usual in the class. This is a hint where to look, not a verdict.

Answers that compute a formula are always similar. So two answers are compared with the median similarity of answers to
that exercise. Two with the same unusual mistake are far above it, while two right ones are not. rapidfuzz compares the
words and signs that `tokens` finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from minirnn.learn.course import Course, CourseError, Entry
from minirnn.learn.grading import reading
from minirnn.learn.reports.csv import line

FEWEST_TOKENS = 25
"""A shorter answer gives no evidence of where it comes from."""
FEWEST_STUDENTS = 4
"""With fewer answers to an exercise, the usual similarity is unknown."""
MOST_TOKENS = 4000
STANDS_OUT = 0.5
"""A pair is named if its squared excess similarity is at least half of the possible one."""
MOST_PAIRS = 200
HINT = "a hint where to look, never a verdict: short answers to one question resemble each other"


class Pair(NamedTuple):
    """Two students, their excess similarity, and the exercises in which they have it (similarity, usual similarity)."""

    one: str
    other: str
    excess: float
    exercises: list[tuple[str, float, float]]


@dataclass
class Exercise:
    """The answers to an exercise as strings in which each character is a token."""

    entry: Entry
    students: list[int]
    texts: list[str]


def pairs(course: Course, answers: Mapping[str, Mapping[str, bytes]], most: int = MOST_PAIRS) -> list[Pair]:
    """The pairs of students whose answers are most alike, the most conspicuous first.

    Parameters
    ----------
    course : Course
        The exercises, whose stubs are taken out of the answers.
    answers : mapping
        Student -> id -> bytes of the file.

    Raises
    ------
    CourseError
        If rapidfuzz is not installed.
    """
    needs_rapidfuzz()
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    students = sorted(answers)
    total = np.zeros((len(students), len(students)), np.float32)
    kept: dict[tuple[int, int], list[tuple[str, float, float]]] = {}
    for exercise in exercises(course, students, answers):
        alike = process.cdist(exercise.texts, exercise.texts, scorer=Indel.normalized_similarity, dtype=np.float32)
        usual = usual_of(alike)
        room = np.maximum(1 - usual, 0.02)
        excess = np.clip((alike - usual) / room, 0, 1) ** 2
        where = np.array(exercise.students)
        # An answer that resembles all others is no evidence.
        total[np.ix_(where, where)] += excess * np.minimum(1, 4 * room)
        for a, b in zip(*np.nonzero(np.triu(excess > STANDS_OUT, 1)), strict=True):
            key = (exercise.students[a], exercise.students[b])
            kept.setdefault(key, []).append((exercise.entry.id, float(alike[a, b]), float(usual[a, b])))
    ranked = sorted(kept, key=lambda key: (-total[key], students[key[0]], students[key[1]]))[:most]
    return [Pair(students[a], students[b], float(total[a, b]), kept[a, b]) for a, b in ranked]


def usual_of(alike: np.ndarray) -> np.ndarray:
    """For each pair, the usual similarity: the larger of the two students' median similarities to the class."""
    others = alike + np.diag(np.full(len(alike), np.nan, alike.dtype))
    medians = np.nanmedian(others, axis=1)
    return np.maximum.outer(medians, medians)


def needs_rapidfuzz() -> None:
    """Raises CourseError if rapidfuzz is not installed."""
    if find_spec("rapidfuzz") is None:
        raise CourseError('similarity needs rapidfuzz\n  install it: pip install "minirnn[similarity]"')


def exercises(
    course: Course, students: Sequence[str], answers: Mapping[str, Mapping[str, bytes]]
) -> Iterator[Exercise]:
    """The exercises that enough students have answered at enough length."""
    for entry in course.entries.values():
        known: dict[str, str] = {}
        who, texts = [], []
        there = [k for k, student in enumerate(students) if entry.id in answers[student]]
        files = [answers[students[k]][entry.id] for k in there]
        read = reading.words(files, course.stub(entry), entry.file.endswith(".py"), MOST_TOKENS)
        for k, words in zip(there, read, strict=True):
            if len(words) >= FEWEST_TOKENS:
                who.append(k)
                texts.append("".join(known.setdefault(word, chr(0x100 + len(known) % 50_000)) for word in words))
        if len(who) >= FEWEST_STUDENTS:
            yield Exercise(entry, who, texts)


def as_csv(found: Iterable[Pair]) -> Iterator[str]:
    """The pairs as a table."""
    yield line(["one", "other", "excess", "exercises", "this is"])
    for pair in found:
        where = "; ".join(f"{id} {100 * a:.0f} % alike (usual {100 * u:.0f} %)" for id, a, u in pair.exercises)
        yield line([pair.one, pair.other, f"{pair.excess:.2f}", where, HINT])
