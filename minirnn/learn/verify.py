"""Checks a course: stubs earn no points, solutions earn all, and mistakes are recognized by name."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.learn.catalog import EXERCISES
from minirnn.learn.check import check
from minirnn.learn.cleaned import several
from minirnn.learn.course import HERE, Course, Entry
from minirnn.learn.diagnose import all_zero, diagnose
from minirnn.learn.exercise import PUBLIC_CASES, Exercise
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.judge import Case, equal
from minirnn.learn.mutants import mutants
from minirnn.learn.new_exercise import ENTRY, EXAMPLES
from minirnn.learn.result import Result
from minirnn.learn.teacher_exercise import REFERENCES, failure


def verify(
    course: Course, seconds: dict[str, float] | None = None, only: Collection[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """The id of each exercise, or of those in `only`, with complaints. `seconds` gets the duration of each check."""
    with tempfile.TemporaryDirectory(prefix="minirnn-verify-") as work:
        for entry in [course.entry(id) for id in only] or course.entries.values():
            try:
                found = complaints(course, entry, Path(work), seconds)
            except Exception as error:
                if not entry.own:
                    raise
                found = [failure(error, course.folder / REFERENCES / entry.own)]  # in a mistake or a hidden case
            yield entry.id, found
    for path in [] if only else without_entry(course):
        yield path.stem, [f"{path} is in no [[exercise]] of course.toml"]


def without_entry(course: Course) -> Iterator[Path]:
    """The files of exercises that students do not get, because course.toml does not list them."""
    known = [EXERCISES[id].path for id in EXERCISES if course.folder != HERE.absolute()]
    known += [entry.exercise.path for entry in course.entries.values()]
    for kind, used in (("exercises", known), (REFERENCES, [entry.own for entry in course.entries.values()])):
        for path in sorted((course.folder / kind).rglob("*.*")):
            if path.suffix in (".py", ".cu") and str(path.relative_to(course.folder / kind).as_posix()) not in used:
                yield path.relative_to(course.folder)


def complaints(course: Course, entry: Entry, work: Path, seconds: dict[str, float] | None = None) -> list[str]:
    """All complaints about an exercise; `work` is a folder for its answers."""
    found = [*files(course, entry, work, seconds), *worth(course, entry), *half_made(course, entry)]
    return [*found, *mistakes(entry.exercise), *hidden(entry.exercise), *slips(course, entry, work)]


def files(course: Course, entry: Entry, work: Path, seconds: dict[str, float] | None = None) -> Iterator[str]:
    """Complaints about the stub and the solution, each judged as an answer."""
    stub = judged(course, entry, work, course.stub(entry))
    if stub.status != "not started" or stub.score:
        yield f"the stub counts as {stub.status} and earns {stub.score} of {entry.points} points{after(stub)}"
    cuda = entry.exercise.kind == "cuda"  # a CUDA kernel that does nothing runs but is wrong
    stub = judged(course, entry, work, course.stub(entry) + ("struct Begun {};\n" if cuda else "# begun\n"))
    if stub.status != ("failed" if cuda else "not started") or stub.score:
        earns = f"earns {stub.score} of {entry.points} points"
        yield f"the stub counts as {stub.status} and {earns} once it is begun{after(stub)}"
    text, file = course.solution(entry), f"solutions/{entry.exercise.path}"
    if entry.own and not (course.folder / file).is_file():
        yield f"{file}: no such file; the reference is tried as the solution"
        file = f"{REFERENCES}/{entry.own}"
    solution = judged(course, entry, work, text, hidden=True)
    if seconds is not None:  # a CUDA kernel is compiled by now
        seconds[entry.id] = judged(course, entry, work, text).seconds
    if not solution.passed or solution.hidden != entry.hidden:
        said = solution.message or solution.hidden_message
        yield f"the solution fails: {said.replace(entry.file, file)}"
    if solution.score + solution.hidden != entry.points + entry.hidden:
        yield f"the solution earns {solution.score + solution.hidden} of {entry.points + entry.hidden} points"


def after(result: Result) -> str:
    """What a check says, after a colon."""
    return f": {result.message}" if result.message else ""


def half_made(course: Course, entry: Entry) -> Iterator[str]:
    """Complaints about a teacher's own exercise that still has texts of its template, or results of another shape."""
    if not entry.own:
        return
    for hint in entry.hints:
        if f'"{hint}"' in ENTRY:
            yield f"a hint is still the template's: {hint}"
    if any(example in course.stub(entry) for example in EXAMPLES):
        yield f"{entry.file} still describes the template's example"
    sizes = PUBLIC_CASES[0][1]
    expected = entry.exercise.expected(entry.exercise.case([0], sizes))
    for name, axes in entry.exercise.outputs.items():
        shape = tuple(getattr(sizes, axis) for axis in re.findall(r"[TBIH]", axes))
        if re.fullmatch(r"\([TBIH, ]*\)", axes) and np.shape(expected[name]) != shape:
            got = f"has the shape {np.shape(expected[name])}"
            yield f"{name} {got}, but OUTPUTS says {axes}, which is {shape} for {sizes}"


