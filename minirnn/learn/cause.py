"""The cause of wrong numbers, from all that is known about an answer: first its own text, then what it returned.

The best explanation is one change to the student's file that makes it right, because it has a line and the student's
own names. Only if there is none, or mere arithmetic, are changes to the reference tried that give the answer's numbers;
then come inputs that the answer never uses, then several changes to the file. A guess comes last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of, value_of
from minirnn.learn.cleaned import cleaned
from minirnn.learn.diagnose import Diagnosis, at_once, searched
from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.judge import Case, Failed, outputs_of
from minirnn.learn.repair import Change, Repair
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.wrong_line import in_own_names

WARNED = (
    (r"overflow encountered in exp$", "exp of a number above 709 is infinite: subtract the largest number first"),
    (r"invalid value encountered in log", "the logarithm of a negative number is taken"),
    (r"divide by zero encountered in log", "the logarithm of 0 is taken"),
    (r"invalid value encountered in sqrt", "the square root of a negative number is taken"),
    (r"divide by zero encountered", "a number is divided by 0"),
    (r"invalid value encountered in .*(divide|scalar_divide)", "0 is divided by 0, or infinity by infinity"),
    (r"invalid value encountered in (subtract|add|multiply|matmul)", "infinity meets infinity, or 0 meets infinity"),
    (r"overflow encountered", "a number becomes too large for its dtype"),
    (r"invalid value encountered in cast", "NaN or infinity is converted to a whole number"),
    (r"mean of empty slice", "the mean of an empty array is taken"),
)  # fmt: skip
"""NumPy's warning -> what happened."""

MOST_SHOWN = 300
"""Characters of a line of the student's file that are shown."""


