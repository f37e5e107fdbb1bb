"""Checks one exercise: runs the answer in its own process, judges what it returns, and says what is wrong.

The same code serves `minirnn check`, plain pytest and `minirnn grade`; grading adds cases with other seeds and sizes.
"""

from __future__ import annotations

import ast
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.learn import given
from minirnn.learn.catalog.cuda import Kernel
from minirnn.learn.catalog.tests import wrong_cells
from minirnn.learn.course import Course, Entry
from minirnn.learn.diagnose import Case, Diagnosis, diagnose
from minirnn.learn.exercise import HIDDEN, PUBLIC, Exercise, Inputs, Sizes
from minirnn.learn.formula import Formula
from minirnn.learn.judge import Part, WrongShape, compare, outputs_of
from minirnn.learn.sandbox import Child, Reply

PUBLIC_CASES = ((0, PUBLIC), (1, Sizes(T=3, B=3, I=4, H=2)))
ORDERS = (0, 1, 2)
"""Orders in which the simulator lets threads take turns."""
GIVEN = {given.lstm_cell_forward: ("given.py", "lstm_cell_forward")}


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


class Failed(Exception):
    """The answer cannot be judged; the text says why, and in which line."""

    def __init__(self, text: str, line: int | None = None, not_started: bool = False) -> None:
        super().__init__(text)
        self.line, self.not_started = line, not_started


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


# ---- functions


def function_case(exercise: Exercise, child: Child, inputs: Inputs) -> Case:
    """Call the answer on `inputs`. Raises `Failed` if nothing comparable comes back."""
    reply = child.call(*message_of(inputs))
    value = value_of(reply, exercise)
    try:
        return Case(inputs, exercise.expected(inputs), outputs_of(exercise, value))
    except WrongShape as error:
        raise Failed(str(error)) from None


def message_of(inputs: Inputs, **more: Any) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
    """The inputs as a message; functions stay here and are served, but for those an answer may see."""
    functions = {name: value for name, value in inputs.items() if callable(value)}
    shown = {name: GIVEN[f] for name, f in functions.items() if f in GIVEN}
    served = {name: f for name, f in functions.items() if name not in shown}
    plain = {name: value for name, value in inputs.items() if name not in functions}
    return {"arguments": plain, "callbacks": list(served), "given": shown, **more}, served


def value_of(reply: Reply, exercise: Exercise) -> dict[str, Any]:
    if reply.fatal:
        raise Failed(reply.fatal, reply.line)
    if reply.error is not None:
        raise failure_of(reply.error, exercise)
    if not isinstance(reply.value, dict):
        raise Failed("what came back could not be read")
    return reply.value


def failure_of(error: Mapping[str, Any], exercise: Exercise) -> Failed:
    """An exception in the student's file, in words."""
    kind, text, line = str(error.get("type")), str(error.get("text")), error.get("line")
    line = line if isinstance(line, int) else None
    code = f"\n    {error['code']}" if error.get("code") else ""
    if kind == "NotImplementedError":
        return Failed("nothing written yet", line, not_started=True)
    if kind == "UnicodeDecodeError" or (kind == "SyntaxError" and "encoding" in text):
        return Failed(
            f"the file is not UTF-8 text: {text}\n  save it as UTF-8, or declare its encoding in the first line"
        )
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return Failed(f"this is not valid Python: {text}{code}", line)
    if kind == "Missing":
        defined = f"it defines {text}" if text and exercise.kind != "cuda" else text
        return Failed(f"there is no {exercise.function}" + (f"; {defined}" if defined else ""))
    if kind == "SystemExit":
        return Failed("the answer calls exit: return the gradients instead", line)
    if kind == "MemoryError":
        return Failed(f"the answer needs too much memory{code}", line)
    if kind == "ValueError" and "read-only" in text:
        return Failed(f"this changes an input in place: make a new array instead{code}", line)
    if kind == "TypeError" and line is None and f"{exercise.function}()" in text:
        wanted = ", ".join(inspect.signature(exercise.reference).parameters)
        return Failed(f"{text}\n  expected the arguments {wanted}: keep their names")
    if exercise.kind == "cuda" and kind.endswith("Error"):
        return Failed(text, line)
    return Failed(f"{kind}: {text}{code}", line)


def worst(cases: Sequence[Sequence[Part]]) -> list[Part]:
    """Each output as bad as in its worst case."""
    return [max(parts, key=lambda p: (not p.ok, p.error)) for parts in zip(*cases, strict=True)]


# ---- kernels


def kernel_loaded(child: Child) -> None:
    reply = child.wait()
    if reply.fatal:
        raise Failed(reply.fatal)
    if reply.error is not None:
        kind, text = str(reply.error.get("type")), str(reply.error.get("text"))
        if kind == "UnicodeDecodeError":
            raise Failed(f"the file is not UTF-8 text: {text}")
        raise Failed(text, reply.error.get("line"))


