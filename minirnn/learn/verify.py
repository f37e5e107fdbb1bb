"""Whether a course keeps what it promises: stubs count as not started, solutions pass, mistakes are told apart."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.learn.check import check
from minirnn.learn.course import Course, Entry
from minirnn.learn.diagnose import Case, all_zero, diagnose
from minirnn.learn.exercise import PUBLIC_CASES, Exercise
from minirnn.learn.judge import equal


def verify(course: Course) -> Iterator[tuple[str, list[str]]]:
    """The id of each exercise, and complaints about it."""
    with tempfile.TemporaryDirectory(prefix="minirnn-verify-") as work:
        for entry in course.entries.values():
            yield entry.id, [*files(course, entry, Path(work)), *worth(entry), *mistakes(entry.exercise)]


def files(course: Course, entry: Entry, work: Path) -> Iterator[str]:
    """Complaints about the stub and the solution, each judged as an answer."""
    file = work / entry.file
    file.parent.mkdir(parents=True, exist_ok=True)
    cuda = entry.exercise.kind == "cuda"  # a CUDA kernel that does nothing runs, and is wrong
    file.write_text(course.stub(entry) + ("// begun\n" if cuda else "# begun\n"), encoding="utf-8")
    stub = check(course, entry, file)
    if stub.status != ("failed" if cuda else "not started"):
        yield f"the stub counts as {stub.status}: {stub.message}"
    file.write_text(course.solution(entry), encoding="utf-8")
    solution = check(course, entry, file, hidden=True)
    if not solution.passed or solution.hidden != entry.hidden:
        yield f"the solution fails: {solution.message or solution.hidden_message}"
    if solution.score + solution.hidden != entry.points + entry.hidden:
        yield f"the solution earns {solution.score + solution.hidden} of {entry.points + entry.hidden} points"


def worth(entry: Entry) -> Iterator[str]:
    """Complaints about hints and points."""
    if len(entry.hints) != 3:
        yield f"{len(entry.hints)} hints, expected 3"
    if entry.points < len(entry.exercise.outputs):
        yield f"{entry.points} points for {len(entry.exercise.outputs)} outputs: some outputs are worth nothing"


def mistakes(exercise: Exercise) -> Iterator[str]:
    """Complaints about mistakes that are not noticed, look like another one, or are called by another name."""
    if exercise.kind != "python":
        return
    inputs = [exercise.case([seed], sizes) for seed, sizes in PUBLIC_CASES]
    expected = [exercise.expected(one) for one in inputs]
    outputs_of: dict[str, list[dict[str, Any]]] = {}
    with np.errstate(all="ignore"):
        if exercise.formula is not None:
            for m in exercise.formula.mutants:
                changed = {m.line.number: m.code}
                outputs_of[m.sentence()] = [exercise.formula.evaluate(one, changed) for one in inputs]
        for wrong in exercise.wrong:
            outputs_of[wrong.sentence] = [exercise.named(wrong.function(**one)) for one in inputs]
    outputs_of = {sentence: got for sentence, got in outputs_of.items() if not all_zero(got)}
    for sentence, got in outputs_of.items():
        cases = [Case(*three) for three in zip(inputs, expected, got, strict=True)]
        found = diagnose(exercise, cases)
        if found is None:
            yield f"not noticed: {sentence}"
        elif not found.exact or sentence not in found.sentence + " ".join(found.lines):
            yield f"called by another name: {sentence} is said to be: {found.sentence}"
    for (a, outputs), (b, others) in itertools.combinations(outputs_of.items(), 2):
        if all(equal(one[n], other[n]) for one, other in zip(outputs, others, strict=True) for n in one):
            yield f"cannot be told apart: {a}; and: {b}"
