"""Checks one exercise: runs the answer in its own process, judges what it returns, and says what is wrong.

The same code serves `minirnn check`, plain pytest and `minirnn grade`; grading adds cases with other seeds and sizes.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minirnn.learn.calls import DIFFERENCES, function_case, message_of, takes_differences
from minirnn.learn.course import Course, Entry
from minirnn.learn.exercise import PUBLIC, PUBLIC_CASES, CudaExercise, Exercise, Sizes
from minirnn.learn.judge import Case, Failed, Part, compare, worst
from minirnn.learn.result import Result
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.system_locks import FORKS

COMMENTS = r"//[^\n]*|/\*.*?\*/"
"""Comments of a kernel. In Python, a stub has no text that could be right."""


def check(course: Course, entry: Entry, file: Path, *, hidden: bool = False, device: str = "cuda-sim") -> Result:
    """Check the answer in `file`; with `hidden` also on the cases that only grading knows.

    A CUDA kernel runs in the simulator or, with `device` "cuda", on a GPU, where only its numbers are judged.
    """
    with np.errstate(all="ignore"):  # an answer may return any numbers; the result says what is wrong with them
        result = attempt(course, entry, file, hidden, device)
        return attempt(course, entry, file, hidden, device) if result.busy else result


def attempt(course: Course, entry: Entry, file: Path, hidden: bool, device: str) -> Result:
    """Check once; it is not the answer's fault if the machine is too busy to judge it."""
    start = time.perf_counter()
    seconds: float | None = None
    shown: str | None = None
    result = Result(entry, "failed", device=device)
    try:
        text = result.text = read(file, entry)
        if same_text(text, course.stub(entry), COMMENTS if entry.exercise.kind == "cuda" else ""):
            raise Failed("nothing written yet", not_started=True)
        exercise = entry.exercise
        at_work: type[Child] = Child
        if not FORKS:
            from minirnn.learn.sandbox.unlocked import Unlocked as at_work
        child = at_work(file, entry.file, exercise.function, exercise.kind, entry.limits, device, [course.folder])
        try:
            # What students see must not depend on anything hidden.
            visible = random.SystemRandom()
            run(entry, child, result, text, entry.graded_detail if hidden else entry.detail, visible)
            seconds = time.perf_counter() - start
            if hidden and entry.hidden:
                from minirnn.learn.hidden_kinds import about_hidden

                shown = child.hide_prints()
                wrong = hidden_cases(course, entry, child, chance_of(course, entry, text))
                result.hidden = 0 if wrong else entry.hidden
                result.hidden_message = about_hidden(exercise, wrong, result.passed)
                if result.passed and len(wrong) == len(exercise.hidden_sizes) > 1:
                    result.remarks.append("is right in all cases that students see and wrong in all hidden ones")
        finally:
            child.close()
            if child.imported:
                result.remarks.append("imports minirnn, whose tape can compute any gradient")
            if child.tried:
                result.remarks.append(child.tried)
            if any(part.note for part in result.parts):
                result.remarks.append("computes in float32, so it is judged to fewer digits")
            result.prints, result.hidden_prints = (child.prints, "") if shown is None else (shown, child.prints)
    except Failed as failure:
        result.status = "not started" if failure.not_started else "failed"
        result.busy = failure.busy
        result.place = f"line {failure.line}" if failure.line else ""
        if failure.line:
            result.comments.insert(0, (failure.line, str(failure).splitlines()[0]))
        place = ", ".join(filter(None, [entry.file, result.place]))
        result.message = str(failure) if failure.not_started else f"{place}\n{failure}"
        result.diagnosis = str(failure).splitlines()[0]
    result.seconds = time.perf_counter() - start if seconds is None else seconds
    return result


def chance_of(course: Course, entry: Entry, text: str) -> random.Random:
    """Random numbers for hidden cases: always the same for an answer, unpredictable without the hidden seed."""
    return random.Random(course.derived(entry.id, "chance", text))


def run(entry: Entry, child: Child, result: Result, text: str, detail: str, chance: random.Random) -> None:
    """Have the answer called and judged on the cases that students see, and fill in `result`."""
    exercise = entry.exercise
    if isinstance(exercise, CudaExercise):
        from minirnn.learn.cuda_kernels import kernel_loaded

        kernel_loaded(child)
    simulated = result.device == "cuda-sim"
    try:
        result.parts = parts_of(exercise, child, public_cases(exercise), result.cases, chance, simulated)
    except Failed as failure:
        if failure.line is None or failure.busy or detail == "yes-no":
            raise
        from minirnn.learn.wrong_answer import with_repair

        raise with_repair(exercise, child, result, text, detail, failure) from None
    result.score = sum(points for points, part in zip(shares(entry), result.parts, strict=False) if part.ok)
    if all(part.ok for part in result.parts):
        result.status = "passed"
    else:
        from minirnn.learn.wrong_answer import explain

        explain(entry, child, result, text, detail)


