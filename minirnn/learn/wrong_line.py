"""Where a mistake in a formula is in a student's file: its variables instead of the formula's, and the line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.judge import equal
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import Reply


def place_of(target: str, wrong: Any, child: Child, inputs: Inputs) -> str:
    """``, line 8 (where you assign dzc)``; empty if no variable of the file is the wrong one.

    `target` is its name in the formula, `wrong` the value that it has with the mistake. The answer's process reports
    which lines assign what, because the judge does not parse a student's text.
    """
    message, served = message_of(inputs, locals=True)
    reply = child.call(message, served)
    if line := line_of(reply, target):
        return f", line {line} (where you assign {target})"
    if not isinstance(wrong, np.ndarray) or not wrong.ndim:
        return ""
    for name in same_value(reply.locals, wrong):
        if line := line_of(reply, name):
            return f", line {line} (your {name} is {target} in the formula)"
    return ""


def line_of(reply: Reply, name: str) -> int | None:
    """The first line in which the file assigns a variable."""
    return reply.lines.get(name) if name.isidentifier() else None


def same_value(arrays: Mapping[str, np.ndarray], wrong: np.ndarray) -> list[str]:
    """The variables that hold a value, possibly transposed."""
    found = [name for name, value in arrays.items() if equal(wrong, value)]
    return found or [name for name, value in arrays.items() if value.ndim == 2 and equal(wrong, value.T)]


WORDS = ("a", "again", "first", "have", "inside", "limit", "mean", "one", "out", "read", "sign", "step", "there", "two")
"""Variables of formulas that are also words of sentences."""


def in_own_names(exercise: Exercise, child: Child, text: str, found: Diagnosis) -> Diagnosis:
    """A diagnosis from the formula in the names of the student's file, where a variable has the same numbers at the
    end. Other names that the file does not have are explained.
    """
    try:
        program = Program(exercise.reference, tuple(exercise.outputs))
        steps = list(program.every.values())
    except (OSError, TypeError, SyntaxError, AssertionError):
        return found
    said = list(dict.fromkeys(re.findall(r"[^\W\d]\w*", "\n".join(found.lines))))
    arrays = [word for word in said if word in found.values and word not in WORDS]
    own: Mapping[str, np.ndarray] = {}
    if arrays:
        message, served = message_of(found.inputs, locals=True)
        own = {name: value for name, value in child.call(message, served).locals.items() if name.isidentifier()}
    instead = {}
    for word in arrays:
        value = found.values[word]
        varied = value.dtype.kind == "f" and value.size and np.ptp(value) > 0
        same = [name for name, other in own.items() if varied and equal(value, other)]
        computed = [name for name in same if name not in found.inputs] or same  # says more than what is given
        if word not in same and len(computed) == 1 and computed[0] not in said:
            instead[word] = computed[0]
    known = {*re.findall(r"[^\W\d]\w*", text), *program.parameters, *exercise.outputs, *instead}
    more = []
    for word in said:
        made = [s.tree for s in steps if s.target == word and isinstance(s.tree, ast.Assign) and word not in known]
        value = ast.unparse(made[0].value) if len(made) == 1 else ""  # of several values, the first explains nothing
        if 0 < len(value) <= 60 and ast.unparse(made[0]) not in "\n".join(found.lines):
            more.append(f"{word} is {value}")
    lines = (*found.lines, "", f"Here {' and '.join(more[:2])}.") if more else found.lines
    if not instead:
        return found.replaced(lines=lines)
    names = re.compile(rf"(?<![\w.])({'|'.join(instead)})\b")
    own_name = lambda said: names.sub(lambda one: instead[one[0]], said)  # noqa: E731
    target = instead.get(found.target, found.target)
    values = {**found.values, target: found.values.get(found.target)}
    return found.replaced(sentence=own_name(found.sentence), lines=tuple(renamed(lines, own_name)), target=target,
                          short=own_name(found.short), values=values)  # fmt: skip


def renamed(lines: Sequence[str], own_name: Callable[[str], str]) -> list[str]:
    """Lines with other names. A mark stays under the same part of the line above it."""
    found = []
    for k, line in enumerate(lines):
        mark = re.match(r"( *)(\^+)", line) if k else None
        if mark:
            before, marked = lines[k - 1][: mark.end(1)], lines[k - 1][mark.end(1) : mark.end()]
            found.append(" " * len(own_name(before)) + "^" * len(own_name(marked)) + own_name(line[mark.end() :]))
        else:
            found.append(own_name(line))
    return found