def cause(
    exercise: Exercise, child: Child, text: str, cases: Sequence[Case], by_numbers: Callable[[], Diagnosis | None]
) -> Diagnosis | None:
    """What is wrong with an answer whose numbers are wrong; None if nothing is known.

    Parameters
    ----------
    text : str
        The student's file.
    by_numbers : callable
        The diagnosis from what the answer returned.
    """
    known = at_once(exercise, cases)
    if known is not None and known.final:
        return known
    if facts := unsteady(exercise, child, cases):
        return facts
    repair = Repair(exercise, child, next((k for k, case in enumerate(cases) if case.wrong), 0))
    near = repair.near_one() or repair.alike()
    if near and known is not None and known.known:  # it says why, and the change might be right by accident
        return told(text, [replace(change, says=known.sentence) for change in near])
    if near:
        doubtful = any(
            change.group.startswith("?") or change.rank and " is used where " in change.group for change in near
        )
        likelier = searched(exercise, cases, 1 + max(change.rank for change in near) // 2) if doubtful else None
        return told(text, near) if likelier is None else in_own_names(repair, text, likelier)
    found = known or by_numbers()
    facts = warned(text, cases)  # first, because where numbers are NaN, many mistakes give them
    if facts is not None and not (found and found.known and "above 709" not in facts.sentence):
        return facts
    if found is not None and found.exact and "changes to the formula" not in found.lines[0]:
        return found if found.known else in_own_names(repair, text, found)
    if facts := unused(exercise, child, cases):
        return facts
    if found is not None and found.exact:  # several changes to the formula
        return in_own_names(repair, text, found)
    return told(text, repair.others()) or told_in_part(exercise, text, repair) or found


def mended(exercise: Exercise, child: Child, text: str) -> Diagnosis | None:
    """The change that repairs an answer that raises an exception."""
    repair = Repair(exercise, child)
    return told(text, repair.near_one() or repair.alike())


# ---- in words


def told(text: str, changes: Sequence[Change]) -> Diagnosis | None:
    """The changes, each with its line and a mark under what is wrong."""
    rows = shown_rows(text)
    changes = sorted((c for c in changes if 0 < c.line <= len(rows)), key=lambda c: (c.line, c.start))
    if not changes:
        return None
    one = len(changes) == 1
    lines = ["One thing is wrong, and everything else is right:" if one
             else f"{COUNTS.get(len(changes), 'Several')} things are wrong, and everything else is right:",
             ""]  # fmt: skip
    for change in changes:
        lines += [
            f"    {row}" for row in marked(rows[change.line - 1], change, "" if one else f"line {change.line}:  ")
        ]
        lines.append("")
    sentence = "; ".join(dict.fromkeys(change.says for change in changes))
    comments = tuple((change.line, change.says) for change in changes)
    return Diagnosis(sentence, tuple(lines[:-1]), place=f", line {changes[0].line}" if one else "", comments=comments)


def told_in_part(exercise: Exercise, text: str, repair: Repair) -> Diagnosis | None:
    """Changes that make some outputs right, if none makes all of them right."""
    changes, gained = repair.part()
    found = told(text, changes)
    if found is None or gained == frozenset(exercise.outputs):
        return found
    names = [name for name in exercise.outputs if name in gained]
    which = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    one = "This change makes" if len(changes) == 1 else "These changes make"
    lines = (f"{one} {which} right, but not all that is wrong:", *found.lines[1:])
    return found.replaced(sentence=f"{which}: {found.sentence}", lines=lines, exact=False)


def shown_rows(text: str) -> list[str]:
    """The lines of a student's file as they can be shown."""
    return [cleaned(row, MOST_SHOWN) for row in text.splitlines()]


COUNTS = {2: "Two", 3: "Three", 4: "Four"}


def marked(row: str, change: Change, before: str) -> Iterator[str]:
    """A line of the file, and under it the mark and the words."""
    code = row.encode()
    lead = len(row) - len(row.lstrip())
    start = len(code[: change.start].decode(errors="replace"))
    end = len(code[: change.end].decode(errors="replace")) if change.end else len(row.rstrip())
    start = max(start, lead)
    shown = row.strip()
    yield before + shown
    width = max(1, min(end, lead + len(shown)) - start)
    yield " " * (len(before) + start - lead) + "^" * width
    yield " " * len(before) + change.says


# ---- NumPy's warnings


def warned(text: str, cases: Sequence[Case]) -> Diagnosis | None:
    """The first line where NaN or infinity appears."""
    if all(np.isfinite(v).all() for c in cases for v in c.got.values() if isinstance(v, np.ndarray)):
        return None
    rows = shown_rows(text)
    heard = [one for case in cases for one in case.warned if 0 < one[0] <= len(rows)]
    first = min((line for line, _ in heard), default=0)
    for pattern, says in WARNED:
        for line, message in heard:
            if line == first and re.search(pattern, message):
                lines = ("NaN or infinity first appears here:", "", f"    {rows[line - 1].strip()}", f"    {says}")
                return Diagnosis(says, lines, short=f"line {line}: {says}", place=f", line {line}")
    return None


# ---- an answer that keeps something, and inputs that it ignores


def unsteady(exercise: Exercise, child: Child, cases: Sequence[Case]) -> Diagnosis | None:
    """An answer that returns other numbers when it is called again with the same inputs."""
    inputs = cases[0].inputs
    if any(callable(v) for v in inputs.values()):
        return None
    try:
        message, served = message_of(inputs)
        got = outputs_of(exercise, value_of(child.call(message, served), exercise))
    except Failed:
        return None
    wrong = [n for n in cases[0].got if any(n in case.wrong for case in cases)]
    other = [n for n in wrong if numbers(cases[0].got[n]) and numbers(got[n]) and differ(got[n], cases[0].got[n])]
    if not other:
        return None
    says = (f"called again with the same inputs, it returns another {' and '.join(other)}: "
            "something is kept between the calls, or random numbers are drawn")  # fmt: skip
    return Diagnosis(says, (says,))


def unused(exercise: Exercise, child: Child, cases: Sequence[Case]) -> Diagnosis | None:
    """An input gradient or number, or some of its steps, that has no effect on the outputs."""
    case = next((c for c in cases if c.wrong), None)
    if case is None or any(callable(v) for v in case.inputs.values()):
        return None
    if not all(numbers(case.got[name]) for name in case.wrong):
        return None
    said = [text for name in case.inputs for text in [unused_parts(exercise, child, case, name)] if text]
    if not said:
        return None
    return Diagnosis("; ".join(said), tuple(said))


def numbers(value: Any) -> bool:
    """Whether a value can be compared number by number."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and bool(np.isfinite(value).all())


def unused_parts(exercise: Exercise, child: Child, case: Case, name: str) -> str:
    """Says that an input, or some steps of it, changes no wrong output although it should."""
    value = case.inputs[name]
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and name.startswith("d"):
        steps = len(value) if value.ndim == 3 else 0
    elif type(value) is float:
        steps = 0
    else:
        return ""
    if not steps:
        lacks = changes_nothing(exercise, child, case, name, None)
        return f"{name} has no effect on {', '.join(lacks)}, but it belongs in the formula" if lacks else ""
    lost = [t for t in range(steps) if changes_nothing(exercise, child, case, name, t)]
    used = [t for t in range(steps) if t not in lost]
    if not lost:
        return ""
    if not used:
        return f"{name} has no effect on what you return"
    only = ", ".join(f"{name}[{t}]" for t in used) if len(used) < len(lost) else ""
    if only:
        return f"only {only} is used: the other steps of {name} have no effect on what you return"
    return f"{', '.join(f'{name}[{t}]' for t in lost)} has no effect on what you return, but every step has a gradient"


def changes_nothing(exercise: Exercise, child: Child, case: Case, name: str, step: int | None) -> list[str]:
    """The wrong outputs that stay as they are if an input changes, of those that should change."""
    inputs: Inputs = dict(case.inputs)
    value = np.array(inputs[name], float)
    value[... if step is None else step] *= 1.25
    inputs[name] = value if isinstance(case.inputs[name], np.ndarray) else float(value)
    try:
        with np.errstate(all="ignore"):
            want = exercise.expected(inputs)
    except Exception:  # a reference that stays with the teacher has results only for stored inputs
        return []
    wanted = [n for n in sorted(case.wrong, key=list(want).index) if differ(want[n], case.expected[n])]
    if not wanted:
        return []
    try:
        message, served = message_of(inputs)
        got = outputs_of(exercise, value_of(child.call(message, served), exercise))
    except Failed:
        return []
    still = [n for n in wanted if not differ(got[n], case.got[n])]
    return still if step is None or len(still) == len(wanted) else []


def differ(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype.kind not in "biuf" or not np.array_equal(np.ravel(a), np.ravel(b), equal_nan=True)