def judged(course: Course, entry: Entry, work: Path, text: str, hidden: bool = False) -> Result:
    """The result of checking `text` as an answer."""
    file = work / entry.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return check(course, entry, file, hidden=hidden)


def slips(course: Course, entry: Entry, work: Path) -> Iterator[str]:
    """Complaints about planted mistakes in the solution that pass or are not named correctly."""
    text = course.solution(entry)
    for slip in entry.exercise.slips:
        wrong = text
        for old, new in slip.changes:
            if old not in wrong:
                yield f"cannot be planted, since the solution has no {old!r}: {slip.sentence}"
            wrong = wrong.replace(old, new)
        result = judged(course, entry, work, wrong)
        if result.passed:
            yield f"passes: {slip.sentence}"
        elif entry.detail == "full" and slip.said not in result.message:
            yield f"{slip.sentence} is said to be: {result.message}"


def worth(course: Course, entry: Entry) -> Iterator[str]:
    """Complaints about hints, points and required exercises."""
    before = list(course.entries)[: list(course.entries).index(entry.id)]
    for need in entry.needs:
        if need not in before:
            yield f"it needs {need}, which {'comes later' if need in course.entries else 'the course does not have'}"
    if len(entry.hints) != 3:
        yield f"{several(len(entry.hints), 'hint')}, expected 3"
    if entry.points < len(entry.exercise.judged):
        number = len(entry.exercise.judged)
        yield f"{several(entry.points, 'point')} for {number} outputs: some outputs are worth nothing"


def hidden(exercise: Exercise) -> Iterator[str]:
    """Complaints about terms and factors that the inputs hide, so that an answer without them would earn all points."""
    if exercise.kind != "python":
        return
    inputs = [exercise.case([seed], sizes) for seed, sizes in PUBLIC_CASES]
    try:
        program = Program(exercise.reference, tuple(exercise.outputs))
        right = [program.run(one) for one in inputs]
        found = [m for m in mutants(program, inputs[0]) if m.kind in ("missing", "factor")]
    except Exception:  # a reference without source, or one that cannot be interpreted line by line
        return
    for mutant in found:
        try:
            with np.errstate(all="ignore"):
                got = [program.run(one, mutant.changed) for one in inputs]
        except Exception:  # shapes do not match, so such a change earns no points
            continue
        same = all(equal(one[n], other[n]) for one, other in zip(right, got, strict=True) for n in one)
        if same and ".max(" not in mutant.sentence():  # subtracting a constant before exp changes nothing
            yield f"the inputs hide it, so that it earns all points: {mutant.sentence()}"


def mistakes(exercise: Exercise) -> Iterator[str]:
    """Complaints about mistakes that are not noticed, are confused with others, or get a wrong name."""
    if exercise.kind != "python":
        return
    inputs = [exercise.case([seed], sizes) for seed, sizes in PUBLIC_CASES]
    expected = [exercise.expected(one) for one in inputs]
    outputs_of: dict[str, list[dict[str, Any]]] = {}
    with np.errstate(all="ignore"):
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
