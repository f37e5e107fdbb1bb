"""What a course promises, checked: stubs count as not started, solutions pass, mistakes are told apart."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from minirnn.learn.check import check
from minirnn.learn.course import Course, Entry
from minirnn.learn.diagnose import Case, all_zero, diagnose
from minirnn.learn.exercise import PUBLIC_CASES, Exercise
from minirnn.learn.judge import equal


def verify(course: Course) -> Iterator[tuple[str, list[str]]]:
    """For each exercise its id and what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="minirnn-verify-") as work:
        for entry in course.entries.values():
            yield entry.id, [*as_files(course, entry, Path(work)), *of_entry(entry), *of_mistakes(entry.exercise)]


def as_files(course: Course, entry: Entry, work: Path) -> Iterator[str]:
    file = work / entry.file
    file.parent.mkdir(parents=True, exist_ok=True)
    kernel = entry.exercise.kind == "cuda"  # one that does nothing runs, and is wrong
    file.write_text(course.stub(entry) + ("// begun\n" if kernel else "# begun\n"), encoding="utf-8")
    stub = check(course, entry, file)
    if stub.status != ("failed" if kernel else "not started"):
        yield f"the stub counts as {stub.status}: {stub.message}"
    file.write_text(course.solution(entry), encoding="utf-8")
    solution = check(course, entry, file, hidden=True)
    if not solution.passed or solution.hidden != entry.hidden:
        yield f"the solution fails: {solution.message or solution.hidden_message}"
    if solution.score + solution.hidden != entry.points + entry.hidden:
        yield f"the solution earns {solution.score + solution.hidden} of {entry.points + entry.hidden} points"


def of_entry(entry: Entry) -> Iterator[str]:
    if len(entry.hints) != 3:
        yield f"{len(entry.hints)} hints, expected 3"
    if entry.points < len(entry.exercise.outputs):
        yield f"{entry.points} points for {len(entry.exercise.outputs)} outputs: some outputs are worth nothing"


def of_mistakes(exercise: Exercise) -> Iterator[str]:
    """Mistakes that make no difference, that look like another one, or whose name is not found."""
    if exercise.kind != "python":
        return
    inputs = [exercise.case([seed], sizes) for seed, sizes in PUBLIC_CASES]
    expected = [exercise.expected(one) for one in inputs]
    mistakes = {}
    with np.errstate(all="ignore"):
        if exercise.formula is not None:
            for m in exercise.formula.mutants:
                changed = {m.line.number: m.code}
                mistakes[m.sentence()] = [exercise.formula.evaluate(one, changed) for one in inputs]
        for wrong in exercise.wrong:
            mistakes[wrong.sentence] = [exercise.named(wrong.function(**one)) for one in inputs]
    mistakes = {sentence: got for sentence, got in mistakes.items() if not all_zero(got)}
    for sentence, got in mistakes.items():
        cases = [Case(*three) for three in zip(inputs, expected, got, strict=True)]
        found = diagnose(exercise, cases)
        if found is None:
            yield f"not noticed: {sentence}"
        elif not found.exact or sentence not in found.sentence + " ".join(found.lines):
            yield f"called by another name: {sentence} is said to be: {found.sentence}"
    for (a, outputs), (b, others) in itertools.combinations(mistakes.items(), 2):
        if all(equal(one[n], other[n]) for one, other in zip(outputs, others, strict=True) for n in one):
            yield f"cannot be told apart: {a}; and: {b}"