def public_cases(exercise: Exercise) -> list[tuple[list[int], Sizes]]:
    """Seeds and sizes of the cases that students see."""
    if exercise.kind == "tester":
        return [([0], PUBLIC)]
    return [([0, k] if exercise.kind == "cuda" else [k], sizes) for k, sizes in PUBLIC_CASES]


def parts_of(
    exercise: Exercise,
    child: Child,
    which: Sequence[tuple[Sequence[int], Sizes]],
    cases: list[Case],
    chance: random.Random,
    simulated: bool = True,
) -> list[Part]:
    """Have the answer called on the cases `which`, and judge its outputs. What it returned is added to `cases`.

    The backward passes that a student's test is tried on are drawn from `chance`.
    """
    if isinstance(exercise, CudaExercise):
        from minirnn.learn.cuda_kernels import kernel_parts

        return kernel_parts(exercise, child, which, cases, simulated)
    if exercise.training:
        from minirnn.learn.models import model_parts

        return model_parts(exercise, child, which, cases)
    if exercise.kind == "tester":
        from minirnn.learn.testers import tester_parts

        return worst([tester_parts(exercise, child, chance) for _ in which])
    found = [function_case(exercise, child, exercise.case(seed, sizes)) for seed, sizes in which]
    cases += found
    return worst([keeping_to_the_statement(exercise, child, c, compare(exercise, c.expected, c.got)) for c in found])


def keeping_to_the_statement(exercise: Exercise, child: Child, case: Case, parts: list[Part]) -> list[Part]:
    """The outputs of a case; those that were computed in a way that the statement forbids are wrong."""
    right = [part.name for part in parts if part.ok]
    said = exercise.broken(case.inputs, right)
    if not said and takes_differences(exercise, child, case, right):
        said = DIFFERENCES
    if said:
        return [replace(part, ok=False, error=np.inf, complaint=part.complaint or said) for part in parts]
    for line, warning in case.warned:
        if exercise.never and re.search(exercise.never, warning):
            reach = child.call(message_of(case.inputs, trials=[])[0]).reach
            names = [list(exercise.outputs)[k] for k in reach.get(line, range(len(parts)))]
            said = f"line {line}: {warning}, which the numbers survive, but the exercise does not allow it"
            odd = [p.name for p in parts if p.ok and p.name in names]
            parts = [replace(p, ok=False, error=np.inf, complaint=said) if p.name in odd else p for p in parts]
    return parts


def shares(entry: Entry) -> list[int]:
    """The points of each output: whole numbers, as equal as possible. What a model has learned gets the rest."""
    n = len(entry.exercise.judged)
    if entry.exercise.training and entry.points >= n:
        return [1] * (n - 1) + [entry.points - n + 1]
    return [entry.points // n + (k < entry.points % n) for k in range(n)]


def read(file: Path, entry: Entry) -> str:
    """The text of the file, as far as it can be decoded. Its own process finds out whether it is valid Python."""
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise Failed(f"the file does not exist\n  restore it with: minirnn reset {entry.id}") from None
    except OSError as error:
        raise Failed(f"the file cannot be read: {error.strerror}") from None


def same_text(a: str, b: str, comments: str = "") -> bool:
    """Whether two texts differ in spaces only, or in `comments` (a regular expression)."""
    a, b = (re.sub(comments, " ", text, flags=re.DOTALL) if comments else text for text in (a, b))
    return a.split() == b.split()


# ---- grading only


def hidden_cases(course: Course, entry: Entry, child: Child, chance: random.Random) -> list[Sizes]:
    """The sizes of the hidden cases that are wrong. Raises `Failed` if the machine is too busy to tell."""
    wrong = list(entry.exercise.hidden_sizes)
    try:
        if isinstance(entry.exercise, CudaExercise):
            from minirnn.learn.cuda_kernels import kernel_loaded

            kernel_loaded(child)
        for k, sizes in enumerate(entry.exercise.hidden_sizes):
            with wrong_answers_cost_their_case():
                seed = course.derived(entry.id, "case", k)
                if all(part.ok for part in parts_of(entry.exercise, child, [([seed], sizes)], [], chance)):
                    wrong.remove(sizes)
    except Failed as failure:
        if failure.busy:
            raise
    return wrong


@contextlib.contextmanager
def wrong_answers_cost_their_case() -> Iterator[None]:
    """A failure in a hidden case is not reported and does not end the check."""
    try:
        yield
    except Failed as failure:
        if failure.busy:
            raise