def kernel_parts(
    exercise: Kernel,
    child: Child,
    which: Any = PUBLIC_CASES,
    seed: int = 0,
    cases: list[Case] | None = None,
    simulated: bool = True,
) -> list[Part]:
    """Run the kernel on the cases, each in several orders of its threads; what is counted is counted once.

    A GPU chooses the order by itself and counts nothing.
    """
    judged, counts = [], {}
    for k, (number, sizes) in enumerate(which):
        inputs = exercise.case([seed, number], sizes)
        expected = exercise.expected(inputs)
        for order in ORDERS if simulated else ORDERS[:1]:
            counted = simulated and k == 0 and order == ORDERS[0]
            grid, block = exercise.launch(inputs)
            message = {"arguments": inputs, "order": order, "grid": list(grid), "block": list(block),
                       "outputs": list(exercise.outputs), "counted": counted}  # fmt: skip
            reply = child.call(message)
            got = outputs_of(exercise, value_of(reply, exercise))
            judged.append(compare(exercise, expected, got))
            if cases is not None and order == ORDERS[0]:
                cases.append(Case(inputs, expected, got))
            if counted:
                counts = {c.name: (reply.counts.get(c.measure, -1), c.most(inputs), c.look) for c in exercise.counts}
    return worst(judged) + [counted_part(name, *numbers) for name, numbers in counts.items()]


def counted_part(name: str, number: Any, most: int, look: str) -> Part:
    ok = isinstance(number, int) and 0 <= number <= most
    return Part(name, ok, 0.0 if ok else float("inf"), "" if ok else f"{number} {name}, allowed are {most}: {look}")


# ---- tests written by students


def tester_parts(exercise: Exercise, child: Child, seed: list[int]) -> list[Part]:
    """Try the student's test on a right backward pass, and on every wrong one; by kind of mistake."""
    formula = exercise.formula
    assert formula is not None
    probe = wrong_cells(np.random.default_rng([21, *seed]), PUBLIC)
    right = formula.evaluate(probe)
    for name, backward in {"as it stands": backward_of(formula, {}), "written differently": other_way(formula)}.items():
        complaint = verdict(exercise, child, backward, [*seed, 0])
        if complaint is not None:
            text = f"your test rejects a right backward pass ({name}): {complaint}"
            return [Part(n, False, float("inf"), text if n == "right" else "") for n in exercise.outputs]
    missed: dict[str, list[str]] = {kind: [] for kind in exercise.outputs[1:]}
    for number, mutant in enumerate(formula.mutants):
        with np.errstate(all="ignore"):
            outputs = formula.evaluate(probe, {mutant.line.number: mutant.code})
        if all(np.allclose(outputs[n], right[n]) for n in right):
            continue  # not wrong at all
        backward = backward_of(formula, {mutant.line.number: mutant.code})
        if verdict(exercise, child, backward, [*seed, number + 1]) is None:
            missed[mutant.kind].append(mutant.sentence())
    parts = [Part("right", True, 0.0)]
    for kind, sentences in missed.items():
        more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
        complaint = f"your test accepts a wrong one: {sentences[0]}{more}" if sentences else ""
        parts.append(Part(kind, not sentences, float(len(sentences)), complaint))
    return parts


def backward_of(formula: Formula, changed: Mapping[int, str]) -> Callable[..., Any]:
    def backward(*args: Any) -> list[Any]:
        if len(args) != len(formula.parameters):
            raise TypeError(f"backward takes {len(formula.parameters)} arguments: {', '.join(formula.parameters)}")
        with np.errstate(all="ignore"):
            outputs = formula.evaluate(dict(zip(formula.parameters, args, strict=True)), changed)
        return list(outputs.values())

    return backward


def other_way(formula: Formula) -> Callable[..., Any]:
    """The right numbers with other rounding: a test that wants equal bits is no good."""
    exact = backward_of(formula, {})
    return lambda *args: [a * (1 + 1e-12) for a in exact(*args)]


def verdict(exercise: Exercise, child: Child, backward: Callable[..., Any], seed: list[int]) -> str | None:
    """None if the student's test accepts, else what it says."""
    inputs = {**exercise.case(seed), "backward": backward}
    message, served = message_of(inputs, seed=seed)
    reply = child.call(message, served)
    if reply.error is not None and reply.error.get("type") == "AssertionError":
        return str(reply.error.get("text")) or "AssertionError"
    value = value_of(reply, exercise)
    returned = value.get("single")
    return (
        "it returned False"
        if isinstance(returned, np.ndarray) and returned.dtype == bool and not returned.all()
        else None
    )


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


def rows(parts: Sequence[Part]) -> list[str]:
    """The outputs in columns with their errors."""
    width = max(len(p.name) for p in parts)
    cells = [f"{p.name:{width}}  {number(p)}  {'ok' if p.ok else 'x '}" for p in parts]
    return ["  " + "      ".join(cells[k : k + 3]) for k in range(0, len(cells), 3)]


def number(part: Part) -> str:
    if part.ok:
        return "     "
    if part.error < 0.005:
        return f"{part.error:5.0e}"
    return f"{part.error:5.2f}" if part.error < 100 else f"{part.error:5.0e}" if np.isfinite(part.error) else "   - "


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


__all__ = ["Diagnosis", "Failed", "Result", "check"]
