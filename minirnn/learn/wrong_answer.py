"""Says what is wrong with an answer: the cause, the place, or the first simpler case that fails.

It is imported only for a wrong answer, because looking for causes takes much code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from minirnn.learn.calls import function_case
from minirnn.learn.cause import cause, mended
from minirnn.learn.course import Entry
from minirnn.learn.diagnose import Diagnosis, searched, wrong_numbers
from minirnn.learn.exercise import PUBLIC, CudaExercise, Exercise
from minirnn.learn.judge import Case, Failed, compare, rows
from minirnn.learn.known_mistakes import KnownMistakes
from minirnn.learn.result import Result
from minirnn.learn.sandbox.parent import Child

KNOWN = KnownMistakes()


def explain(entry: Entry, child: Child, result: Result, text: str, detail: str) -> None:
    """Find the cause and compose the message, with as much detail as the course allows."""
    exercise, wrong = entry.exercise, [p for p in result.parts if not p.ok]
    complaints = list(dict.fromkeys(f"  {p.complaint}" for p in wrong if p.complaint))
    if detail == "yes-no":
        result.message = "wrong"
        return
    lines = complaints
    result.diagnosis = complaints[0].strip() if complaints else ""
    found = diagnosis_of(exercise, result, child, text)
    if found is not None and (found.exact or exercise.kind == "cuda"):  # the cause of a NaN is known
        lines = complaints = [c for c in complaints if "was it never written" not in c]
    if found is not None and (found.exact or not complaints):
        result.diagnosis, result.exact = found.sentence if detail == "full" else found.brief, found.exact
        cause = found.lines if detail == "full" else [found.brief]
        lines = [*(f"  {line}" for line in cause), *([""] if lines else []), *lines]
        lines += ["", f"  {entry.file}{found.place}"]
        result.place = found.place.removeprefix(", ")
        lines_named = re.findall(r"line (\d+)", result.place)
        result.comments = [(int(line), result.diagnosis) for line in lines_named] or list(found.comments)
    if not result.exact and not complaints and exercise.kind == "python":
        places, stage = where_wrong(exercise, result.cases), first_wrong(exercise, child)
        lines += [line for text in (places, stage) if text for line in ("", f"  {text}")]
        result.diagnosis = result.diagnosis or stage or places
        lines = lines or ["  No change to your file and no known mistake explains these numbers."]
    result.message = "\n".join([*rows(result.parts), "", *lines]).rstrip()


def with_repair(
    exercise: Exercise, child: Child, result: Result, text: str, detail: str, failure: Failed
) -> Failed:  # fmt: skip
    """The message about a failure, with its cause if that is known."""
    found = None
    if isinstance(exercise, CudaExercise):
        order = "volatile" in str(failure) and "__threadfence" in str(failure)  # that no change of an index mends
        if result.device == "cuda-sim" and not order:
            from minirnn.learn.kernel_repair import kernel_repair

            found = kernel_repair(exercise, child, text)
    elif exercise.kind == "python" and not failure.ended:
        found = mended(exercise, child, text)
    if found is None:
        return failure
    result.comments = list(found.comments)
    lines = found.lines if detail == "full" else [found.brief]
    return Failed("\n".join([str(failure), "", *(f"  {line}" for line in lines)]), failure.line)


def diagnosis_of(exercise: Exercise, result: Result, child: Child, text: str) -> Diagnosis | None:
    """The cause of wrong numbers, if the answer returned any."""
    if not result.cases or exercise.kind == "tester" or not any(case.wrong for case in result.cases):
        return None
    if isinstance(exercise, CudaExercise):
        from minirnn.learn.diagnose_cuda import diagnose_kernel
        from minirnn.learn.kernel_repair import kernel_repair

        found = KNOWN.diagnosis(exercise, result.cases, lambda: diagnose_kernel(exercise, result.cases))
        if result.device == "cuda-sim":
            return kernel_repair(exercise, child, text, types=found is not None and found.exact) or found
        return found

    def by_numbers() -> Diagnosis | None:
        if any("is right" in part.complaint for part in result.parts):  # the diagnosis says this better
            return None
        return KNOWN.diagnosis(exercise, result.cases, lambda: searched(exercise, result.cases))

    return cause(exercise, child, text, result.cases, by_numbers)


def where_wrong(exercise: Exercise, cases: Sequence[Case]) -> str:
    """Which numbers of each wrong output are wrong, if it is not all of them in every case."""
    said = []
    for name in (n for n in exercise.outputs if any(n in case.wrong for case in cases)):
        places = [wrong_numbers(exercise, case, name) for case in cases]
        if all(places) and len(set(places)) == 1:
            said.append(f"{name} is wrong in {places[0]} only")
    return "; ".join(said)


def first_wrong(exercise: Exercise, child: Child) -> str:
    """A sentence that names the first simpler case that goes wrong."""
    passed = ""
    for stage in exercise.stages:
        try:
            case = function_case(exercise, child, exercise.case([2], PUBLIC, stage))
        except Failed as failure:
            return f"{stage.name} it fails: {failure}"
        if any(not part.ok for part in compare(exercise, case.expected, case.got)):
            before = f"Right {passed}; wrong" if passed else "Wrong already"
            return f"{before} {stage.name}: look at {stage.look}."
        passed = stage.name
    return ""
