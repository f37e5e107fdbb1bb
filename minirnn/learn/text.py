"""The text of a check on the screen."""

from __future__ import annotations

import re
import textwrap

from minirnn.learn.course import Entry
from minirnn.learn.result import Result

WIDTH = 78


def header(result: Result) -> str:
    """``ex07  LSTM cell                     3 / 5 points``."""
    left = f"{result.entry.id}  {result.entry.title}"
    right = "not started" if result.status == "not started" else f"{result.score} / {result.entry.points} points"
    if result.device == "cuda":
        right = f"on the GPU: {'right' if result.passed else result.status}"
    return f"{left}{right:>{WIDTH - len(left)}}"


def report(result: Result) -> str:
    """The complete text of a result for a student."""
    lines = [header(result)]
    entry = result.entry
    if result.status == "not started":
        lines += [
            "",
            f"  Open {entry.file} and begin." if not result.message.startswith("there") else f"  {result.message}",
        ]
    elif result.passed:
        number = len(entry.exercise.hidden_sizes) if entry.hidden and not result.hidden_message else 0
        checks = "one hidden check runs" if number == 1 else f"{number} hidden checks run"
        lines += ["", "  all right" + (f"; {checks} when it is graded" if number else "")]
        lines += [f"  {part.note}" for part in result.parts if part.note]
    else:
        lines += ["", *(line if line.startswith(" ") else f"  {line}" for line in result.message.splitlines())]
    if result.prints.strip():
        shown = result.prints.rstrip().splitlines()
        lines += ["", "  it printed:", *(f"    {line[:200]}" for line in shown[-12:])]
    return "\n".join(line.rstrip() for line in lines)


def next_step(result: Result, hints: int) -> str:
    """The commands to continue with, and how many hints were used."""
    entry = result.entry
    used = f"  {hints} of {len(entry.hints)} hints used" if hints else ""
    if result.passed:
        lines = ["" if entry.secret else f"  To compare with: minirnn show {entry.id} --solution", used]
    else:
        more = f"minirnn hint {entry.id}" if hints < len(entry.hints) else ""
        picture = f"minirnn show {entry.id} --diff" if result.cases else ""
        steps = "   |   ".join(step for step in (more, picture) if step)
        lines = [f"  Next: {steps}" if steps else "", used]
    return "\n".join(line for line in lines if line)


def own_hint(result: Result) -> str:
    """The hint about the student's own file: where it goes wrong and why, as far as that is known.

    `result` is that of a check in words only, without lines of the formula (``detail`` "place").
    """
    if result.status == "not started":
        return ""
    if result.passed:
        return "all is right as it is now"
    place = re.sub(r" \(where .*?\)", "", result.place)  # that names the variable
    return ": ".join(filter(None, [place, result.diagnosis]))


def hint(entry: Entry, given: int, width: int = WIDTH, found: str = "") -> str:
    """The first `given` hints, in lines of at most `width` characters, and how many have been used.

    `found` is what the check finds in the student's own file. It comes first, and does not count as a hint.
    """
    wrapper = textwrap.TextWrapper(width, subsequent_indent="     ", break_long_words=False)
    lines = [f"{entry.id}  {entry.title}", ""]
    if found:
        lines += [*wrapper.wrap(f"  In your file: {found}"), ""]
    for k, words in enumerate(entry.hints[:given]):
        lines += wrapper.wrap(f"  {k + 1}. {words}")
    left = len(entry.hints) - given
    used = f"{given} of {len(entry.hints)} hints used"
    lines += ["", f"  {used}; {left} more: minirnn hint {entry.id}" if left else f"  {used}: that was the last one."]
    return "\n".join(lines)
