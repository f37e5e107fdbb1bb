"""Checks one exercise: runs the answer in its own process, judges what it returns, and says what is wrong.

The same code serves `minirnn check`, plain pytest and `minirnn grade`; grading adds cases with other seeds and sizes.
"""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass, field
from pathlib import Path

from minirnn.learn.calls import Failed, function_case, worst
from minirnn.learn.catalog.cuda import Kernel
from minirnn.learn.course import Course, Entry
from minirnn.learn.diagnose import Case, diagnose
from minirnn.learn.exercise import HIDDEN, PUBLIC, PUBLIC_CASES, Exercise
from minirnn.learn.judge import Part, WrongShape, compare, rows
from minirnn.learn.kernels import kernel_loaded, kernel_parts
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.testers import tester_parts


@dataclass
class Result:
    """What a check found.

    Attributes
    ----------
    status : str
        "passed", "failed" or "not started".
    parts : list of Part
        Right or wrong, output by output; empty if the answer could not be run.
    score, hidden : int
        Points, of `Entry.points` and `Entry.hidden`; hidden counts only when graded.
    message : str
        What to tell the student, several lines.
    diagnosis : str
        The cause on one line; empty if none is known.
    prints : str
        What the answer printed.
    """

    entry: Entry
    status: str
    parts: list[Part] = field(default_factory=list)
    score: int = 0
    hidden: int = 0
    hidden_message: str = ""
    message: str = ""
    diagnosis: str = ""
    prints: str = ""
    seconds: float = 0.0
    cases: list[Case] = field(default_factory=list)
    exact: bool = False
    device: str = "cuda-sim"

    @property
    def passed(self) -> bool:
        return self.status == "passed"


def check(course: Course, entry: Entry, file: Path, *, hidden: bool = False, device: str = "cuda-sim") -> Result:
    """Check the answer in `file`; with `hidden` on the cases that only grading knows as well.

    A kernel runs in the simulator, or, with `device` "cuda", on a GPU: the numbers it gives there and nothing else.
    """
    start = time.perf_counter()
    result = Result(entry, "failed", device=device)
    try:
        text = read(file, entry)
        if same_text(text, course.stub(entry)):
            raise Failed("nothing written yet", not_started=True)
        child = Child(file, entry.file, entry.exercise.function, entry.exercise.kind, entry.limits, device)
        try:
            run(course, entry, child, result, text, hidden)
        finally:
            child.close()
            result.prints = child.prints
    except Failed as failure:
        result.status = "not started" if failure.not_started else "failed"
        place = entry.file + (f", line {failure.line}" if failure.line else "")
        result.message = str(failure) if failure.not_started else f"{place}\n{failure}"
        result.diagnosis = str(failure).splitlines()[0]
    result.seconds = time.perf_counter() - start
    return result


def run(course: Course, entry: Entry, child: Child, result: Result, text: str, hidden: bool) -> None:
    """Fill in `result`."""
    exercise = entry.exercise
    if isinstance(exercise, Kernel):
        kernel_loaded(child)
        simulated = result.device == "cuda-sim"
        result.parts = kernel_parts(exercise, child, cases=result.cases, simulated=simulated)
    elif exercise.kind == "tester":
        result.parts = tester_parts(exercise, child, [0])
    else:
        result.cases = [function_case(exercise, child, exercise.case([seed], sizes)) for seed, sizes in PUBLIC_CASES]
        result.parts = worst([compare(exercise, c.expected, c.got) for c in result.cases])
    result.score = sum(points for points, part in zip(shares(entry), result.parts, strict=False) if part.ok)
    if all(part.ok for part in result.parts):
        result.status = "passed"
    else:
        explain(entry, child, result, text)
    if hidden and entry.hidden:
        right, total = hidden_cases(course, entry, child)
        result.hidden = entry.hidden if right == total else 0
        result.hidden_message = f"{right} of {total} hidden checks are right"


def shares(entry: Entry) -> list[int]:
    """The points of each output: whole numbers, as equal as can be."""
    n = len(entry.exercise.outputs) + (len(entry.exercise.counts) if isinstance(entry.exercise, Kernel) else 0)
    return [entry.points // n + (k < entry.points % n) for k in range(n)]


def read(file: Path, entry: Entry) -> str:
    """The text of the file, as well as it can be read; whether it is right Python, its own process finds out."""
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise Failed(f"there is no such file\n  get it back with: minirnn reset {entry.id}") from None
    except OSError as error:
        raise Failed(f"the file cannot be read: {error.strerror}") from None


def same_text(a: str, b: str) -> bool:
    return a.split() == b.split()


# ---- what is said about a failure


def explain(entry: Entry, child: Child, result: Result, text: str) -> None:
    """Find the cause and put the message together, as much of it as the course allows."""
    exercise, wrong = entry.exercise, [p for p in result.parts if not p.ok]
    complaints = [f"  {p.complaint}" for p in wrong if p.complaint]
    lines: list[str] = []
    if complaints:
        lines += complaints
        result.diagnosis = complaints[0].strip()
    elif exercise.kind == "python":
        found = diagnose(exercise, result.cases)
        if found is not None:
            result.diagnosis, result.exact = found.sentence, found.exact
            lines += [f"  {line}" for line in found.lines]
            place = assigned(text, found.target)
            where = f", line {place} (where you assign {found.target})" if place else ""
            lines += ["", f"  {entry.file}{where}"]
        if found is None or not found.exact:
            step = ladder(exercise, child)
            lines += ["", f"  {step}"] if step else []
            result.diagnosis = result.diagnosis or step
    if entry.detail == "count":
        result.message = f"{len(wrong)} of {len(result.parts)} are wrong"
        return
    table = "\n".join(rows(result.parts))
    result.message = table if entry.detail == "gradient" else "\n".join([table, "", *lines]).rstrip()


def assigned(text: str, target: str) -> int | None:
    """The line in which the student's code assigns `target`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if target in {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}:
                return node.lineno
    return None


def ladder(exercise: Exercise, child: Child) -> str:
    """From which simpler case on it goes wrong."""
    passed = ""
    for rung in exercise.ladder:
        try:
            case = function_case(exercise, child, exercise.case([2], PUBLIC, rung))
        except Failed as failure:
            return f"{rung.name} it fails: {failure}"
        if any(not part.ok for part in compare(exercise, case.expected, case.got)):
            before = f"Right {passed}; wrong" if passed else "Wrong already"
            return f"{before} {rung.name}: look at {rung.look}."
        passed = rung.name
    return ""


# ---- grading only


def hidden_cases(course: Course, entry: Entry, child: Child) -> tuple[int, int]:
    """How many of the hidden cases are right, and of how many."""
    exercise, seed = entry.exercise, course.hidden_seed
    right = 0
    for k, sizes in enumerate(HIDDEN):
        try:
            if isinstance(exercise, Kernel):
                parts = kernel_parts(exercise, child, [(k, sizes)], seed)
            elif exercise.kind == "tester":
                parts = tester_parts(exercise, child, [seed, k])
            else:
                case = function_case(exercise, child, exercise.case([seed, k], sizes))
                parts = compare(exercise, case.expected, case.got)
        except (Failed, WrongShape):
            continue
        right += all(part.ok for part in parts)
    return right, len(HIDDEN)
